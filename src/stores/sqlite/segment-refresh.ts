import { FhirError } from '../../fhir/error.js';
import { isIndexTakenOver } from '../../store/index-state.js';
import { LOOP_TURN } from '../../platform/loop-turn.js';
import { runAwaiting } from '../ask.js';
import type { SegmentPort } from '../segments/port.js';
import { BackgroundWork, type StepResult } from '../sql/background-work.js';
import type { CallRunner } from './call-runner.js';
import type { Connection } from './connection.js';
import { storeError } from './database/errors.js';
import { isBusy } from './database/transaction.js';
import type { SegmentWork } from './segments/connection-segments.js';
import type { SqliteSegmentPort } from './segments/segment-port.js';
import type { ResourceKey } from '../../store/resource-key.js';
import { SEGMENT_TUNING } from './rows/segment-tables.js';

/** Builds, flushes and merges the segments of a file in the turns of the event loop that calls leave. */
export class SegmentRefresh {
  readonly #connection: Connection;
  readonly #calls: CallRunner;
  readonly #isManual: boolean;
  readonly #ownsFile: boolean;
  readonly #background: BackgroundWork;
  /** Writes of this process, and those until the last look at what is due. */
  #written = 0;
  #looked = 0;
  #timer: NodeJS.Timeout | undefined;
  #isClosing = false;

  /** @param isManual true if the host asks for all work by {@link finish} */
  constructor(
    connection: Connection,
    calls: CallRunner,
    { isManual, ownsFile }: { readonly isManual: boolean; readonly ownsFile: boolean },
  ) {
    this.#connection = connection;
    this.#calls = calls;
    this.#isManual = isManual;
    this.#ownsFile = ownsFile;
    this.#background = new BackgroundWork('Building segments failed', () => this.#step(this.#isWriting), storeError);
  }

  /** Starts the work that is due: after opening, and after what leaves a type without its segments. */
  begin(): void {
    if (!this.#isManual && !this.#isClosing && this.#isAllowed) this.#background.start();
  }

  /** PERF: a look at what is due takes longer than a small commit. */
  noteWrites(count: number): void {
    this.#written += count;
    const { flushFrom, flushBusy } = SEGMENT_TUNING;
    if (this.#written - this.#looked >= flushBusy) this.#look();
    else if (this.#written - this.#looked >= flushFrom) this.#lookSoon();
  }

  #look(): void {
    this.#looked = this.#written;
    this.begin();
  }

  /** Looks as soon as nothing is written for a moment. */
  #lookSoon(): void {
    if (this.#timer !== undefined || this.#isClosing) return;
    const before = this.#written;
    this.#timer = setTimeout(() => {
      this.#timer = undefined;
      if (this.#calls.isClosed) return;
      if (this.#written === before) this.#look();
      else this.#lookSoon();
    }, MOMENT_MS).unref();
  }

  /** Whether more is written right now. */
  get #isWriting(): boolean {
    return this.#timer !== undefined;
  }

  /** Does all the work that is due, unless the file is locked or lost: searches work without segments. */
  async finish(): Promise<void> {
    try {
      while (this.#isAllowed && (await this.#step(false)) === 'more');
    } catch {
      // The next work begins with what is missing.
    }
  }

  /**
   * Ends the work before the store closes. After a load, nothing is left to do. A process that had no segments for its
   * searches leaves one behind, so that many short processes together build them all.
   */
  async close(): Promise<void> {
    const isWanted = this.#ownsFile && !this.#isManual;
    const isLoaded = isWanted && this.#written >= SEGMENT_TUNING.flushFrom;
    if (isLoaded) await this.finish();
    const { isRunning } = this.#background;
    this.#isClosing = true;
    clearTimeout(this.#timer);
    await this.#background.stop();
    if (isLoaded || isRunning || !isWanted || !this.#connection.segments.isMissed) return;
    try {
      // A list begins without a segment.
      for (let steps = 0; steps < 2 && this.#isAllowed; steps++) await this.#step(false);
    } catch {
      // The file is locked or lost.
    }
  }

  get #isAllowed(): boolean {
    if (this.#calls.isReadonly || this.#calls.isClosed) return false;
    return this.#calls.run(undefined, () => this.#connection.status.isOurs);
  }

  async #step(isWriting: boolean): Promise<StepResult> {
    const { database, segments } = this.#connection;
    if (this.#calls.isClosed) return 'done';
    if (database.inTransaction) return 'later';
    const work = this.#calls.run(undefined, () => segments.nextWork(isWriting));
    if (work === undefined) return 'done';
    try {
      const isMerged = await this.#do(work);
      if (work.kind === 'merge' && !isMerged) segments.noteMerged(work);
    } catch (error) {
      if (error instanceof HostTransaction || isBusy((error as FhirError).cause ?? error)) return 'later';
      if (error === STOPPED || (error instanceof FhirError && isIndexTakenOver(error))) return 'done';
      // Another process has merged the segments that this one was reading.
      const list = this.#calls.run(undefined, () => segments.listId(work.project, work.type));
      if (list === work.list && !segments.isDamaged(error, work)) throw error;
    }
    return 'more';
  }

  async #do({ kind, project, type, list }: SegmentWork): Promise<boolean> {
    const { segments } = this.#connection;
    if (kind === 'begin') return this.#write(() => segments.begin(project, type));
    if (kind === 'drop') return this.#write(() => segments.drop({ project, type, list }));
    const { upkeep, port } = segments.upkeepOf(project);
    const steps =
      kind === 'build'
        ? upkeep.build(type, () => (this.#isClosing ? SMALL : SEGMENT_TUNING.size))
        : kind === 'flush'
          ? upkeep.flush(type)
          : upkeep.merge(type);
    return runAwaiting(steps, this.#paced(port, kind === 'merge'), PACE);
  }

  /**
   * Makes the segments that an erasure of resources needs, before its transaction. Without them, the transaction takes
   * longer.
   *
   * @returns forgets them, after the transaction
   */
  async prepareErase(keys: readonly ResourceKey[]): Promise<() => void> {
    const kept: (() => void)[] = [];
    for (const same of Map.groupBy(keys, ({ project, type }) => JSON.stringify([project, type])).values()) {
      const { project, type } = same[0]!;
      const { segments } = this.#connection;
      const { upkeep, port } = segments.upkeepOf(project);
      const ids = same.map(({ id }) => id);
      try {
        const prepared = await runAwaiting(upkeep.prepareErase(type, ids), this.#paced(port, false), PACE);
        kept.push(segments.keepPrepared(same, prepared));
      } catch {
        // The file is locked, or a segment is damaged, or another process has replaced it.
      }
    }
    return () => kept.forEach((forget) => forget());
  }

  /** The port between turns of the event loop. @param mayStop whether the work ends when the store closes */
  #paced(port: SqliteSegmentPort, mayStop: boolean): SegmentPort {
    const now = <Result>(work: () => Result): Result => {
      if (mayStop && this.#isClosing) throw STOPPED;
      return this.#now(work);
    };
    return {
      states: (types) => now(() => port.states(types)),
      rows: (keys) => now(() => port.rows(keys)),
      resources: (type, ids) => now(() => port.resources(type, ids)),
      resourcesAfter: (type, id, limit) => now(() => port.resourcesAfter(type, id, limit)),
      matching: (...given) => now(() => port.matching(...given)),
      write: (type, change) => this.#write(() => port.write(type, change)),
    };
  }

  #now<Result>(work: () => Result): Result {
    return this.#calls.run(undefined, () => {
      // Of the host; it may be rolled back.
      if (this.#connection.database.inTransaction) {
        throw new HostTransaction('unavailable', 'The host has a transaction open');
      }
      return work();
    });
  }

  /** Never waits for another process's lock, because the wait would block everything else in this process. */
  #write(work: () => boolean): boolean {
    return this.#now(() => {
      const { database } = this.#connection;
      const timeout = Number(database.pragma('busy_timeout', { simple: true }));
      database.pragma('busy_timeout = 0');
      try {
        return work();
      } finally {
        database.pragma(`busy_timeout = ${timeout}`);
      }
    });
  }
}

const PACE = {
  get isSpent(): boolean {
    return LOOP_TURN.isSpent;
  },
  next: (): Promise<void> => LOOP_TURN.nextOfLong(),
};

class HostTransaction extends FhirError {}

/** Ends a merge, which may take a second, when the store closes. */
const STOPPED = new Error('The store closes');

/** After this time without a write, the process is not busy with writes. In milliseconds. */
const MOMENT_MS = 200;

/** Resources of a segment that is built while the store closes: some tenths of a second. */
const SMALL = 4_096;
