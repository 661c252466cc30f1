import { LRUCache } from 'lru-cache';
import { fingerprintsOfType } from '../../../search/index/parameter-fingerprints.js';
import { pageEdgeOf, pageOf } from '../../../store/guards.js';
import type { ResourceKey } from '../../../store/resource-key.js';
import type { SearchQuery } from '../../../store/search-query.js';
import { runAwaiting, runNow } from '../../ask.js';
import type { FingerprintsOf } from '../../segments/evaluation.js';
import { FORMAT, type SegmentPort } from '../../segments/port.js';
import { DamagedSegment, SegmentCache } from '../../segments/segment-rows.js';
import { SegmentIndex, type SegmentPage, type SegmentQuery, typesOf } from '../../segments/segment-search.js';
import { type PreparedErasure, type Progress, SEGMENT_TUNING, SegmentUpkeep } from '../../segments/upkeep.js';
import { type DueType, NO_WORK, type SegmentNeeds } from '../../sql/segment-refresh.js';
import { LOOP_TURN } from '../../../platform/pace.js';
import { type Guard, TooLong } from '../database/guard.js';
import { inTransaction } from '../database/transaction.js';
import { assertNotOvertaken } from '../schema/prepare-schema.js';
import { listIdOf, type SegmentSource, SqliteSegmentPort } from './segment-port.js';
import { removeSegments } from '../rows/segment-tables.js';
import { TUNING } from '../scans/tuning.js';

/** The segments of a file, as a connection sees them. */
export class ConnectionSegments {
  readonly fingerprints: FingerprintsOf;
  readonly #source: SegmentSource;
  readonly #guard: Guard;
  readonly #projects = new LRUCache<string, ProjectSegments>({ max: MAX_PROJECTS });
  #cache = new SegmentCache(CACHE_BYTES);
  needs: SegmentNeeds = NO_WORK;
  /** The search that gave up last, because it took long. */
  #interrupted: { readonly project: string; readonly asked: SegmentQuery } | undefined;
  /** What was made before erasures, each of exactly these resources. */
  readonly #prepared = new Set<{ readonly name: string; readonly erasure: PreparedErasure }>();

  constructor(source: SegmentSource, guard: Guard) {
    this.#source = source;
    this.#guard = guard;
    this.fingerprints = (type) => fingerprintsOfType(source.model, type);
  }

  /** Drops what was read, because it may be removed from the file. */
  forget(): void {
    this.#projects.clear();
    this.#cache = new SegmentCache(CACHE_BYTES);
  }

  /**
   * Answers a search from one snapshot.
   *
   * @returns undefined if segments do not answer it
   */
  search(query: SearchQuery): SegmentPage | undefined {
    const { project, type, criteria, sort, total } = query;
    const { index, port } = this.#of(project);
    const { offset, limit } = pageOf(query);
    const edge = pageEdgeOf(this.#source.model, query);
    const asked = { type, criteria, sort, offset, limit, total, edge };
    try {
      const stale = (types: readonly string[]): void => this.needs.stale(project, types, type);
      return runNow(index.search(asked, { stale }), port, () => this.#guard.check());
    } catch (error) {
      if (error instanceof TooLong) this.#interrupted = { project, asked };
      if (!(error instanceof DamagedSegment)) throw error;
      this.needs.damaged(project, typesOf(type, criteria));
      return undefined;
    }
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
    const { index, port } = this.#of(interrupted.project);
    const ahead: SegmentPort = {
      states: (types) => now(() => port.states(types)),
      rows: (keys) => now(() => port.rows(keys)),
      resources: (of, ids) => now(() => port.resources(of, ids)),
      resourcesAfter: (of, id, limit) => now(() => port.resourcesAfter(of, id, limit)),
      // Tests read nothing of segments.
      matching: (_, __, ids) => ids,
      write: () => false,
    };
    return runAwaiting(index.search(interrupted.asked), ahead, LOOP_TURN).then(
      () => undefined,
      (error: unknown) => {
        // A row of a segment that another process has replaced.
        if (!(error instanceof DamagedSegment)) throw error;
      },
    );
  }

  #of(project: string): ProjectSegments {
    let known = this.#projects.get(project);
    if (known === undefined) {
      const port = new SqliteSegmentPort(project, this.#source, () => TUNING.maxWritten);
      known = { port, index: new SegmentIndex(this.fingerprints, this.#cache) };
      this.#projects.set(project, known);
    }
    return known;
  }

  /** The steps that change segments. */
  get upkeep(): SegmentUpkeep {
    return new SegmentUpkeep(this.fingerprints, this.#cache);
  }

  upkeepPort(project: string): SqliteSegmentPort {
    return new SqliteSegmentPort(project, this.#source);
  }

  /** All types of the file. */
  types(): readonly { readonly project: string; readonly type: string; readonly list: string | null }[] {
    const rows = this.#source.statements.read(LIST_TYPES).all() as readonly TypeRow[];
    return rows.map(([project, type, list]) => ({ project, type, list }));
  }

  /** Undefined if this process must not change the segments of the type. */
  progressOf({ project, type }: DueType, mostWritten: number): Progress | undefined {
    const { statements, dialect, status } = this.#source;
    const collection = dialect.collection(project, type) as number | undefined;
    if (collection === undefined || !status.isOurs) return undefined;
    const row = statements.read(READ_PROGRESS).get(mostWritten, collection) as ProgressRow | undefined;
    if (row !== undefined) return { list: row[0], isComplete: row[1] === FORMAT, written: row[2], resources: 0 };
    const [resources] = statements.read(COUNT_RESOURCES).get(collection, SEGMENT_TUNING.minSize) as [number];
    return { list: undefined, isComplete: false, written: 0, resources };
  }

  /** Removes the list of a type, if it is still the same. */
  drop(project: string, type: string, list: string): void {
    const { database, statements, status, dialect } = this.#source;
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
    const steps = this.upkeep.erase(type, ids, prepared?.erasure);
    try {
      if (runNow(steps, port, () => this.#guard.check())) return;
    } catch (error) {
      if (!(error instanceof DamagedSegment)) throw error;
    }
    removeSegments(this.#source.statements, collection);
  }

  /** Builds the segments of a file again and compares them. @returns the types of which some segment is wrong */
  wrongTypes(): readonly string[] {
    return this.types()
      .filter(({ project, type, list }) => list !== null && this.#isWrong(project, type))
      .map(({ type }) => type);
  }

  #isWrong(project: string, type: string): boolean {
    try {
      return runNow(this.upkeep.verify(type), this.upkeepPort(project), () => this.#guard.check()).length > 0;
    } catch (error) {
      if (error instanceof DamagedSegment) return true;
      throw error;
    }
  }
}

/** A name for resources of one type. */
function nameOf(keys: readonly ResourceKey[]): string {
  const [{ project, type }] = keys as readonly [ResourceKey];
  return JSON.stringify([project, type, ...keys.map(({ id }) => id).sort()]);
}

interface ProjectSegments {
  readonly port: SqliteSegmentPort;
  readonly index: SegmentIndex;
}

/** Projects of which the latest state is kept. */
const MAX_PROJECTS = 256;

/** Bytes of rows as stored. */
const CACHE_BYTES = 64 * 1024 * 1024;

type TypeRow = readonly [project: string, type: string, list: string | null];
type ProgressRow = readonly [list: string, isBuilt: number, written: number];

const LIST_TYPES = `SELECT c.project, c.type, l.id FROM collection c LEFT JOIN segment_list l ON l.collection = c.key
  ORDER BY c.key`;
const READ_PROGRESS = `SELECT l.id, l.built, (SELECT count(*) FROM (SELECT 1 FROM segment_written w
  WHERE w.collection = l.collection LIMIT ?)) FROM segment_list l WHERE l.collection = ?`;
const COUNT_RESOURCES = `SELECT count(*) FROM (
  SELECT 1 FROM resource WHERE collection = ? AND content IS NOT NULL LIMIT ?)`;
