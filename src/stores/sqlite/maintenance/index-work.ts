import type { FhirError } from '../../../fhir/error.js';
import type { FhirModel } from '../../../fhir/model/fhir-model.js';
import { indexEntries } from '../../../search/index/index-resource.js';
import { markEntries } from '../../sql/extremes.js';
import { runNow, type SyncPort } from '../../ask.js';
import { type Codes, EVERY, isMadeAgain, isWhole, REMAKE } from '../../sql/index-changes.js';
import { addWork } from '../../sql/index-takeover.js';
import {
  type Batch,
  type BatchPort,
  type BatchResult,
  countTypes,
  countWork,
  nextBatch,
  type ReindexPort,
  type TypeWork,
} from '../../sql/reindex.js';
import { type Dictionaries, settleAll } from '../rows/dictionary.js';
import type { SqliteDatabase } from '../database/driver.js';
import type { IndexStatus } from '../schema/index-status.js';
import { indexPortOfFile, onIndexOfFile } from '../rows/index-port.js';
import { IndexWriter } from '../rows/index-writer.js';
import { textAt } from '../rows/current-resources.js';
import { parseKept } from '../rows/kept-text.js';
import { assertNotOvertaken } from '../schema/prepare-schema.js';
import { removeSegments } from '../rows/segment-tables.js';
import type { Statements } from '../database/statements.js';
import { inTransaction, isBusy, withoutWaiting } from '../database/transaction.js';

/**
 * Re-indexes rows made with other definitions, in batches.
 *
 * The rows of a batch and the position reached are written in one transaction, so nothing is lost when the process
 * ends, and no two processes do the same work. Concurrent writes already make rows with the new definitions, and
 * re-indexing them is harmless.
 */
export class IndexWork implements ReindexPort {
  readonly #index: IndexWriter;

  constructor(
    private readonly model: FhirModel,
    private readonly database: SqliteDatabase,
    private readonly statements: Statements,
    private readonly dictionaries: Dictionaries,
    private readonly status: IndexStatus,
  ) {
    this.#index = new IndexWriter(statements, dictionaries);
  }

  countUpTo(limit: number): number {
    return onIndexOfFile(this.statements, countWork(limit));
  }

  /** Queues all rows of a project for re-indexing. They stay complete throughout. @returns false while the file is locked */
  askAgain(project: string): boolean {
    return this.#now(() => {
      onIndexOfFile(this.statements, addWork({ [EVERY]: [REMAKE] }, project));
      return true;
    }, false);
  }

  /**
   * Does the next batch, some milliseconds of work. An up-to-date file is not locked.
   *
   * @param failed as of {@link nextBatch}
   * @throws FhirError `unavailable` - another process has taken the file over
   * @throws FhirError `corrupt` - the text of a resource is damaged
   */
  step(failed: FhirError[], _?: AbortSignal, project?: string): BatchResult {
    // The connection belongs to the host, or the host has closed it.
    if (!this.database.open) return 'done';
    if (this.database.inTransaction) return 'later';
    assertNotOvertaken(this.statements, this.status);
    if (onIndexOfFile(this.statements, countTypes(project)) === 0) return 'done';
    // One resource may take as long as a thousand others.
    const end = performance.now() + BATCH_MS;
    return this.#now(() => runNow(nextBatch(project, failed), this.#port(end)), 'later');
  }

  /** Runs work in a transaction. @param locked the result where another process has the lock */
  #now<Result>(work: () => Result, locked: Result): Result {
    const all = (): Result => {
      assertNotOvertaken(this.statements, this.status);
      return work();
    };
    try {
      return withoutWaiting(this.database, () =>
        inTransaction(this.database, all, (committed) => this.#settle(committed)),
      );
    } catch (error) {
      if (isBusy(error)) return locked;
      throw error;
    }
  }

  #port(end: number): SyncPort<BatchPort> {
    return {
      ...indexPortOfFile(this.statements),
      removeSegments: ({ project, type }) => removeSegments(this.statements, this.#collection(project, type)),
      indexNext: (work) => this.#indexNext(work, end),
    };
  }

  #collection(project: string, type: string): number {
    return this.dictionaries.collections.find(project, type)!;
  }

  #indexNext(work: TypeWork, end: number): Batch {
    const collection = this.#collection(work.project, work.type);
    // Parameters that get a number from here on have no values yet.
    const keys = this.#parameterKeys(collection, work.codes);
    let { cursor } = work;
    let resources = 0;
    for (;;) {
      const rows = this.statements.read(NEXT_RESOURCES).all(collection, cursor) as readonly ResourceRow[];
      for (const row of rows) {
        this.#indexAgain(work, collection, keys, row);
        cursor = row[1];
        resources++;
        const isLast = row === rows.at(-1) && rows.length < AT_ONCE;
        if (performance.now() < end || isLast) continue;
        this.#index.flush();
        return { resources, cursor };
      }
      if (rows.length === AT_ONCE) continue;
      this.#index.flush();
      return { resources, cursor: undefined };
    }
  }

  #indexAgain(
    { project, codes }: TypeWork,
    collection: number,
    parameterKeys: readonly number[],
    [key, , version, updated, content]: ResourceRow,
  ): void {
    const { resource } = parseKept([key, version, updated, ...textAt(this.statements, content)]);
    const marked = markEntries(indexEntries(this.model, resource));
    if (isWhole(codes)) {
      this.#index.remove(key);
      this.#index.add({ project, collection, resource: key }, marked);
      return;
    }
    this.#index.removeParameters(key, parameterKeys);
    const again = marked.entries.filter(({ parameter }) => isMadeAgain(codes, parameter));
    this.#index.add({ project, collection, resource: key }, markEntries(again));
  }

  /** Parameters that have rows, those of older definitions included. */
  #parameterKeys(collection: number, parameters: Codes): readonly number[] {
    const rows = this.statements.read(LIST_PARAMETERS).all(collection) as readonly (readonly [number, string])[];
    return rows.filter(([, code]) => isMadeAgain(parameters, code)).map(([key]) => key);
  }

  #settle(committed: boolean): void {
    this.status.forget();
    settleAll(this.dictionaries, committed);
    if (!committed) this.#index.clear();
  }
}

type ResourceRow = readonly [key: number, id: string, version: number, updated: number, content: number];

const AT_ONCE = 50;
/** The duration of a batch. */
const BATCH_MS = 8;

const NEXT_RESOURCES = `SELECT r.key, r.id, r.version, r.updated, r.content FROM resource r
  WHERE r.collection = ? AND r.id > ? AND r.content IS NOT NULL ORDER BY r.id LIMIT ${AT_ONCE}`;
/** Number and code of the parameters of a collection. */
export const LIST_PARAMETERS = 'SELECT key, code FROM parameter WHERE collection = ?';
