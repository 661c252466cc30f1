import { LOOP_TURN } from '../../platform/pace.js';
import { isIndexTakenOver } from '../../store/index-state.js';
import type { ResourceKey } from '../../store/resource-key.js';
import { FhirError } from '../../fhir/error.js';
import { type Ask, runAwaiting } from '../ask.js';
import type { SegmentPort } from '../segments/port.js';
import type { Progress, SegmentUpkeep } from '../segments/upkeep.js';
import type { StepResult } from '../sql/background-work.js';
import type { DueType, RefreshPort } from '../sql/segment-refresh.js';
import type { CallRunner } from './call-runner.js';
import type { Connection } from './connection.js';
import { storeError } from './database/errors.js';
import { isBusy, withoutWaiting } from './database/transaction.js';

/** Changes the segments of a file in the turns of the event loop that calls leave. */
export class SqliteRefreshPort implements RefreshPort {
  readonly storeError = storeError;

  constructor(
    private readonly connection: Connection,
    private readonly calls: CallRunner,
  ) {}

  get upkeep(): SegmentUpkeep {
    return this.connection.segments.upkeep;
  }

  progressOf(due: DueType, mostWritten: number): Progress | 'later' | 'done' {
    if (this.calls.isReadonly || this.calls.isClosed) return 'done';
    if (this.connection.database.inTransaction) return 'later';
    return this.calls.run(undefined, () => this.connection.segments.progressOf(due, mostWritten) ?? 'done');
  }

  run({ project }: DueType, _: Progress, steps: Ask<SegmentPort, StepResult>, check: () => void): Promise<StepResult> {
    return this.#inTurns(project, steps, check);
  }

  drop({ project, type }: DueType, list: string): void {
    this.#write(() => this.connection.segments.drop(project, type, list));
  }

  meaningOf(error: unknown): StepResult | undefined {
    if (error instanceof HostTransaction || isBusy((error as FhirError).cause ?? error)) return 'later';
    return error instanceof FhirError && isIndexTakenOver(error) ? 'done' : undefined;
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
      const ids = same.map(({ id }) => id);
      try {
        const prepared = await this.#inTurns(project, this.upkeep.prepareErase(type, ids));
        kept.push(this.connection.segments.keepPrepared(same, prepared));
      } catch {
        // The file is locked, or a segment is damaged, or another process has replaced it.
      }
    }
    return () => kept.forEach((forget) => forget());
  }

  #inTurns<Result>(project: string, steps: Ask<SegmentPort, Result>, check?: () => void): Promise<Result> {
    const port = this.connection.segments.upkeepPort(project);
    const now = <Answer>(work: () => Answer): Answer => this.#now(work);
    const inTurns: SegmentPort = {
      states: (types) => now(() => port.states(types)),
      rows: (keys) => now(() => port.rows(keys)),
      resources: (type, ids) => now(() => port.resources(type, ids)),
      resourcesAfter: (type, id, limit) => now(() => port.resourcesAfter(type, id, limit)),
      matching: (...given) => now(() => port.matching(...given)),
      write: (type, change) => this.#write(() => port.write(type, change)),
    };
    return runAwaiting(steps, inTurns, PACE, check);
  }

  #now<Result>(work: () => Result): Result {
    return this.calls.run(undefined, () => {
      // Of the host; it may be rolled back.
      if (this.connection.database.inTransaction) {
        throw new HostTransaction('unavailable', 'The host has a transaction open');
      }
      return work();
    });
  }

  #write<Result>(work: () => Result): Result {
    return this.#now(() => withoutWaiting(this.connection.database, work));
  }
}

const PACE = {
  get isSpent(): boolean {
    return LOOP_TURN.isSpent;
  },
  next: (): Promise<void> => LOOP_TURN.nextOfLong(),
};

class HostTransaction extends FhirError {}

/** So many writes become a segment while data is loaded: it makes few segments, which are merged once. */
export const FLUSH_LOADING = 8_192;
