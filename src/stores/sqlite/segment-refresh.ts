import { FhirError } from '../../fhir/error.js';
import { LOOP_TURN } from '../../platform/loop-turn.js';
import { runAwaiting } from '../ask.js';
import type { SegmentPort } from '../segments/port.js';
import { BackgroundWork, type StepResult } from '../sql/background-work.js';
import type { CallRunner } from './call-runner.js';
import type { Connection } from './connection.js';
import { storeError } from './database/errors.js';
import { isBusy } from './database/transaction.js';
import type { SegmentWork } from './segments/connection-segments.js';
import { SEGMENT_TUNING } from './rows/segment-tables.js';

/** Builds, flushes and merges the segments of a file in the turns of the event loop that calls leave. */
export class SegmentRefresh {
  readonly #connection: Connection;
  readonly #calls: CallRunner;
  readonly #background: BackgroundWork;

  constructor(connection: Connection, calls: CallRunner) {
    this.#connection = connection;
    this.#calls = calls;
    this.#background = new BackgroundWork('Building segments failed', () => this.#step(), storeError);
  }

  /** Starts the work that is due, after opening and after commits. */
  begin(): void {
    if (this.#isAllowed) this.#background.start();
  }

  /** Does all the work that is due, unless the file is locked or lost: searches work without segments. */
  async finish(): Promise<void> {
    try {
      while (this.#isAllowed && (await this.#step()) === 'more');
    } catch {
      // The next work begins with what is missing.
    }
  }

  async stop(): Promise<void> {
    await this.#background.stop();
  }

  get #isAllowed(): boolean {
    const { segments, status } = this.#connection;
    if (this.#calls.isReadonly || this.#calls.isClosed) return false;
    return this.#calls.run(undefined, () => segments.exist && status.isOurs);
  }

  async #step(): Promise<StepResult> {
    const { database, segments } = this.#connection;
    if (this.#calls.isClosed) return 'done';
    if (database.inTransaction) return 'later';
    const work = this.#calls.run(undefined, () => segments.nextWork());
    if (work === undefined) return 'done';
    try {
      const isMerged = await this.#do(work);
      if (work.kind === 'merge' && !isMerged) segments.noteMerged(work);
    } catch (error) {
      if (error instanceof HostTransaction || isBusy((error as FhirError).cause ?? error)) return 'later';
      // Another process has merged the segments that this one was reading.
      const list = this.#calls.run(undefined, () => segments.listId(work.project, work.type));
      if (list === work.list) throw error;
    }
    return 'more';
  }

  async #do({ kind, project, type }: SegmentWork): Promise<boolean> {
    const { database, segments } = this.#connection;
    // Of the host; it may be rolled back.
    const now = <Result>(work: () => Result): Result =>
      this.#calls.run(undefined, () => {
        if (database.inTransaction) throw new HostTransaction('unavailable', 'The host has a transaction open');
        return work();
      });
    // Never waits for another process's lock, because the wait would block everything else in this process.
    const write = (work: () => boolean): boolean =>
      now(() => {
        const timeout = Number(database.pragma('busy_timeout', { simple: true }));
        database.pragma('busy_timeout = 0');
        try {
          return work();
        } finally {
          database.pragma(`busy_timeout = ${timeout}`);
        }
      });
    if (kind === 'begin') return write(() => segments.begin(project, type));
    const { upkeep, port } = segments.upkeepOf(project);
    const paced: SegmentPort = {
      states: (types) => now(() => port.states(types)),
      rows: (keys) => now(() => port.rows(keys)),
      resources: (of, ids) => now(() => port.resources(of, ids)),
      resourcesAfter: (of, id, limit) => now(() => port.resourcesAfter(of, id, limit)),
      matching: (...given) => now(() => port.matching(...given)),
      write: (of, change) => write(() => port.write(of, change)),
    };
    const steps =
      kind === 'build'
        ? upkeep.build(type, SEGMENT_TUNING.size)
        : kind === 'flush'
          ? upkeep.flush(type)
          : upkeep.merge(type);
    const pace = {
      get isSpent() {
        return LOOP_TURN.isSpent;
      },
      next: () => LOOP_TURN.nextOfLong(),
    };
    return runAwaiting(steps, paced, pace);
  }
}

class HostTransaction extends FhirError {}
