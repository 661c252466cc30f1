import { CHARACTERS_PER_VALUE } from '../../../fhir/json/json-values.js';
import { parametersOf } from '../../../search/criteria/parameters-of.js';
import type { FhirModel } from '../../../fhir/model/fhir-model.js';
import { getOrCreate } from '../../../platform/collections.js';
import { indexEntries } from '../../../search/index/index-resource.js';
import { markEntries } from '../../sql/extremes.js';
import { matchFound, uniqueKeyTaken } from '../../../store/with-retries.js';
import { decidesAccess } from '../../../store/access-epoch.js';
import { assertPutMatchesKey, callTimedOut } from '../../../store/guards.js';
import { assertErasureReason, erasedForGood } from '../../../store/removal.js';
import type { ResourceKey } from '../../../store/resource-key.js';
import type { Change, DeleteWrite, EraseWrite, NoMatchAssertion, Write, WriteResult } from '../../../store/write.js';
import { assertExpected, changeOf, type Committed, putResult } from '../../sql/commit-results.js';
import { changeAccessEpoch } from '../rows/access-epoch.js';
import { nameChecksum } from '../rows/checksum.js';
import { type Dictionaries, settleAll } from '../rows/dictionary.js';
import type { SqliteDatabase } from '../database/driver.js';
import type { Guard } from '../database/guard.js';
import type { IndexStatus } from '../schema/index-status.js';
import { IndexWriter } from '../rows/index-writer.js';
import { assertNotOvertaken } from '../schema/prepare-schema.js';
import type { PreparedPut, PreparedWrite } from '../rows/prepared-write.js';
import { noteRemoval } from '../rows/removal-epoch.js';
import type { Searches } from '../search/search.js';
import type { ConnectionSegments } from '../segments/connection-segments.js';
import { noteWritten } from '../rows/segment-tables.js';
import type { Statements } from '../database/statements.js';
import { isBusy, OpenTransaction } from '../database/transaction.js';
import { THREAD_TUNING } from '../database/tuning.js';
import type { ValueIndexes } from '../schema/value-indexes.js';
import { type NewVersion, type ResourceState, Versions } from '../rows/versions.js';

/** A commit whose writes come in several parts. An error ends it; then none of its writes was stored. */
export interface OpenCommit {
  add(writes: readonly PreparedWrite[]): void;
  end(): Committed;
  abandon(): void;
}

/** Applies writes, each list in one transaction. */
export class Commits {
  readonly #versions: Versions;
  readonly #index: IndexWriter;
  #erases = false;
  /** What the transaction has erased, by its type. */
  readonly #erased = new Map<number, ResourceKey[]>();

  constructor(
    readonly model: FhirModel,
    private readonly database: SqliteDatabase,
    private readonly statements: Statements,
    private readonly dictionaries: Dictionaries,
    private readonly searches: Searches,
    private readonly status: IndexStatus,
    private readonly guard: Guard,
    private readonly clock: () => Date,
    private readonly valueIndexes: ValueIndexes,
    private readonly segments: ConnectionSegments,
  ) {
    this.#index = new IndexWriter(statements, dictionaries);
    this.#versions = new Versions(statements, dictionaries);
  }

  /** @param isJoined whether it is a part of the transaction that the host has open */
  commit(writes: readonly Write[], isJoined = false): Committed {
    return this.commitTogether([writes], isJoined)[0]!;
  }

  /** Applies several lists, one after the other, in one transaction: all of them, or none if one throws. */
  commitTogether(lists: readonly (readonly Write[])[], isJoined = false): readonly Committed[] {
    // Extraction needs no lock, so it runs before the transaction.
    const prepared = lists.map((writes) => writes.map((write, index) => this.#prepare(write, index)));
    return this.#waitingInTime(() => {
      const transaction = this.#open(isJoined);
      const done: Committed[] = [];
      transaction.run(() => {
        if (lists.length === 1 && isLoad(lists[0]!)) this.#dropIndexes();
        for (const writes of prepared) {
          const changes: Change[] = [];
          this.#versions.beginCommit();
          done.push({ results: writes.map((write, index) => this.#apply(write, index, changes)), changes });
        }
      });
      this.#end(
        transaction,
        done.flatMap(({ changes }) => changes),
      );
      return done;
    });
  }

  /**
   * Starts a commit whose writes come in several parts: it holds the lock of writers until it ends.
   *
   * @param load whether all writes together are a {@link isLoad load}
   */
  begin(load: boolean): OpenCommit {
    const results: WriteResult[] = [];
    const changes: Change[] = [];
    const transaction = this.#open();
    return {
      add: (writes) =>
        transaction.run(() => {
          if (results.length === 0 && load) this.#dropIndexes();
          for (const write of writes) results.push(this.#apply(write, results.length, changes));
        }),
      end: () => {
        this.#end(transaction, changes);
        return { results, changes };
      },
      abandon: () => transaction.rollback(),
    };
  }

  #open(isJoined = false): OpenTransaction {
    const transaction = new OpenTransaction(this.database, (committed) => this.#settle(committed), isJoined);
    transaction.run(() => {
      assertNotOvertaken(this.statements, this.status);
      this.#versions.begin(this.clock().getTime());
    });
    return transaction;
  }

  #end(transaction: OpenTransaction, changes: readonly Change[]): void {
    transaction.run(() => {
      this.#index.flush();
      for (const [collection, keys] of this.#erased) this.segments.erase(collection, keys);
      if (changes.some(decidesAccess)) changeAccessEpoch(this.statements);
    });
    transaction.commit();
    this.status.noteWritten(this.#versions.newest);
  }

  #dropIndexes(): void {
    if (this.#versions.areNone) this.valueIndexes.drop();
  }

  #prepare(write: Write, index: number): PreparedWrite {
    if (write.kind !== 'put') return write;
    assertPutMatchesKey(write, index);
    this.guard.check();
    return { ...write, marked: markEntries(indexEntries(this.model, write.resource)) };
  }

  /** Waits for another process's lock until the deadline at most, because the wait blocks this process. */
  #waitingInTime<Result>(work: () => Result): Result {
    if (this.guard.left === Infinity) return work();
    const usual = this.database.pragma('busy_timeout', { simple: true }) as number;
    if (this.guard.left >= usual) return work();
    this.database.pragma(`busy_timeout = ${Math.max(0, Math.floor(this.guard.left))}`);
    try {
      return work();
    } catch (error) {
      // SQLite gives up a moment before its time is over.
      throw isBusy(error) ? callTimedOut() : error;
    } finally {
      this.database.pragma(`busy_timeout = ${usual}`);
    }
  }

  #settle(committed: boolean): void {
    settleAll(this.dictionaries, committed);
    if (this.#erases) this.status.forgetRemovals();
    this.#erases = false;
    this.#erased.clear();
    if (!committed) this.#index.clear();
  }

  #apply(write: PreparedWrite, index: number, changes: Change[]): WriteResult {
    this.guard.check();
    switch (write.kind) {
      case 'put':
        return this.#put(write, index, changes);
      case 'delete':
        return this.#delete(write, index, changes);
      case 'erase':
        return this.#erase(write, index, changes);
      case 'assert-no-match':
        return this.#check(write, index);
    }
  }

  #put(write: PreparedPut, index: number, changes: Change[]): WriteResult {
    const { key, expect, unique, marked } = write;
    const mayBeFirst = expect === undefined || expect.version === null;
    const first = mayBeFirst ? this.#versions.addFirst(write) : undefined;
    const { version, isNew } = first === undefined ? this.#addNext(write, index) : { version: first, isNew: true };
    this.#index.add({ project: key.project, collection: version.collection, resource: version.owner }, marked);
    this.#noteWritten(version);
    if (unique !== undefined) for (const text of new Set(unique)) this.#holdUnique(key, text, version.owner, index);
    changes.push(changeOf('put', key, version));
    return putResult(isNew, version);
  }

  /** Writes the next version of a resource that has a row. */
  #addNext(
    { key, resource, expect }: PreparedPut,
    index: number,
  ): { readonly version: NewVersion; readonly isNew: boolean } {
    const before = this.#versions.stateOf(key);
    if (before.erased !== null) throw erasedForGood(index, key);
    assertExpected(key, expect, before, index);
    this.#expectTakingOut(before);
    const version = this.#versions.add(key, before, resource);
    if (before.exists) this.#takeOut(version.owner);
    return { version, isNew: !before.exists };
  }

  #delete({ key, expect }: DeleteWrite, index: number, changes: Change[]): WriteResult {
    const before = this.#versions.stateOf(key);
    assertExpected(key, expect, before, index);
    if (!before.exists) return { kind: 'delete', versionId: null };
    this.#expectTakingOut(before);
    const version = this.#versions.add(key, before, null);
    this.#takeOut(version.owner);
    this.#noteWritten(version);
    changes.push(changeOf('delete', key, version));
    return { kind: 'delete', versionId: version.versionId };
  }

  #erase(write: EraseWrite, index: number, changes: Change[]): WriteResult {
    assertErasureReason(write, index);
    const { key, expect, reason } = write;
    const before = this.#versions.stateOf(key);
    assertExpected(key, expect, before, index);
    if (before.version === 0) return { kind: 'erase', versionId: null, versions: 0 };
    if (before.erased !== null) return { kind: 'erase', versionId: String(before.version), versions: 0 };
    this.#expectTakingOut(before);
    this.#erases = true;
    noteRemoval(this.database, this.statements);
    const left = this.#versions.erase(key, before, reason);
    this.#takeOut(left.owner);
    getOrCreate(this.#erased, left.collection, (): ResourceKey[] => []).push(key);
    changes.push(changeOf('erase', key, left));
    return { kind: 'erase', versionId: left.versionId, versions: before.version - before.purged };
  }

  #noteWritten({ collection, owner }: NewVersion): void {
    noteWritten(this.statements, collection, owner);
  }

  #check({ query }: NoMatchAssertion, index: number): WriteResult {
    this.#index.flush();
    if (!this.valueIndexes.areKnown && !this.valueIndexes.exist()) this.valueIndexes.create();
    const { project, type, criteria } = query;
    const holder = this.status.whileSearchable(
      project,
      () => parametersOf(type, criteria),
      () => this.searches.firstMatch(query),
    );
    if (holder !== undefined) throw matchFound(index, holder);
    return { kind: 'assert-no-match' };
  }

  /** Brief work leaves a large version to a thread: its many index rows take long to remove. */
  #expectTakingOut({ content }: ResourceState): void {
    if (content === null || !this.guard.isBrief) return;
    const [bytes] = this.statements.read(TEXT_BYTES).get(content) as [number | null];
    if ((bytes ?? 0) >= THREAD_TUNING.largeResource * CHARACTERS_PER_VALUE) this.guard.assertPatient();
  }

  /** Removes the index rows and unique texts of the previous version. */
  #takeOut(owner: number): void {
    this.#index.remove(owner);
    this.statements.write('DELETE FROM unique_key WHERE resource = ?').run(owner);
  }

  #holdUnique({ project, type, id }: ResourceKey, text: string, owner: number, index: number): void {
    const holder = this.statements.read(FIND_HOLDER).get(project, text) as [string, string] | undefined;
    if (holder !== undefined) throw uniqueKeyTaken(index, { type, id }, `${holder[0]}/${holder[1]}`);
    this.statements.write(HOLD_UNIQUE).run(project, text, owner, nameChecksum(owner, project, text));
  }
}

/** True if the commit is presumably one of many large ones. */
export function isLoad(writes: readonly Write[]): boolean {
  return writes.length >= MIN_LOAD && writes.every(({ kind }) => kind === 'put');
}

/** Dropping the indexes gains nothing for fewer writes. */
const MIN_LOAD = 24;

/** SQLite knows the length without reading the text. */
const TEXT_BYTES = 'SELECT octet_length(text) FROM version WHERE key = ?';
const HOLD_UNIQUE = 'INSERT INTO unique_key (project, text, resource, sum) VALUES (?, ?, ?, ?)';
const FIND_HOLDER = `SELECT c.type, r.id FROM unique_key u CROSS JOIN resource r ON r.key = u.resource
  CROSS JOIN collection c ON c.key = r.collection WHERE u.project = ? AND u.text = ?`;
