import type { FhirModel } from '../../../fhir/model/fhir-model.js';
import { indexEntries } from '../../../search/index/index-resource.js';
import { markEntries } from '../../sql/extremes.js';
import { type Codes, EVERY, isMadeAgain, isWhole, readCodes, REMAKE } from '../../sql/index-changes.js';
import { type BatchResult, doneBeforeEnd, type ReindexPort } from '../../sql/reindex.js';
import { type Dictionaries, settleAll } from '../rows/dictionary.js';
import type { SqliteDatabase } from '../database/driver.js';
import type { IndexStatus } from '../schema/index-status.js';
import { addWork, endWork } from '../schema/index-takeover.js';
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
  readonly #database: SqliteDatabase;
  readonly #statements: Statements;
  readonly #dictionaries: Dictionaries;
  readonly #status: IndexStatus;
  readonly #index: IndexWriter;

  constructor(
    private readonly model: FhirModel,
    database: SqliteDatabase,
    statements: Statements,
    dictionaries: Dictionaries,
    status: IndexStatus,
  ) {
    this.#database = database;
    this.#statements = statements;
    this.#dictionaries = dictionaries;
    this.#status = status;
    this.#index = new IndexWriter(statements, dictionaries);
  }

  countUpTo(limit: number): number {
    return (this.#statements.read(COUNT_WORK).get(limit) as [number])[0];
  }

  /** Queues all rows of a project for re-indexing. They stay complete throughout. @returns false while the file is locked */
  askAgain(project: string): boolean {
    return this.#now(() => {
      addWork(this.#statements, { [EVERY]: [REMAKE] }, project);
      return true;
    }, false);
  }

  /**
   * Does the next batch, some milliseconds of work. An up-to-date file is not locked.
   *
   * @throws FhirError `unavailable` - another process has taken the file over
   * @throws FhirError `corrupt` - the text of a resource is damaged
   */
  step(_?: AbortSignal, project?: string): BatchResult {
    // The connection belongs to the host, or the host has closed it.
    if (!this.#database.open) return 'done';
    if (this.#database.inTransaction) return 'later';
    assertNotOvertaken(this.#statements, this.#status);
    if (this.#nextWork(project) === undefined) return 'done';
    // One resource may take as long as a thousand others.
    const end = performance.now() + BATCH_MS;
    return this.#now(() => this.#step(() => performance.now() < end, project), 'later');
  }

  /** Runs work in a transaction. @param locked the result where another process has the lock */
  #now<Result>(work: () => Result, locked: Result): Result {
    const all = (): Result => {
      assertNotOvertaken(this.#statements, this.#status);
      return work();
    };
    try {
      return withoutWaiting(this.#database, () =>
        inTransaction(this.#database, all, (committed) => this.#settle(committed)),
      );
    } catch (error) {
      if (isBusy(error)) return locked;
      throw error;
    }
  }

  #step(goesOn: () => boolean, project?: string): BatchResult {
    const work = this.#nextWork(project);
    if (work === undefined) return 'done';
    const { collection, type } = work;
    // Segments know the definitions that they are made with. They are dropped where all is made again.
    if (work.cursor === '' && work.parameters.includes(REMAKE)) removeSegments(this.#statements, collection);
    const total = work.total ?? (this.#statements.read(COUNT_RESOURCES).get(collection) as [number])[0];
    // Parameters that get a number from here on have no values yet.
    const keys = this.#parameterKeys(collection, work.parameters);
    let { cursor } = work;
    let resources = 0;
    for (;;) {
      const rows = this.#statements.read(NEXT_RESOURCES).all(collection, cursor) as readonly ResourceRow[];
      for (const row of rows) {
        this.#indexAgain(work, keys, row);
        cursor = row[1];
        resources++;
        if (goesOn() || (row === rows.at(-1) && rows.length < AT_ONCE)) continue;
        const done = work.done + resources;
        this.#statements.write(SET_PLACE).run(cursor, done, total, collection);
        this.#index.flush();
        return {
          resources,
          progress: { project: work.project, type, done: doneBeforeEnd(done, total), total },
        };
      }
      if (rows.length === AT_ONCE) continue;
      this.#index.flush();
      endWork(this.#statements, collection, type);
      return { resources, progress: { project: work.project, type, done: total, total } };
    }
  }

  #nextWork(project: string | undefined): Work | undefined {
    const row =
      project === undefined
        ? this.#statements.read(NEXT_WORK).get()
        : this.#statements.read(NEXT_WORK_OF_PROJECT).get(project);
    if (row === undefined) return undefined;
    const [collection, ofProject, type, codes, cursor, done, total] = row as WorkRow;
    const parameters = readCodes(codes);
    return { collection, project: ofProject, type, parameters, cursor, done, total };
  }

  #indexAgain(
    { project, collection, parameters }: Work,
    parameterKeys: readonly number[],
    [key, , version, updated, content]: ResourceRow,
  ): void {
    const { resource } = parseKept([key, version, updated, ...textAt(this.#statements, content)]);
    const marked = markEntries(indexEntries(this.model, resource));
    if (isWhole(parameters)) {
      this.#index.remove(key);
      this.#index.add({ project, collection, resource: key }, marked);
      return;
    }
    this.#index.removeParameters(key, parameterKeys);
    const again = marked.entries.filter(({ parameter }) => isMadeAgain(parameters, parameter));
    this.#index.add({ project, collection, resource: key }, markEntries(again));
  }

  /** Parameters that have rows, those of older definitions included. */
  #parameterKeys(collection: number, parameters: Codes): readonly number[] {
    const rows = this.#statements.read(LIST_PARAMETERS).all(collection) as readonly (readonly [number, string])[];
    return rows.filter(([, code]) => isMadeAgain(parameters, code)).map(([key]) => key);
  }

  #settle(committed: boolean): void {
    this.#status.forget();
    settleAll(this.#dictionaries, committed);
    if (!committed) this.#index.clear();
  }
}

interface Work {
  readonly collection: number;
  readonly project: string;
  readonly type: string;
  readonly parameters: Codes;
  readonly cursor: string;
  readonly done: number;
  readonly total: number | null;
}

type WorkRow = readonly [number, string, string, string, string, number, number | null];

type ResourceRow = readonly [key: number, id: string, version: number, updated: number, content: number];

const AT_ONCE = 50;
/** The duration of a batch. */
const BATCH_MS = 8;

const nextWork = (from: string): string =>
  `SELECT w.collection, c.project, c.type, w.parameters, w.cursor, w.done, w.total FROM ${from} ORDER BY w.rank LIMIT 1`;
const NEXT_WORK = nextWork('index_work w CROSS JOIN collection c ON c.key = w.collection');
const NEXT_WORK_OF_PROJECT = nextWork(
  'collection c CROSS JOIN index_work w ON w.collection = c.key WHERE c.project = ?',
);
const NEXT_RESOURCES = `SELECT r.key, r.id, r.version, r.updated, r.content FROM resource r
  WHERE r.collection = ? AND r.id > ? AND r.content IS NOT NULL ORDER BY r.id LIMIT ${AT_ONCE}`;
const SET_PLACE = 'UPDATE index_work SET cursor = ?, done = ?, total = ? WHERE collection = ?';
/** Number and code of the parameters of a collection. */
export const LIST_PARAMETERS = 'SELECT key, code FROM parameter WHERE collection = ?';
const COUNT_RESOURCES = 'SELECT count(*) FROM resource WHERE collection = ? AND content IS NOT NULL';
const COUNT_WORK = `SELECT count(*) FROM (SELECT 1 FROM index_work w CROSS JOIN resource r ON r.collection = w.collection
  WHERE r.content IS NOT NULL LIMIT ?)`;
