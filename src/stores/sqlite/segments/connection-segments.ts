import { LRUCache } from 'lru-cache';
import { parameterFingerprints } from '../../../search/index/parameter-fingerprints.js';
import { pageEdgeOf, pageOf } from '../../../store/guards.js';
import type { ResourceKey } from '../../../store/resource-key.js';
import type { SearchQuery } from '../../../store/search-query.js';
import { runAwaiting, runNow } from '../../ask.js';
import type { FingerprintsOf } from '../../segments/evaluation.js';
import type { SegmentPort } from '../../segments/port.js';
import { DamagedSegment, SegmentCache } from '../../segments/segment-rows.js';
import { SegmentIndex, type SegmentPage, type SegmentQuery, typesOf } from '../../segments/segment-search.js';
import { type PreparedErasure, SegmentUpkeep } from '../../segments/upkeep.js';
import { LOOP_TURN } from '../../../platform/loop-turn.js';
import { type Guard, TooLong } from '../database/guard.js';
import { inTransaction } from '../database/transaction.js';
import { assertNotOvertaken } from '../schema/prepare-schema.js';
import { countOfCollection } from '../rows/shapes.js';
import { listIdOf, type SegmentSource, SqliteSegmentPort } from './segment-port.js';
import { removeSegments, SEGMENT_TUNING } from '../rows/segment-tables.js';

/** The next work on the segments of a type of a project. */
export interface SegmentWork {
  readonly kind: 'begin' | 'build' | 'flush' | 'merge' | 'drop';
  readonly project: string;
  readonly type: string;
  /** The id of the list that it changes. */
  readonly list: string | undefined;
}

/** The segments of a file, as a connection sees them. */
export class ConnectionSegments {
  readonly fingerprints: FingerprintsOf;
  readonly #source: SegmentSource;
  readonly #guard: Guard;
  readonly #projects = new LRUCache<string, ProjectSegments>({ max: MAX_PROJECTS });
  #cache = new SegmentCache(CACHE_BYTES);
  /** The types whose list is damaged, by their collections. */
  readonly #damaged = new Set<number>();
  /** Called when a search finds a list damaged. */
  onDamaged: (() => void) | undefined;
  /** The search that gave up last, because it took long. */
  #interrupted: { readonly project: string; readonly asked: SegmentQuery } | undefined;
  /** What was made before erasures, each of exactly these resources. */
  readonly #prepared = new Set<{ readonly name: string; readonly erasure: PreparedErasure }>();
  /** Whether a search has found no list. */
  isMissed = false;
  /** The lists after whose last change nothing could be merged, by their collections. */
  readonly #merged = new Map<number, string>();

  constructor(source: SegmentSource, guard: Guard) {
    this.#source = source;
    this.#guard = guard;
    this.fingerprints = (type) => parameterFingerprints(source.model)[type] ?? {};
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
    const { project, type, criteria, sort, total, baseUrl } = query;
    const { index, port } = this.#of(project);
    const { offset, limit } = pageOf(query);
    const edge = pageEdgeOf(this.#source.model, query);
    const asked = { type, criteria, sort, offset, limit, total, baseUrl, edge };
    try {
      const found = runNow(index.search(asked), port, () => this.#guard.check());
      if (found === undefined) this.isMissed = true;
      return found;
    } catch (error) {
      if (error instanceof TooLong) this.#interrupted = { project, asked };
      if (!(error instanceof DamagedSegment)) throw error;
      this.#noteDamaged(project, typesOf(type, criteria));
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

  /** Notes that the list of some work has to be made again. @returns false if the error has another reason */
  isDamaged(error: unknown, { project, type }: SegmentWork): boolean {
    if (!(error instanceof DamagedSegment)) return false;
    this.#noteDamaged(project, [type]);
    return true;
  }

  #noteDamaged(project: string, types: readonly string[]): void {
    for (const type of types) {
      const collection = this.#source.dialect.collection(project, type) as number | undefined;
      if (collection !== undefined) this.#damaged.add(collection);
    }
    this.onDamaged?.();
  }

  #of(project: string): ProjectSegments {
    let known = this.#projects.get(project);
    if (known === undefined) {
      const port = new SqliteSegmentPort(project, this.#source, () => SEGMENT_TUNING.maxWritten);
      known = { port, index: new SegmentIndex(this.fingerprints, this.#cache) };
      this.#projects.set(project, known);
    }
    return known;
  }

  /** The port and the steps that change the segments of a project. */
  upkeepOf(project: string): { readonly port: SqliteSegmentPort; readonly upkeep: SegmentUpkeep } {
    return {
      port: new SqliteSegmentPort(project, this.#source),
      upkeep: new SegmentUpkeep(this.fingerprints, this.#cache),
    };
  }

  /**
   * @param isWriting while more is written, only long lists of writes become segments, and nothing is merged
   * @returns undefined if the segments are up to date
   */
  nextWork(isWriting: boolean): SegmentWork | undefined {
    const { statements, status } = this.#source;
    const { minResources } = SEGMENT_TUNING;
    const flushFrom = isWriting ? SEGMENT_TUNING.flushBusy : SEGMENT_TUNING.flushFrom;
    for (const row of statements.read(LIST_TYPES).all() as readonly TypeRow[]) {
      const [collection, project, type, list, isBuilt] = row;
      if (status.unknownCodes(project, type).length > 0) continue;
      if (list === null) {
        const [count] = statements.get(countOfCollection(collection)) as [number];
        if (count >= minResources) return { kind: 'begin', project, type, list: undefined };
      } else if (this.#damaged.has(collection)) return { kind: 'drop', project, type, list };
      else if (isBuilt === 0) return { kind: 'build', project, type, list };
      else {
        const [written] = statements.read(COUNT_WRITTEN).get(collection, flushFrom) as [number];
        if (written >= flushFrom) return { kind: 'flush', project, type, list };
        if (!isWriting && this.#merged.get(collection) !== list) return { kind: 'merge', project, type, list };
      }
    }
    return undefined;
  }

  /** The id of the list of a type; undefined if it has none. */
  listId(project: string, type: string): string | undefined {
    const { dialect, statements } = this.#source;
    const collection = dialect.collection(project, type) as number | undefined;
    return collection === undefined ? undefined : listIdOf(statements, collection);
  }

  /** Notes that the segments of a list need no merging. */
  noteMerged({ project, type, list }: SegmentWork): void {
    this.#merged.set(this.#source.dialect.collection(project, type) as number, list!);
  }

  /** Removes the list of a type, if it is still the same. */
  drop({ project, type, list }: Omit<SegmentWork, 'kind'>): boolean {
    const { database, statements, status, dialect } = this.#source;
    const collection = dialect.collection(project, type) as number;
    return inTransaction(database, () => {
      assertNotOvertaken(statements, status);
      this.#damaged.delete(collection);
      if (listIdOf(statements, collection) !== list) return false;
      removeSegments(statements, collection);
      return true;
    });
  }

  /** Makes the list of a type, from which on its writes are noted. */
  begin(project: string, type: string): boolean {
    const { upkeep, port } = this.upkeepOf(project);
    return runNow(upkeep.begin(type), port);
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
    const { upkeep, port } = this.upkeepOf(project);
    const name = nameOf(keys);
    const ids = keys.map(({ id }) => id);
    const prepared = [...this.#prepared].find((one) => one.name === name);
    const steps = upkeep.erase(type, ids, prepared?.erasure);
    try {
      if (port.isComplete(type) && runNow(steps, port, () => this.#guard.check())) return;
    } catch (error) {
      if (!(error instanceof DamagedSegment)) throw error;
    }
    removeSegments(this.#source.statements, collection);
  }

  /** Builds the segments of a file again and compares them. @returns the types of which some segment is wrong */
  wrongTypes(): readonly string[] {
    const rows = this.#source.statements.read(LIST_TYPES).all() as readonly TypeRow[];
    return rows
      .filter(([, project, type, list]) => list !== null && this.#isWrong(project, type))
      .map(([, , type]) => type);
  }

  #isWrong(project: string, type: string): boolean {
    const { upkeep, port } = this.upkeepOf(project);
    try {
      return runNow(upkeep.verify(type), port, () => this.#guard.check()).length > 0;
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

type TypeRow = readonly [collection: number, project: string, type: string, list: string | null, isBuilt: number];

const LIST_TYPES = `SELECT c.key, c.project, c.type, l.id, l.built
  FROM collection c LEFT JOIN segment_list l ON l.collection = c.key ORDER BY c.key`;
const COUNT_WRITTEN = 'SELECT count(*) FROM (SELECT 1 FROM segment_written WHERE collection = ? LIMIT ?)';
