import type { CallOptions } from '../../store/call-options.js';
import type { Write } from '../../store/write.js';
import type { FhirError } from '../../fhir/error.js';
import type { Committed, LongCommitted } from '../sql/commit-results.js';
import { TooLong } from './database/guard.js';
import { noParts, Task } from './threads/task.js';

/** Where the commits of a group run. */
export interface CommitRunner {
  /** True while the writing thread is busy. */
  readonly isWriting: boolean;
  /** True if other work is due before the next commit. */
  readonly isTurnSpent: boolean;
  /** Runs work in the event loop before the writing thread takes its next task. */
  betweenWrites(work: () => void): void;
  /** Runs commits in one transaction in the event loop. If it throws or gives up, none of them has taken effect. */
  together(commits: readonly (readonly Write[])[]): readonly Committed[] | TooLong;
  /** Runs a commit in a transaction of its own: in the event loop, or in the writing thread. */
  alone(writes: readonly Write[], options: CallOptions | undefined): Promise<LongCommitted>;
  inThread(writes: readonly Write[], options: CallOptions | undefined): Promise<LongCommitted>;
}

interface WaitingCommit {
  readonly writes: readonly Write[];
  readonly options: CallOptions | undefined;
  readonly task: Task;
  /** True after a group with this commit failed or took too long. */
  isAlone: boolean;
}

/**
 * Runs small commits that arrive at the same time in one transaction, which is synced once. Each resolves after the
 * sync.
 *
 * If one of them fails, the transaction is rolled back, and each runs in a transaction of its own, in turns with other
 * work. While a thread is writing, they run between its tasks: they wait for one slice of an import, or for two if the
 * thread has begun to receive the next one, and not for the whole import.
 */
export class CommitGroups {
  #waiting: WaitingCommit[] = [];
  #isScheduled = false;
  #isBetween = false;
  /** Maximum writes of a group: lowered after a group that took too long for the event loop. */
  #most = MAX_WRITES;

  constructor(private readonly runner: CommitRunner) {}

  commit(writes: readonly Write[], options: CallOptions | undefined): Promise<LongCommitted> {
    // While it waits, the commit ends at its deadline.
    const task = new Task({ kind: 'commit', now: 0 }, noParts, options);
    this.#waiting.push({ writes, options, task, isAlone: false });
    this.#schedule();
    return task.promise as Promise<LongCommitted>;
  }

  /** Hands the waiting commits to the writing thread, before the store closes. */
  finish(): void {
    for (const one of this.#waiting.splice(0)) {
      if (!one.task.isSettled) this.#settle(one, this.runner.inThread(one.writes, one.options));
    }
  }

  /** Runs after this turn of the event loop, so that the requests that arrived in it commit together. */
  #schedule(): void {
    if (this.#isScheduled || this.#isBetween || this.#waiting.length === 0) return;
    this.#isScheduled = true;
    setImmediate(() => {
      this.#isScheduled = false;
      if (!this.runner.isWriting) return this.#run();
      this.#isBetween = true;
      this.runner.betweenWrites(() => {
        this.#isBetween = false;
        this.#run();
      });
    });
  }

  #run(): void {
    let isBrief = true;
    do {
      const group = this.#take(this.#most);
      if (group.length > 1) isBrief = this.#runTogether(group);
      else for (const one of group) this.#runAlone(one);
    } while (isBrief && this.#waiting[0]?.isAlone === true && !this.runner.isTurnSpent);
    this.#schedule();
  }

  /** @returns false if the group took too long */
  #runTogether(group: readonly WaitingCommit[]): boolean {
    let done: readonly Committed[] | TooLong;
    try {
      done = this.runner.together(group.map(({ writes }) => writes));
    } catch (error) {
      // An unknown outcome is that of all commits; any other error comes from one of them.
      if ((error as FhirError).details?.['unknown'] === true) for (const { task } of group) task.reject(error);
      else this.#separate(group);
      return true;
    }
    if (done instanceof TooLong) {
      this.#most = Math.max(MIN_WRITES, Math.floor(this.#most / 2));
      this.#separate(group);
      return false;
    }
    this.#most = Math.min(MAX_WRITES, this.#most + 1);
    for (const [index, { task }] of group.entries()) task.resolve(done[index]);
    return true;
  }

  /** Until it runs, each commit still ends at its deadline. */
  #separate(group: readonly WaitingCommit[]): void {
    for (const one of group) one.isAlone = true;
    this.#waiting.unshift(...group);
  }

  #runAlone(one: WaitingCommit): void {
    this.#settle(one, this.runner.alone(one.writes, one.options));
  }

  #settle({ task }: WaitingCommit, done: Promise<LongCommitted>): void {
    // From here on, only the work ends the task.
    task.onCancel = nothing;
    done.then(
      (committed) => task.resolve(committed),
      (error: unknown) => task.reject(error),
    );
  }

  /** The first waiting commits: one, or several with at most this many writes together. */
  #take(most: number): WaitingCommit[] {
    const group: WaitingCommit[] = [];
    let size = 0;
    this.#waiting = this.#waiting.filter((one) => !one.task.isSettled);
    for (const one of this.#waiting) {
      size += one.writes.length;
      if (group.length > 0 && (one.isAlone || size > most)) break;
      group.push(one);
      if (one.isAlone) break;
    }
    this.#waiting = this.#waiting.slice(group.length);
    return group;
  }
}

/** Maximum writes of a group: some milliseconds of the event loop. */
const MAX_WRITES = 32;
const MIN_WRITES = 4;

/** PERF (import-rate): V8 allocates a function literal assigned to a property in old space, where it keeps its commit alive. */
const nothing = (): void => undefined;
