import { setImmediate as nextTurn, setTimeout as delay } from 'node:timers/promises';
import { FhirError } from '../../fhir/error.js';
import type { CallOptions } from '../../store/call-options.js';
import { type Answer, type Ask, ask } from '../ask.js';
import { BackgroundWork, type StepResult } from './background-work.js';
import { type Codes, isWhole, readCodes } from './index-changes.js';
import { type IndexPort, type ProjectType, onIndex } from './index-state.js';
import { endWork } from './index-takeover.js';
import { sql } from './sql.js';

/** Options of re-indexing. */
export interface ReindexOptions extends CallOptions {
  /** The id of the project to re-index. Default: all projects. */
  readonly project?: string | undefined;
  /**
   * Re-index only the rows that other definitions or an older library version left behind (`pendingParameters`).
   * Default false.
   */
  readonly pendingOnly?: boolean | undefined;
  /** Called after each batch. If it throws, re-indexing stops; completed batches are kept. */
  readonly onProgress?: ((progress: ReindexProgress) => void) | undefined;
}

/** Re-indexing progress of one type in one project. */
export interface ReindexProgress {
  /** The project's id. */
  readonly project: string;
  readonly type: string;
  /** Resources done. */
  readonly done: number;
  /** Number of resources; equals `done` when the type is complete in the project. */
  readonly total: number;
}

/** Who re-indexes rows made with other definitions. */
export type ReindexMode = 'background' | 'manual';

/** The mode with its default. @throws FhirError `invalid` */
export function reindexMode(mode: ReindexMode = 'background'): ReindexMode {
  if (mode === 'background' || mode === 'manual') return mode;
  throw new FhirError('invalid', `reindex must be background or manual, not ${String(mode)}`);
}

/** What re-indexes a database in batches, each of one type in one project. */
export interface ReindexPort {
  /** The number of resources to re-index, up to the limit. */
  countUpTo(limit: number): Answer<number>;
  /** Does the next batch. @param failed as of {@link nextBatch} */
  step(failed: FhirError[], signal?: AbortSignal): Answer<BatchResult>;
}

/** How a store re-indexes resources. All questions of a batch run in one transaction. */
export interface BatchPort extends IndexPort {
  /** Drops the segments of a type. */
  removeSegments(type: ProjectType): Answer<unknown>;
  /** Re-indexes the next resources after the last one done, in the order of ids. */
  indexNext(work: TypeWork): Answer<Batch>;
}

/** The work on a type of a project. */
export interface TypeWork extends ProjectType {
  readonly codes: Codes;
  /** The id of the last resource done; empty: none is. */
  readonly cursor: string;
}

/** What a batch has done. */
export interface Batch {
  readonly resources: number;
  /** The id of the last resource done; undefined if no resource is left. */
  readonly cursor: string | undefined;
  /** The project's id; undefined: unknown. */
  readonly project?: string | undefined;
}

/** Counts the resources to re-index, up to a limit. */
export function* countWork(limit: number): Ask<IndexPort, number> {
  const [row] = yield* onIndex(
    (t) => sql`SELECT count(*) FROM (SELECT 1 FROM ${t.worksOf(undefined).from} CROSS JOIN resource r
      WHERE ${t.isOfWork} AND r.content IS NOT NULL LIMIT ${limit}) r`,
  );
  return Number(row![0]);
}

/** The number of types to re-index. @param project only of this project; default: of all */
export function* countTypes(project: string | undefined): Ask<IndexPort, number> {
  const [row] = yield* onIndex(({ worksOf }) => {
    const { from, where } = worksOf(project);
    return sql`SELECT count(*) FROM ${from} WHERE ${where}`;
  });
  return Number(row![0]);
}

/**
 * Does the next batch of the work on one or all projects.
 *
 * @param failed gets the failure of a type that has a damaged resource. With it, the next batch is of another type. The first
 * failure is thrown again once no other type is left
 */
export function* nextBatch(project: string | undefined, failed: FhirError[]): Ask<BatchPort, BatchResult> {
  const [row] = yield* onIndex(({ worksOf, nextWork }) => {
    const { from, where } = worksOf(project);
    return sql`SELECT w.project, w.type, w.parameters, w.cursor, w.done, w.total FROM ${from} WHERE ${where} ${nextWork(failed.length)}`;
  });
  if (row === undefined) {
    // What failed stays the first in the order.
    if ((yield* countTypes(project)) > failed.length) return 'later';
    const [first] = failed.splice(0);
    if (first === undefined) return 'done';
    throw first;
  }
  const [key, type, parameters, cursor, before, counted] = row as WorkRow;
  const work = { project: key, type, codes: readCodes(parameters), cursor };
  // Segments know the definitions that they are made with. They are dropped where all is made again.
  if (cursor === '' && isWhole(work.codes)) yield* ask((port: BatchPort) => port.removeSegments(work));
  const total = counted ?? (yield* countResources(work));
  const batch = yield* indexNext(work, failed);
  const { resources } = batch;
  const progress = { project: batch.project ?? project ?? key, type, total };
  if (batch.cursor === undefined) {
    yield* endWork(work);
    return { resources, progress: { ...progress, done: total } };
  }
  const done = before + resources;
  yield* onIndex(
    (t) => sql`UPDATE ${t.work} SET cursor = ${batch.cursor!}, done = ${done}, total = ${total} WHERE ${t.isOf(work)}`,
  );
  // Fewer than all, even if resources were added since they were counted.
  return { resources, progress: { ...progress, done: Math.min(done, Math.max(total - 1, 0)) } };
}

function* indexNext(work: TypeWork, failed: FhirError[]): Ask<BatchPort, Batch> {
  try {
    return yield* ask((port: BatchPort) => port.indexNext(work));
  } catch (error) {
    if (error instanceof FhirError && error.code === 'corrupt') failed.push(error);
    throw error;
  }
}

function* countResources(type: ProjectType): Ask<IndexPort, number> {
  const [row] = yield* onIndex(
    ({ isOf }) => sql`SELECT count(*) FROM resource WHERE ${isOf(type)} AND content IS NOT NULL`,
  );
  return Number(row![0]);
}

type WorkRow = readonly [
  project: string,
  type: string,
  parameters: string,
  cursor: string,
  done: number,
  total: number | null,
];

/** A batch; `done` if nothing is left to do, `later` while other processes work on the rest. */
export type BatchResult = { readonly resources: number; readonly progress: ReindexProgress } | 'later' | 'done';

/** Re-indexes at once if few resources are left. @returns whether all is done */
export function* reindexFew(): Ask<ReindexPort, boolean> {
  if ((yield* ask((port: ReindexPort) => port.countUpTo(AT_ONCE + 1))) > AT_ONCE) return false;
  const failed: FhirError[] = [];
  for (;;) {
    try {
      const batch = yield* ask((port: ReindexPort) => port.step(failed));
      if (typeof batch === 'string') return batch === 'done';
    } catch (error) {
      if (failed.length === 0) throw error;
      return false;
    }
  }
}

const AT_ONCE = 2_000;

/** Re-indexes in the background of calls. It warns of a damaged resource, and continues with other types. */
export function backgroundReindexing(port: ReindexPort, storeError: (error: unknown) => FhirError): BackgroundWork {
  const failed: FhirError[] = [];
  const step = async (signal: AbortSignal): Promise<StepResult> => {
    const batch = await port.step(failed, signal);
    return typeof batch === 'string' ? batch : 'more';
  };
  return new BackgroundWork('Re-indexing failed', step, storeError);
}

/**
 * Re-indexes in batches until nothing is left, and waits for the batches of other processes.
 *
 * @returns how many resources this call indexed
 * @throws FhirError `corrupt` - a resource is damaged. Its type is left to re-index; all others are done
 */
export async function reindex(
  { onProgress, signal }: ReindexOptions,
  step: (failed: FhirError[]) => Answer<BatchResult>,
): Promise<number> {
  const failed: FhirError[] = [];
  for (let count = 0; ;) {
    const before = failed.length;
    let batch: BatchResult;
    try {
      batch = await step(failed);
    } catch (error) {
      if (failed.length <= before) throw error;
      continue;
    }
    if (batch === 'done') return count;
    if (batch === 'later') {
      await delay(LATER_MS, undefined, signal && { signal }).catch(() => undefined);
      continue;
    }
    count += batch.resources;
    onProgress?.(batch.progress);
    await nextTurn();
  }
}

/** Polling interval, in milliseconds, while other processes do the work. */
const LATER_MS = 50;
