import { setTimeout as delay } from 'node:timers/promises';
import type { FhirModel } from '../../../fhir/model/fhir-model.js';
import type { Change } from '../../../store/write.js';
import { sql, TRUE } from '../../sql/sql.js';
import type { Connections } from '../database/connections.js';
import { isRetryable, storeError } from '../database/errors.js';
import { projectKey } from '../rows/keys.js';
import type { Connection } from '../database/lent-connection.js';
import { beginMaking, publishMadeRows } from './build/made-rows.js';
import { buildSkipIndex } from './build/skip-build.js';
import { createSkipCache, type SkipCache } from './read/skip-cache.js';
import type { StaleType } from './read/skip-state.js';
import { addLayer } from './layers/skip-layers.js';
import { FORMAT, HEADER, IDS, SETS, SKIP_TUNING } from '../rows/skip-row.js';

/**
 * Builds skip indexes: after searches that had none, and for loaded types before the store closes.
 *
 * Commits note their writes from before the snapshot of a build: first the type is marked, then the commits that may
 * not have seen the mark end, then the snapshot begins. An erasure removes the mark, so the build cannot write back the
 * values that the erasure has removed.
 */
export class SkipIndexes {
  readonly #connections: Connections;
  readonly #model: FhirModel;
  readonly #cache: SkipCache;
  readonly #mayBuild: (epoch: string) => boolean;
  readonly #stale = new Map<string, StaleType>();
  /** When the last attempt ended, by type of a project, on the clock of `performance.now()`, and how long it took. */
  readonly #last = new Map<string, { readonly end: number; readonly duration: number }>();
  readonly #written = new Map<string, StaleType & { count: number }>();
  readonly #controller = new AbortController();
  #work: Promise<void> = Promise.resolve();
  #working = 0;

  /** @param mayBuild whether the rows of an epoch of the index are made with the definitions of the model */
  constructor(
    connections: Connections,
    model: FhirModel,
    cache = createSkipCache(),
    mayBuild: (epoch: string) => boolean = () => true,
  ) {
    this.#connections = connections;
    this.#model = model;
    this.#cache = cache;
    this.#mayBuild = mayBuild;
  }

  /** Notes that a search had no skip index, or tested many writes. PERF: the next {@link begin} starts the work. */
  noteStale(stale: StaleType): void {
    const name = `${stale.project} ${stale.type}`;
    const isUnused = stale.isUnused || this.#stale.get(name)?.isUnused === true;
    if (this.#stale.size < MAX_NOTED) this.#stale.set(name, { ...stale, isUnused });
  }

  /** Notes the changes of a commit. */
  wrote(changes: readonly Change[]): void {
    for (const { key, kind } of changes) {
      if (kind !== 'put' || key.project === '') continue;
      const name = `${key.project} ${key.type}`;
      const known = this.#written.get(name);
      if (known !== undefined) known.count += 1;
      else if (this.#written.size < MAX_NOTED) {
        this.#written.set(name, { project: key.project, type: key.type, isUnused: false, count: 1 });
      }
    }
  }

  /**
   * Starts the work that searches have noted. PERF: searches rarely note any.
   *
   * With a pool of one connection, nothing starts, because calls would have no other connection. With a pool of four or
   * more, types that this process has built before do not wait for other builds: they mostly need a layer, and a whole
   * build of another type can take a minute.
   */
  begin(): void {
    const { size } = this.#connections;
    const isBeside = this.#working > 0;
    if (this.#stale.size === 0 || size === 1 || (isBeside && (size < MIN_BESIDE || this.#working > 1))) return;
    const now = performance.now();
    const due = [...this.#stale]
      .filter(([name, stale]) => now >= this.#next(name, stale) && (!isBeside || this.#last.has(name)))
      .map(([, stale]) => stale);
    this.#stale.clear();
    // Drops the results, because each would keep the earlier ones alive.
    if (due.length > 0) this.#work = Promise.all([this.#work, this.make(due)]).then(() => undefined);
  }

  /**
   * Builds the skip indexes of the types that this process has loaded. Builds that its searches have started get some
   * time to end: otherwise, processes that live only as long as one search would never have an index.
   */
  async finish(): Promise<void> {
    const loaded = [...this.#written.values()].filter(({ count }) => count >= SKIP_TUNING.minLoad);
    const abort = (): void => this.#controller.abort();
    const timer = loaded.length === 0 ? setTimeout(abort, SKIP_TUNING.lastWait) : undefined;
    await this.#work;
    clearTimeout(timer);
    await this.make(loaded);
  }

  /** Builds or updates the skip indexes of some types. */
  async make(types: readonly StaleType[]): Promise<void> {
    this.#working += 1;
    try {
      for (const one of types) await this.#makeOne(one);
    } catch (error) {
      // Searches work without a skip index.
      if (!this.#controller.signal.aborted && !isRetryable(error)) warn(error);
    } finally {
      this.#working -= 1;
    }
  }

  async #makeOne(stale: StaleType): Promise<void> {
    const name = `${stale.project} ${stale.type}`;
    const start = performance.now();
    this.#last.set(name, { end: Infinity, duration: 0 });
    let isWhole = false;
    try {
      isWhole = await this.#connections.use((connection) => this.#build(connection, stale), this.#controller.signal);
    } finally {
      const end = performance.now();
      if (this.#last.size > MAX_NOTED) this.#last.clear();
      // After a whole build, the next attempt makes a layer.
      this.#last.set(name, { end, duration: isWhole ? 0 : end - start });
    }
  }

  #next(name: string, { isUnused }: StaleType): number {
    const last = this.#last.get(name);
    return last === undefined ? 0 : last.end + pauseAfter(last.duration, isUnused);
  }

  /** @returns true for a whole build, false for a layer or nothing */
  async #build(connection: Connection, { project, type }: StaleType): Promise<boolean> {
    const of = sql`${projectKey(project)}, ${type}`;
    if (!(await isStale(connection, project, type))) return false;
    await connection.write(sql`INSERT INTO fhirgraph_skip_type (project, type) VALUES (${of}) ON CONFLICT DO NOTHING`);
    await untilWritersEnd(connection, this.#controller.signal);
    await connection.run(beginMaking());
    try {
      const [row] = await connection.run(sql`SELECT (SELECT value FROM fhirgraph_meta WHERE name = 'index_epoch'),
        EXISTS (SELECT 1 FROM fhirgraph_index_work w WHERE (w.project, w.type) = (t.project, t.type))
        FROM fhirgraph_skip_type t WHERE (t.project, t.type) = (${of})`);
      const [epoch, isPending] = (row ?? []) as [string?, boolean?];
      const isOpen = row !== undefined && isPending !== true && this.#mayBuild(epoch ?? '');
      const isFree = isOpen && (await isFirst(connection, project, type));
      if (!isFree) {
        await connection.rollBack();
        return false;
      }
      const skipped = { project, type, epoch: epoch ?? '' };
      const replaced = await addLayer(connection, this.#model, skipped, this.#cache);
      if (replaced === undefined) await buildSkipIndex(connection, this.#model, skipped);
      await publishMadeRows(connection, skipped, replaced ?? { rows: TRUE, keys: TRUE });
      return replaced === undefined;
    } catch (error) {
      await connection.rollBack();
      throw error;
    }
  }
}

/** The number of resources from which a type gets a skip index. */
function minResources(): number {
  return SKIP_TUNING.granule * SKIP_TUNING.minGranules;
}

/**
 * True if the type is large, and has no skip index of this epoch or one with many writes since. A skip index of a newer version
 * is left to processes of that version, unless they have not updated it for long.
 */
async function isStale(connection: Connection, project: string, type: string): Promise<boolean> {
  const { maxFresh, abandoned } = SKIP_TUNING;
  const of = sql`${projectKey(project)}, ${type}`;
  const [row] = await connection.run(sql`SELECT
    (SELECT count(*) FROM (SELECT 1 FROM resource WHERE (project, type) = (${of}) AND content IS NOT NULL LIMIT ${minResources()}) r),
    (SELECT count(*) FROM (SELECT 1 FROM fhirgraph_skip_written WHERE (project, type) = (${of}) LIMIT ${Math.max(maxFresh, abandoned) + 1}) w),
    (SELECT s.data::jsonb ->> 'format' FROM fhirgraph_skip s, fhirgraph_meta m WHERE (s.project, s.type) = (${of}) AND s.sort = ${SETS}::bigint
      AND s.subject = ${IDS}::bigint AND s.value = ${HEADER} AND m.name = 'index_epoch' AND s.data::jsonb ->> 'epoch' = m.value)`);
  const [resources, written, format] = row as [unknown, unknown, string | null];
  if (Number(resources) < minResources()) return false;
  // Otherwise, processes of two versions would rebuild it in turn.
  if (Number(format) > FORMAT) return Number(written) > abandoned;
  return Number(written) > maxFresh || Number(format) < FORMAT;
}

/** False while another process does the same. */
async function isFirst(connection: Connection, project: string, type: string): Promise<boolean> {
  const name = JSON.stringify(['fhirgraph skip index', project, type]);
  const [[locked]] = (await connection.run(
    sql`SELECT pg_try_advisory_xact_lock(('x' || left(md5(current_schema() || ${name}), 16))::bit(64)::bigint)`,
  )) as [[boolean]];
  return locked;
}

/**
 * Waits for the commits that may not have seen a mark: those that hold `fhirgraph_writer` now.
 *
 * @throws Error - they did not end in time
 */
async function untilWritersEnd(connection: Connection, signal: AbortSignal): Promise<void> {
  const holders = async (): Promise<readonly string[]> => {
    const rows = await connection.run(sql`SELECT DISTINCT l.virtualtransaction FROM pg_locks l
      WHERE l.relation = 'fhirgraph_writer'::regclass AND l.database = (SELECT oid FROM pg_database WHERE datname = current_database())`);
    return rows.map(([holder]) => holder as string);
  };
  const first = new Set(await holders());
  for (const end = performance.now() + MAX_WAIT_MS; first.size > 0;) {
    const now = new Set(await holders());
    for (const one of [...first]) if (!now.has(one)) first.delete(one);
    if (first.size === 0) return;
    if (performance.now() > end) throw new Error('Commits did not end');
    await delay(POLL_MS, undefined, { signal, ref: false });
  }
}

function warn(error: unknown): void {
  const { message } = storeError(error);
  process.emitWarning(`Skip indexes of PostgreSQL are not made: ${message}`, { code: 'FHIRGRAPH_INDEX' });
}

/** The smallest pool that works on two types at a time. */
const MIN_BESIDE = 4;
/** Maximum types that are remembered. */
const MAX_NOTED = 1_000;

/**
 * The pause between two attempts, in milliseconds.
 *
 * @param duration the duration of the last attempt
 * @param isUnused true if searches do not use the index, or will stop before it is rebuilt
 */
function pauseAfter(duration: number, isUnused: boolean): number {
  return Math.max(MIN_PAUSE_MS, duration * (isUnused ? 1 : 4));
}

const MIN_PAUSE_MS = 1_000;
/** The longest wait for commits that began before the mark. */
const MAX_WAIT_MS = 60_000;
const POLL_MS = 50;
