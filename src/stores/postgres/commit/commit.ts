import type { FhirModel } from '../../../fhir/model/fhir-model.js';
import { referenceTo } from '../../../fhir/reference.js';
import { Pace } from '../../../platform/pace.js';
import { parametersOf } from '../../../search/criteria/parameters-of.js';
import type { IndexEntry } from '../../../search/index/index-entry.js';
import { indexEntries } from '../../../search/index/index-resource.js';
import { matchFound } from '../../../store/with-retries.js';
import { decidesAccess } from '../../../store/access-epoch.js';
import { assertNotAborted, assertPutMatchesKey } from '../../../store/guards.js';
import { assertErasureReason, erasedForGood } from '../../../store/removal.js';
import type {
  Change,
  DeleteWrite,
  EraseWrite,
  PutWrite,
  NoMatchAssertion,
  Write,
  WriteResult,
} from '../../../store/write.js';
import type { ResourceKey } from '../../../store/resource-key.js';
import { assertExpected, changeOf, type Committed, putResult } from '../../sql/commit-results.js';
import { nextAccessEpoch } from '../rows/access-epoch.js';
import type { PostgresStoreConfig } from '../database/config.js';
import type { Connections } from '../database/connections.js';
import type { IndexStatus } from '../schema/index-status.js';
import { resourceKey } from '../rows/keys.js';
import { MissingKeys } from '../rows/missing-keys.js';
import { ProjectWrites, type ResourceState } from './project-writes.js';
import { firstMatchStatement } from '../search/search.js';
import type { PostgresSegments } from '../segments/segments.js';
import { inTransaction, type Transaction } from '../database/transaction.js';

/**
 * Applies writes, each list in one transaction.
 *
 * Writes are based on versions read before; each is written only if that version is still current, otherwise the commit
 * starts over. This, and unique keys, work at the default isolation level. Only a check that nothing matches needs a
 * serializable transaction: another commit may be about to write a match that nobody can see yet.
 */
export class Commits {
  readonly #status: IndexStatus;

  /** The keys that reads did not find. */
  readonly missing = new MissingKeys();

  constructor(
    private readonly connections: Connections,
    private readonly config: PostgresStoreConfig,
    status: IndexStatus,
    private readonly segments: PostgresSegments,
  ) {
    this.#status = status;
  }

  async commit(writes: readonly Write[], signal: AbortSignal | undefined): Promise<Committed> {
    if (writes.length === 0) return { results: [], changes: [] };
    // Extraction needs no transaction, so it runs before it.
    const prepared: PreparedWrite[] = [];
    const pace = new Pace();
    for (const [index, write] of writes.entries()) {
      if (pace.isSpent) await nextUnlessAborted(pace, signal);
      prepared.push(prepare(this.config.model, write, index, this.missing));
    }
    const serializable = writes.some(({ kind }) => kind === 'assert-no-match');
    const { attempts, clock } = this.config;
    await this.#status.refresh();
    const beforeRetry = (): Promise<unknown> => this.#status.load();
    const options = { serializable, attempts, signal, beforeRetry };
    const erased = writes.filter(({ kind }) => kind === 'erase').map((write) => (write as EraseWrite).key);
    const erasure = await this.segments.prepareErase((statement) => this.connections.run(statement, signal), erased);
    return inTransaction(this.connections, options, (transaction, attempt) =>
      // PERF (import-rate): a commit that lost one race may lose again, so its retries take locks and wait in line.
      new Commit(this.config.model, transaction, this.#status, clock().getTime(), {
        locks: attempt > 1,
        guesses: attempt === 1 && attempts > 1,
        eraseSegments: (keys) => this.segments.erase(transaction, keys, erasure),
      }).apply(prepared, signal),
    );
  }
}

type PreparedWrite =
  | {
      readonly write: PutWrite | DeleteWrite | EraseWrite;
      readonly key: string;
      readonly entries: readonly IndexEntry[];
      /** True if the id is probably not taken. */
      readonly isNew: boolean;
    }
  | { readonly write: NoMatchAssertion };

function prepare(model: FhirModel, write: Write, index: number, missing: MissingKeys): PreparedWrite {
  if (write.kind === 'assert-no-match') return { write };
  if (write.kind === 'put') assertPutMatchesKey(write, index);
  if (write.kind === 'erase') assertErasureReason(write, index);
  const { project, type, id } = write.key;
  const entries = write.kind === 'put' ? indexEntries(model, write.resource) : [];
  const isNew = write.kind === 'put' && isProbablyNew(write, missing);
  return { write, key: resourceKey(project, type, id), entries, isNew };
}

/** A commit may have any number of writes. */
async function nextUnlessAborted(pace: Pace, signal: AbortSignal | undefined): Promise<void> {
  await pace.next();
  assertNotAborted({ signal });
}

/** How an attempt differs from others. */
interface AttemptOptions {
  /** True if it locks the resources at its start, so that no other commit changes them. */
  readonly locks: boolean;
  /** True if it does not check whether new ids are taken: see {@link isProbablyNew}. */
  readonly guesses: boolean;
  /** Removes erased resources from segments, after all other writes. */
  readonly eraseSegments: (keys: readonly ResourceKey[]) => Promise<void>;
}

/** One attempt. */
class Commit {
  readonly #status: IndexStatus;
  readonly #projects = new Map<string, ProjectWrites>();
  readonly #changes: Change[] = [];

  constructor(
    private readonly model: FhirModel,
    private readonly transaction: Transaction,
    status: IndexStatus,
    private readonly now: number,
    private readonly how: AttemptOptions,
  ) {
    this.#status = status;
  }

  async apply(writes: readonly PreparedWrite[], signal: AbortSignal | undefined): Promise<Committed> {
    this.#status.assertOurs();
    await this.#load(writes);
    const results: WriteResult[] = [];
    const pace = new Pace();
    for (const [index, one] of writes.entries()) {
      if (pace.isSpent) await nextUnlessAborted(pace, signal);
      results.push('key' in one ? await this.#write(one, index) : await this.#check(one.write, index));
    }
    const isDeciding = this.#changes.some(decidesAccess);
    const erased = this.#changes.filter(({ kind }) => kind === 'erase').map(({ key }) => key);
    await this.#flush(!isDeciding && erased.length === 0);
    if (erased.length > 0) await this.how.eraseSegments(erased);
    // Last, so that the commit waits for nothing while others wait for this row, or readers of the feed for its turn.
    if (isDeciding) await this.transaction.run(nextAccessEpoch());
    for (const known of this.#projects.values()) await known.appendToFeed(this.transaction);
    return { results, changes: this.#changes };
  }

  /** At most three statements per project. */
  async #load(writes: readonly PreparedWrite[]): Promise<void> {
    const wanted = new Map<string, { readonly keys: string[]; readonly texts: string[] }>();
    for (const one of writes) {
      if (!('key' in one)) continue;
      const { project } = one.write.key;
      const ofProject = wanted.get(project) ?? { keys: [], texts: [] };
      wanted.set(project, ofProject);
      if (!this.how.guesses || !one.isNew) ofProject.keys.push(one.key);
      if (one.write.kind === 'put') ofProject.texts.push(...(one.write.unique ?? []));
    }
    // All commits use the same order, so that they never deadlock.
    for (const [project, { keys, texts }] of [...wanted].sort(([a], [b]) => (a < b ? -1 : 1))) {
      const known = new ProjectWrites(project, this.now, this.#status.known.generation);
      if (this.how.locks) await known.lock(this.transaction, keys);
      if (keys.length > 0 || texts.length > 0) await known.load(this.transaction, keys, texts);
      this.#projects.set(project, known);
    }
  }

  async #write(
    { write, key, entries }: Extract<PreparedWrite, { readonly key: string }>,
    index: number,
  ): Promise<WriteResult> {
    const known = this.#projects.get(write.key.project)!;
    if (known.isPending(key) || known.size > MAX_ROWS) await known.flush(this.transaction, false);
    const before = known.stateOf(key);
    if (write.kind === 'put' && before.erased !== null) throw erasedForGood(index, write.key);
    assertExpected(write.key, write.expect, before, index);
    if (write.kind === 'erase') return this.#erase(known, key, write, before);
    if (write.kind === 'delete' && !before.exists) return { kind: 'delete', versionId: null };
    const resource = write.kind === 'put' ? write.resource : null;
    const version = known.add(key, write.key, resource, entries);
    known.setUnique(key, write.key, new Set(write.kind === 'put' ? write.unique : []), index);
    this.#changes.push(changeOf(write.kind, write.key, version));
    return write.kind === 'put' ? putResult(!before.exists, version) : { kind: 'delete', versionId: version.versionId };
  }

  #erase(known: ProjectWrites, key: string, write: EraseWrite, before: ResourceState): WriteResult {
    if (before.version === 0) return { kind: 'erase', versionId: null, versions: 0 };
    if (before.erased !== null) return { kind: 'erase', versionId: String(before.version), versions: 0 };
    const { versionId } = known.erase(key, write.key, write.reason);
    this.#changes.push(changeOf('erase', write.key, { versionId }));
    return { kind: 'erase', versionId, versions: before.version - before.purged };
  }

  async #check({ query }: NoMatchAssertion, index: number): Promise<WriteResult> {
    await this.#flush(false);
    const { project, type, criteria } = query;
    await this.#status.assertSearchable(project, () => parametersOf(type, criteria), this.transaction);
    const [row] = await this.transaction.run(firstMatchStatement(this.model, query, this.#status.known.epoch));
    if (row !== undefined) throw matchFound(index, referenceTo(query.type, row[0] as string));
    return { kind: 'assert-no-match' };
  }

  async #flush(last: boolean): Promise<void> {
    const alone = last && this.#projects.size === 1;
    for (const known of this.#projects.values()) await known.flush(this.transaction, alone);
  }
}

/**
 * True for a write that expects no version before, or whose resource a read did not find a moment ago. Its id is
 * nearly always new, so it is not looked up. If the id is taken, the writing statement fails, and the next attempt
 * looks it up.
 */
function isProbablyNew({ key, expect }: PutWrite, missing: MissingKeys): boolean {
  return expect === undefined ? missing.take(key) : expect.version === null;
}

/** Maximum number of buffered rows, at about 200 bytes each. */
const MAX_ROWS = 50_000;
