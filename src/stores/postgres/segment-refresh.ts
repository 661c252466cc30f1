import { setTimeout as delay } from 'node:timers/promises';
import { FhirError } from '../../fhir/error.js';
import { LongPace } from '../../platform/pace.js';
import type { Change } from '../../store/write.js';
import { runAwaiting } from '../ask.js';
import { DamagedSegment } from '../segments/segment-rows.js';
import { BackgroundWork, type StepResult } from '../sql/background-work.js';
import { codesOf } from '../sql/index-changes.js';
import { sql } from '../sql/sql.js';
import type { Connections } from './database/connections.js';
import { isRetryable, rollbackUnless, storeError } from './database/errors.js';
import type { Run } from './database/run.js';
import { inTransaction, type Transaction } from './database/transaction.js';
import type { IndexStatus } from './maintenance/index-status.js';
import { projectKey } from './rows/keys.js';
import { removeSegments, SEGMENT_TUNING } from './rows/segment-tables.js';
import type { PortConnection } from './segments/segment-port.js';
import type { PostgresSegments, SegmentWork } from './segments/segments.js';

/** A type of a project whose segments may need work. */
interface Due {
  readonly project: string;
  readonly type: string;
  /** With fewer resources, nothing is begun. */
  readonly least: number;
  /** Whether its segments are removed first. */
  readonly isDamaged: boolean;
}

/**
 * Makes the segments of the types that this process writes, or that its searches lack, in the background of its calls.
 *
 * One process works on a type at a time, as long as its mark in `busy` lasts. Only the comparison of lists keeps segments right.
 *
 * **Which writes a list includes.** A commit notes the resources that it writes if its snapshot has a list of their type, and
 * reads `fhirgraph_writer` in the same statement. The lock on that table comes before the snapshot and lasts until the commit
 * ends. An empty list is committed first. Each later step on it waits for the end of all transactions that hold that lock. So a
 * commit either
 *
 * - has ended before the first resource is read, so that the segments include it; or
 * - took its lock after the list was there, so that its snapshot has the list, and it notes its writes.
 *
 * From then on each list replaces another one, so there is no moment without a list. A new list covers only stamps that were
 * read before the resources. A write with such a stamp was committed, so the resources include it; any other write has another
 * stamp, which stays.
 */
export class SegmentRefresh implements SegmentWork {
  readonly #connections: Connections;
  readonly #status: IndexStatus;
  readonly #segments: PostgresSegments;
  readonly #due = new Map<string, Due>();
  /** The writes of this process since the type was due, by type. */
  readonly #written = new Map<string, number>();
  readonly #controller = new AbortController();
  readonly #background = new BackgroundWork('Building segments failed', () => this.#step(), storeError);
  readonly #run: Run;
  #isClosing = false;
  #count = 0;
  /** When the first of the last `flushFrom` writes came, on the clock of `performance.now()`. */
  #since = 0;
  /** Until then, this process seems to load data. */
  #loadsUntil = 0;

  constructor(connections: Connections, status: IndexStatus, segments: PostgresSegments) {
    this.#connections = connections;
    this.#status = status;
    this.#segments = segments;
    this.#run = (statement) => connections.run(statement, this.#controller.signal);
  }

  /** Notes the changes of a commit. */
  wrote(changes: readonly Change[]): void {
    const { flushFrom, minResources } = SEGMENT_TUNING;
    const now = performance.now();
    for (const { key } of changes) {
      const name = nameOf(key.project, key.type);
      const written = (this.#written.get(name) ?? 0) + 1;
      if (this.#written.size > MAX_NOTED) this.#written.clear();
      this.#written.set(name, written % flushFrom);
      if (written >= flushFrom) this.#note({ ...key, least: minResources, isDamaged: false });
      if (this.#count++ % flushFrom === 0) this.#since = now;
      if (this.#count % flushFrom === 0 && now - this.#since < LOAD_MS) this.#loadsUntil = now + LOAD_MS;
    }
  }

  stale(project: string, types: readonly string[], searched: string): void {
    // Searches of a type without a list begin with that one.
    const least = types.includes(searched) ? SEGMENT_TUNING.minResources : 0;
    for (const type of types) this.#note({ project, type, least, isDamaged: false });
  }

  damaged(project: string, types: readonly string[]): void {
    for (const type of types) this.#note({ project, type, least: 0, isDamaged: true });
  }

  #note(due: Due): void {
    if (this.#due.size >= MAX_NOTED || this.#isClosing) return;
    this.#due.set(nameOf(due.project, due.type), due);
    this.#background.start();
  }

  /**
   * Ends the work: all of what is due after a load, and otherwise a part of it, so that a process that lives only as long as one
   * search leaves something behind.
   */
  async finish(): Promise<void> {
    this.#isClosing = true;
    const isLoaded = this.#count >= MIN_LOAD;
    if (isLoaded) for (const name of this.#written.keys()) this.#noteLoaded(name);
    const timer = isLoaded ? undefined : setTimeout(() => this.#controller.abort(), LAST_MS);
    try {
      await this.#background.stop();
      while (!this.#controller.signal.aborted && (await this.#step()) !== 'done');
    } catch {
      // Searches work without segments, and the next process continues.
    } finally {
      clearTimeout(timer);
    }
  }

  #noteLoaded(name: string): void {
    const [project, type] = JSON.parse(name) as [string, string];
    this.#due.set(name, { project, type, least: SEGMENT_TUNING.minResources, isDamaged: false });
  }

  async #step(): Promise<StepResult> {
    if (performance.now() < this.#loadsUntil && !this.#isClosing) return 'later';
    for (const [name, due] of this.#due) {
      const result = await this.#work(due);
      // It may be due again since.
      const isSame = this.#due.get(name) === due;
      if (isSame) this.#due.delete(name);
      if (result === 'done') continue;
      // The others come first.
      if (isSame) this.#due.set(name, { ...due, isDamaged: false });
      if (result === 'later' && this.#isClosing) this.#due.delete(name);
      return result;
    }
    return 'done';
  }

  async #work(due: Due): Promise<StepResult> {
    const { project, type, least } = due;
    const { isOurs, pending } = this.#status.known;
    // After re-indexing, the next search or write notes it again.
    if (!isOurs || codesOf(pending, type).length > 0) return 'done';
    const shard = projectKey(project);
    if (due.isDamaged) await this.#remove(shard, type);
    const state = await this.#stateOf(shard, type, least);
    if (state.isBusy) return 'later';
    if (state.list === undefined && state.resources < least) return 'done';
    try {
      return await this.#change(shard, type, state);
    } catch (error) {
      // Another process has taken the database over, or made the list.
      if (isRetryable(error)) await this.#status.load();
      else if (!(error instanceof DamagedSegment)) throw error;
      // Unless another process has merged what this one was reading, something is damaged.
      else if ((await this.#stateOf(shard, type, least)).list === state.list) await this.#remove(shard, type);
      return 'more';
    }
  }

  /** Makes the next list. @returns `done` if nothing is left to do */
  async #change(shard: string, type: string, { list, isComplete, written }: TypeWork): Promise<StepResult> {
    const { size, flushFrom } = SEGMENT_TUNING;
    const port = this.#segments.port(shard, { run: this.#run, transact: this.#transact, mostWritten: size });
    const { upkeep } = this.#segments;
    if (list === undefined) {
      await runAwaiting(upkeep.begin(type), port, new LongPace());
      return 'more';
    }
    const of = sql`project = ${shard} AND type = ${type}`;
    const marked = await this.#run(sql`UPDATE fhirgraph_segment_list SET busy = now() + ${`${BUSY_MS} ms`}::interval
      WHERE ${of} AND id = ${list} AND (busy IS NULL OR busy < now()) RETURNING 1`);
    if (marked.length === 0) return 'later';
    try {
      const pace = new LongPace();
      if (!isComplete) {
        await this.#untilWritersEnd();
        // A process that closes stores what it has read.
        const mostOf = (): number => (this.#isClosing ? Math.min(size, LAST_SIZE) : size);
        await runAwaiting(upkeep.build(type, mostOf), port, pace);
      } else if (written >= flushFrom || (this.#isClosing && written > 0))
        await runAwaiting(upkeep.flush(type), port, pace);
      else if (!(await runAwaiting(upkeep.merge(type), port, pace))) return 'done';
      return 'more';
    } finally {
      await this.#connections.run(sql`UPDATE fhirgraph_segment_list SET busy = NULL WHERE ${of} AND busy IS NOT NULL`);
    }
  }

  async #stateOf(shard: string, type: string, least: number): Promise<TypeWork> {
    const of = sql`project = ${shard} AND type = ${type}`;
    const [row] = await this.#run(sql`SELECT l.id, l.complete, l.busy > now(),
        (SELECT count(*) FROM (SELECT 1 FROM fhirgraph_segment_written WHERE ${of} LIMIT ${SEGMENT_TUNING.flushFrom}) w),
        (SELECT count(*) FROM (SELECT 1 FROM resource WHERE ${of} AND content IS NOT NULL LIMIT ${least}) r)
      FROM (SELECT 1) one LEFT JOIN fhirgraph_segment_list l ON ${of}`);
    const [id, complete, busy, written, resources] = row as readonly [
      string | null,
      boolean | null,
      boolean | null,
      unknown,
      unknown,
    ];
    return {
      list: id ?? undefined,
      isComplete: complete === true,
      isBusy: busy === true,
      written: Number(written),
      resources: Number(resources),
    };
  }

  /** Waits for the commits that may not have seen an empty list: those that hold `fhirgraph_writer` now. */
  async #untilWritersEnd(): Promise<void> {
    const holders = async (): Promise<ReadonlySet<string>> => {
      const rows = await this.#run(sql`SELECT DISTINCT l.virtualtransaction FROM pg_locks l
        WHERE l.relation = 'fhirgraph_writer'::regclass AND l.database = (SELECT oid FROM pg_database WHERE datname = current_database())`);
      return new Set(rows.map(([holder]) => holder as string));
    };
    const first = new Set(await holders());
    for (const end = performance.now() + MAX_WAIT_MS; first.size > 0;) {
      const now = await holders();
      for (const one of [...first]) if (!now.has(one)) first.delete(one);
      if (first.size === 0) return;
      if (performance.now() > end) throw new FhirError('unavailable', 'Commits did not end');
      await delay(POLL_MS, undefined, { signal: this.#controller.signal, ref: false });
    }
  }

  async #remove(shard: string, type: string): Promise<void> {
    await this.#transact((transaction) => removeSegments(transaction, shard, type));
  }

  /** Reads `fhirgraph_writer`, which blocks a takeover until the transaction ends. */
  readonly #transact: PortConnection['transact'] = (write) =>
    inTransaction(
      this.#connections,
      { serializable: false, attempts: 1, signal: this.#controller.signal },
      async (transaction: Transaction) => {
        const { generation } = this.#status.known;
        const isOurs = rollbackUnless(sql`(SELECT generation FROM fhirgraph_writer) = ${generation}`);
        await transaction.run(sql`SELECT ${isOurs}`);
        return write(transaction);
      },
    );
}

/** What the segments of a type need. */
interface TypeWork {
  /** The id of its list. */
  readonly list: string | undefined;
  readonly isComplete: boolean;
  readonly isBusy: boolean;
  /** Writes since, up to a limit. */
  readonly written: number;
  /** Resources, up to a limit. */
  readonly resources: number;
}

function nameOf(project: string, type: string): string {
  return JSON.stringify([project, type]);
}

/** Maximum types that are remembered. */
const MAX_NOTED = 1_000;
/** A process that writes `flushFrom` resources in less time loads data. Segments come after it, or would be merged often. */
const LOAD_MS = 1_000;
/** Writes of a process that builds all segments before it closes. */
const MIN_LOAD = 20_000;
/** How long other processes work while they close, in milliseconds. */
const LAST_MS = 3_000;
/** Resources of a segment that is built while a process closes. */
const LAST_SIZE = 8_192;
/** How long a process may work on a list alone. */
const BUSY_MS = 60_000;
/** The longest wait for commits that began before a list. */
const MAX_WAIT_MS = 60_000;
const POLL_MS = 50;
