import type { FhirError } from '../../fhir/error.js';
import type { Change } from '../../store/write.js';
import type { Answer, Ask } from '../ask.js';
import type { SegmentPort } from '../segments/port.js';
import { DamagedSegment } from '../segments/segment-rows.js';
import { type Progress, SEGMENT_TUNING, type SegmentUpkeep } from '../segments/upkeep.js';
import { BackgroundWork, type StepResult } from './background-work.js';

/** Notes which types need work. */
export interface SegmentNeeds {
  /** Notes types whose segments a search found missing or outdated. @param searched the type whose search led to them */
  stale(project: string, types: readonly string[], searched: string): void;
  /** Notes types of which some segment is damaged. */
  damaged(project: string, types: readonly string[]): void;
}

/** Of a store that only reads. */
export const NO_WORK: SegmentNeeds = { stale: () => undefined, damaged: () => undefined };

/** A type of a project whose segments may need work. */
export interface DueType {
  readonly project: string;
  readonly type: string;
  /** With fewer resources, nothing is begun. */
  readonly least: number;
}

/** What a store provides for the upkeep of its segments. @remarks `signal` is aborted late in the close of the store */
export interface RefreshPort {
  readonly upkeep: SegmentUpkeep;
  /**
   * @param mostWritten the limit of {@link Progress.written}
   * @returns `later` while the list cannot be changed; `done` if this process must not change it
   */
  progressOf(due: DueType, mostWritten: number, signal: AbortSignal): Answer<Progress | 'later' | 'done'>;
  /**
   * Runs a step on a list in turns of the event loop.
   *
   * @param check as of `runAwaiting`
   * @returns `later` if another process works on the list
   */
  run(
    due: DueType,
    progress: Progress,
    steps: Ask<SegmentPort, StepResult>,
    check: () => void,
    signal: AbortSignal,
  ): Promise<StepResult>;
  /** Removes a list, unless another one has replaced it. */
  drop(due: DueType, list: string, signal: AbortSignal): Answer<unknown>;
  /** What the error of a step means; undefined if it is a failure. */
  meaningOf(error: unknown): Answer<StepResult | undefined>;
  storeError(error: unknown): FhirError;
}

/**
 * Keeps the segments of the types up to date that this process writes, or that its searches lack, in the background of its
 * calls. Only the comparison of lists keeps segments right; all else here decides when the work is done.
 */
export class SegmentRefresh implements SegmentNeeds {
  readonly #background: BackgroundWork;
  readonly #due = new Map<string, DueType>();
  readonly #damaged = new Set<string>();
  /** The writes of this process to each type since the last look at its segments. */
  readonly #written = new Map<string, number>();
  readonly #controller = new AbortController();
  #count = 0;
  /** When the first of the last `minSize` writes came, on the clock of `performance.now()`. */
  #since = 0;
  /** Until then, this process seems to load data. */
  #loadsUntil = 0;
  /** Whether writes or searches of this process need the work. */
  #isWanted = false;
  /** When the work of a store that closes ends; undefined while it is open. */
  #end: number | undefined;

  /**
   * @param flushLoading with so many writes, they become a segment while data is loaded. All else comes after the load, or
   * segments would be merged often
   */
  constructor(
    private readonly port: RefreshPort,
    private readonly flushLoading: number,
  ) {
    this.#background = new BackgroundWork('Building segments failed', () => this.#step(), port.storeError);
  }

  /** Notes the changes of a commit. */
  wrote(changes: readonly Change[]): void {
    const { minSize } = SEGMENT_TUNING;
    const now = performance.now();
    for (const { key } of changes) {
      const name = nameOf(key);
      const written = (this.#written.get(name) ?? 0) + 1;
      if (this.#written.size >= MAX_NOTED) this.#written.clear();
      this.#written.set(name, written);
      if (written % minSize === 0) this.#need({ project: key.project, type: key.type, least: minSize });
      if (this.#count++ % minSize === 0) this.#since = now;
      if (this.#count % minSize === 0 && now - this.#since < LOAD_MS) this.#loadsUntil = now + LOAD_MS;
    }
  }

  stale(project: string, types: readonly string[], searched: string): void {
    // Searches of a type without a list begin with that one.
    const least = types.includes(searched) ? SEGMENT_TUNING.minSize : 0;
    for (const type of types) this.#need({ project, type, least });
  }

  damaged(project: string, types: readonly string[]): void {
    for (const type of types) {
      this.#damaged.add(nameOf({ project, type }));
      this.#need({ project, type, least: 0 });
    }
  }

  /** Notes types that may need work, though not for this process. */
  note(types: Iterable<Omit<DueType, 'least'>>): void {
    for (const one of types) this.#note({ ...one, least: SEGMENT_TUNING.minSize });
  }

  #need(due: DueType): void {
    this.#isWanted = true;
    this.#note(due);
  }

  #note(due: DueType): void {
    if (this.#due.size >= MAX_NOTED || this.#end !== undefined) return;
    this.#due.set(nameOf(due), due);
    this.#background.start();
  }

  /** Does all the work that is due now, unless that fails: searches work without segments. */
  async finish(): Promise<void> {
    this.#loadsUntil = 0;
    await this.#steps((result) => result !== 'more');
  }

  /**
   * Ends the work: all of what is due after a load, and otherwise a part of it, so that a process that lives only as long as
   * one search leaves something behind.
   */
  async close(): Promise<void> {
    const isLoaded = this.#count >= MIN_LOAD;
    if (isLoaded) {
      const types = [...this.#written.keys()].map((name) => JSON.parse(name) as [string, string]);
      this.note(types.map(([project, type]) => ({ project, type })));
    }
    const most = this.#isWanted ? LAST_MS : 0;
    this.#end = isLoaded ? Infinity : performance.now() + most;
    const timer = isLoaded ? undefined : setTimeout(() => this.#controller.abort(), 2 * most);
    await this.#background.stop();
    await this.#steps((result) => result === 'done');
    clearTimeout(timer);
  }

  /** Does steps until one is the last, or each type that is due has failed once: one that fails moves behind the others. */
  async #steps(isLast: (result: StepResult) => boolean): Promise<void> {
    for (let failures = 0; failures <= this.#due.size && !this.#isOver;) {
      try {
        if (isLast(await this.#step())) return;
      } catch (error) {
        if (this.port.storeError(error).code === 'unavailable') return;
        failures += 1;
      }
    }
  }

  get #isLoading(): boolean {
    return this.#end === undefined && performance.now() < this.#loadsUntil;
  }

  async #step(): Promise<StepResult> {
    const isLoading = this.#isLoading;
    for (const [name, due] of this.#due) {
      if (isLoading && (this.#written.get(name) ?? 0) < this.flushLoading) continue;
      const result = await this.#work(due, isLoading ? this.flushLoading : undefined).catch((error: unknown) => {
        // The next attempt begins with another type.
        if (this.#due.get(name) === due) {
          this.#due.delete(name);
          this.#due.set(name, due);
        }
        throw error;
      });
      if (result !== 'more') this.#written.delete(name);
      if (isLoading && result === 'done') continue;
      // It may be due again since.
      const isSame = this.#due.get(name) === due;
      if (isSame) this.#due.delete(name);
      if (result === 'done') continue;
      // The others come first. A store that closes waits for no other process.
      if (isSame && !(result === 'later' && this.#end !== undefined)) this.#due.set(name, due);
      return result;
    }
    return isLoading && this.#due.size > 0 ? 'later' : 'done';
  }

  /** @param flushLoading undefined unless data is loaded */
  async #work(due: DueType, flushLoading: number | undefined): Promise<StepResult> {
    const { signal } = this.#controller;
    const flushFrom = flushLoading ?? (this.#end === undefined ? SEGMENT_TUNING.minSize : 1);
    const mostOf = (): number => (this.#isOver ? 0 : SEGMENT_TUNING.size);
    const rules = { least: due.least, flushFrom, merges: flushLoading === undefined, mostOf };
    try {
      const progress = await this.port.progressOf(due, flushFrom, signal);
      if (typeof progress === 'string') return progress;
      const steps = this.port.upkeep.next(due.type, progress, rules);
      const result = this.#damaged.delete(nameOf(due)) ? 'damaged' : await this.#run(due, progress, steps);
      if (result !== 'damaged') return result;
      // Unless another process has merged what this one was reading.
      if (progress.list !== undefined) await this.port.drop(due, progress.list, signal);
      return 'more';
    } catch (error) {
      const meaning = await this.port.meaningOf(error);
      if (meaning === undefined) throw error;
      return meaning;
    }
  }

  async #run(due: DueType, progress: Progress, steps: Ask<SegmentPort, StepResult>): Promise<StepResult | 'damaged'> {
    const check = (): void => {
      // What was built is stored; other steps are begun again.
      if (progress.isComplete && this.#isOver) throw STOPPED;
    };
    try {
      return await this.port.run(due, progress, steps, check, this.#controller.signal);
    } catch (error) {
      if (error === STOPPED) return 'done';
      if (error instanceof DamagedSegment) return 'damaged';
      throw error;
    }
  }

  get #isOver(): boolean {
    return this.#end !== undefined && performance.now() >= this.#end;
  }
}

function nameOf({ project, type }: Omit<DueType, 'least'>): string {
  return JSON.stringify([project, type]);
}

/** Ends a step when the time of a store that closes is over. */
const STOPPED = new Error('The store closes');

/** Maximum types that are remembered. */
const MAX_NOTED = 1_000;
/** A process that writes `minSize` resources in less time loads data. The load has ended when it wrote less for that time. */
const LOAD_MS = 500;
/** Writes of a process that does all the work before it closes. */
const MIN_LOAD = 20_000;
/** How long other processes work while they close, in milliseconds. */
const LAST_MS = 2_000;
