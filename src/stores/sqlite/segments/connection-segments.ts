import type { ResourceKey } from '../../../store/resource-key.js';
import type { SearchQuery } from '../../../store/search-query.js';
import { type Ask, runAwaiting, runNow } from '../../ask.js';
import { FORMAT, type SegmentPort } from '../../segments/port.js';
import type { SegmentPage, SegmentQuery } from '../../segments/segment-search.js';
import { type PreparedErasure, type Progress, SEGMENT_TUNING } from '../../segments/upkeep.js';
import { type DueType, NO_WORK, type SegmentNeeds } from '../../sql/segment-refresh.js';
import { StoreSegments, unlessDamaged } from '../../sql/store-segments.js';
import { LOOP_TURN } from '../../../platform/pace.js';
import { type Guard, TooLong } from '../database/guard.js';
import { inTransaction } from '../database/transaction.js';
import { assertNotOvertaken } from '../schema/prepare-schema.js';
import { listIdOf, type SegmentSource, SqliteSegmentPort } from './segment-port.js';
import { removeSegments } from '../rows/segment-tables.js';
import { TUNING } from '../scans/tuning.js';

/** The segments of a file, as a connection sees them. */
export class ConnectionSegments extends StoreSegments<SqliteSegmentPort> {
  needs: SegmentNeeds = NO_WORK;
  /** The search that gave up last, because it took long. */
  #interrupted: { readonly project: string; readonly asked: SegmentQuery } | undefined;
  /** What was made before erasures, each of exactly these resources. */
  readonly #prepared = new Set<{ readonly name: string; readonly erasure: PreparedErasure }>();

  constructor(
    private readonly source: SegmentSource,
    private readonly guard: Guard,
  ) {
    super(source.model, (project) => new SqliteSegmentPort(project, source, () => TUNING.maxWritten));
  }

  /**
   * Answers a search from one snapshot.
   *
   * @returns undefined if segments do not answer it
   */
  search(query: SearchQuery): SegmentPage | undefined {
    const { project } = query;
    const asked = this.askedOf(query);
    try {
      return this.#run(this.answer(project, asked, this.needs, false), this.of(project).kept);
    } catch (error) {
      if (error instanceof TooLong) this.#interrupted = { project, asked };
      throw error;
    }
  }

  #run<Result>(steps: Ask<SegmentPort, Result>, port: SqliteSegmentPort): Result {
    return runNow(steps, port, () => this.guard.check());
  }

  /**
   * Reads into the cache what the search needs that was interrupted last, in turns of the event loop. Its result is not
   * used: other work may have changed the database between two turns.
   *
   * @param now runs work on one state of the database
   */
  readAhead(now: <Result>(work: () => Result) => Result): Promise<void> | undefined {
    const interrupted = this.#interrupted;
    this.#interrupted = undefined;
    if (interrupted === undefined) return undefined;
    const { index, kept: port } = this.of(interrupted.project);
    const ahead: SegmentPort = {
      states: (types) => now(() => port.states(types)),
      rows: (keys) => now(() => port.rows(keys)),
      resources: (of, ids) => now(() => port.resources(of, ids)),
      resourcesAfter: (of, id, limit) => now(() => port.resourcesAfter(of, id, limit)),
      // Tests read nothing of segments.
      matching: (_, __, ids) => ids,
      write: () => false,
    };
    // Another process may have replaced a segment.
    return runAwaiting(unlessDamaged(index.search(interrupted.asked)), ahead, LOOP_TURN).then(() => undefined);
  }

  upkeepPort(project: string): SqliteSegmentPort {
    return new SqliteSegmentPort(project, this.source);
  }

  /** All types of the file. */
  types(): readonly { readonly project: string; readonly type: string; readonly list: string | null }[] {
    const rows = this.source.statements.read(LIST_TYPES).all() as readonly TypeRow[];
    return rows.map(([project, type, list]) => ({ project, type, list }));
  }

  /** Undefined if this process must not change the segments of the type. */
  progressOf({ project, type }: DueType, mostWritten: number): Progress | undefined {
    const { statements, dialect, status } = this.source;
    const collection = dialect.collection(project, type) as number | undefined;
    if (collection === undefined || !status.isOurs) return undefined;
    const row = statements.read(READ_PROGRESS).get(mostWritten, collection) as ProgressRow | undefined;
    if (row !== undefined) return { list: row[0], isComplete: row[1] === FORMAT, written: row[2], resources: 0 };
    const [resources] = statements.read(COUNT_RESOURCES).get(collection, SEGMENT_TUNING.minSize) as [number];
    return { list: undefined, isComplete: false, written: 0, resources };
  }

  /** Removes the list of a type, if it is still the same. */
  drop(project: string, type: string, list: string): void {
    const { database, statements, status, dialect } = this.source;
    const collection = dialect.collection(project, type) as number;
    inTransaction(database, () => {
      assertNotOvertaken(statements, status);
      if (listIdOf(statements, collection) === list) removeSegments(statements, collection);
    });
  }

  /** Keeps what was made before an erasure of these resources, until the result is called. */
  keepPrepared(keys: readonly ResourceKey[], erasure: PreparedErasure): () => void {
    const prepared = { name: nameOf(keys), erasure };
    this.#prepared.add(prepared);
    return () => this.#prepared.delete(prepared);
  }

  /** Rewrites the segments that hold erased resources of a type, in the transaction that erases them. */
  erase(collection: number, keys: readonly ResourceKey[]): void {
    const [{ project, type }] = keys as readonly [ResourceKey];
    const port = this.upkeepPort(project);
    const name = nameOf(keys);
    const ids = keys.map(({ id }) => id);
    const prepared = [...this.#prepared].find((one) => one.name === name);
    const steps = unlessDamaged(this.upkeep.erase(type, ids, prepared?.erasure));
    if (this.#run(steps, port) !== true) removeSegments(this.source.statements, collection);
  }

  /** Builds the segments of a file again and compares them. @returns the types of which some segment is wrong */
  wrongTypes(): readonly string[] {
    return this.types()
      .filter(({ project, type, list }) => {
        const differing =
          list === null ? [] : this.#run(unlessDamaged(this.upkeep.verify(type)), this.upkeepPort(project));
        return differing?.length !== 0;
      })
      .map(({ type }) => type);
  }
}

/** A name for resources of one type. */
function nameOf(keys: readonly ResourceKey[]): string {
  const [{ project, type }] = keys as readonly [ResourceKey];
  return JSON.stringify([project, type, ...keys.map(({ id }) => id).sort()]);
}

type TypeRow = readonly [project: string, type: string, list: string | null];
type ProgressRow = readonly [list: string, isBuilt: number, written: number];

const LIST_TYPES = `SELECT c.project, c.type, l.id FROM collection c LEFT JOIN segment_list l ON l.collection = c.key
  ORDER BY c.key`;
const READ_PROGRESS = `SELECT l.id, l.built, (SELECT count(*) FROM (SELECT 1 FROM segment_written w
  WHERE w.collection = l.collection LIMIT ?)) FROM segment_list l WHERE l.collection = ?`;
const COUNT_RESOURCES = `SELECT count(*) FROM (
  SELECT 1 FROM resource WHERE collection = ? AND content IS NOT NULL LIMIT ?)`;
