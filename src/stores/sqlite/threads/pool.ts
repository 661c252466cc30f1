import { inDoubt } from '../../../fhir/error.js';
import { storeClosed } from '../../../store/guards.js';
import type { CallOptions } from '../../../store/call-options.js';
import type { ThreadCall, ThreadData } from './protocol.js';
import { noParts, Task } from './task.js';
import { Thread, threadDied, type ThreadOwner } from './thread.js';

/** Thrown by a pool whose threads cannot start. */
export class NoThreads extends Error {}

/** Makes the data that a thread starts with. Only called when a thread starts. */
export type NewThreadData = () => Omit<ThreadData, 'calls'>;

/** Threads of one kind, started when they are needed. Tasks wait in the order of their arrival. */
export class ThreadPool implements ThreadOwner {
  readonly #threads = new Set<Thread>();
  readonly #idle: Thread[] = [];
  readonly #queue: Task[] = [];
  /** Abandoned threads that are still working. */
  readonly #givenUp = new Set<Thread>();
  #text: string | undefined;
  #failure: NoThreads | undefined;
  #isClosed = false;
  #whenIdle: (() => void)[] = [];
  #between: (() => void)[] = [];

  /** @param size maximum number of threads at a time */
  constructor(
    private readonly program: () => Promise<string>,
    private readonly data: NewThreadData,
    private readonly size: number,
  ) {}

  /** True if a thread exists or is starting. */
  get hasThread(): boolean {
    return this.#threads.size > 0;
  }

  /** True if some task is running or waiting. */
  get isBusy(): boolean {
    return this.#queue.some((task) => !task.isSettled) || [...this.#threads].some((thread) => !thread.isIdle);
  }

  /** Runs work in this thread while no thread of the pool is working, before the waiting tasks. */
  between(work: () => void): void {
    this.#between.push(work);
    this.#runBetween();
  }

  /**
   * Runs a call in a thread.
   *
   * @param parts sent before the call
   * @throws NoThreads - no thread can start
   */
  run<Result>(call: ThreadCall, options: CallOptions | undefined, parts: Task['parts'] = noParts): Promise<Result> {
    const task = new Task(call, parts, options);
    if (this.#failure !== undefined) task.reject(this.#failure);
    else if (this.#isClosed) task.reject(storeClosed());
    else {
      this.#queue.push(task);
      void this.#dispatch();
    }
    return task.promise as Promise<Result>;
  }

  /** Ends all idle threads, so that the next call gets a connection with empty caches. */
  async renew(): Promise<void> {
    const idle = this.#idle.splice(0);
    for (const thread of idle) this.#threads.delete(thread);
    await Promise.all(idle.map((thread) => thread.end()));
  }

  /** Finishes all tasks, and ends all threads. */
  async retire(): Promise<void> {
    while (this.isBusy) await new Promise<void>((resolve) => this.#whenIdle.push(resolve));
    await this.renew();
  }

  /** Finishes tasks that write, and rejects tasks that read. */
  async close(): Promise<void> {
    this.#isClosed = true;
    for (const task of this.#queue) if (!task.writes) task.reject(storeClosed());
    for (const thread of this.#threads) thread.cancelRead(storeClosed());
    await this.retire();
  }

  onIdle(thread: Thread): void {
    this.#idle.push(thread);
    void this.#dispatch();
  }

  onSent(): void {
    void this.#dispatch();
  }

  onGivenUp(thread: Thread): void {
    this.#threads.delete(thread);
    this.#givenUp.add(thread);
    void this.#dispatch();
  }

  onEnd(thread: Thread, tasks: readonly Task[], started: boolean, cause: unknown): void {
    this.#threads.delete(thread);
    this.#givenUp.delete(thread);
    const position = this.#idle.indexOf(thread);
    if (position >= 0) this.#idle.splice(position, 1);
    this.#queue.unshift(...tasks.filter((task) => this.#goesOn(task, started, cause)));
    void this.#dispatch();
  }

  /** Whether the task of a dead thread is repeated in another one; otherwise it is rejected. */
  #goesOn(task: Task, started: boolean, cause: unknown): boolean {
    if (!started) {
      this.#fail(cause);
      task.reject(this.#failure);
      return false;
    }
    task.deaths += 1;
    task.onCancel = undefined;
    // Reads can be repeated; the outcome of a write is unknown.
    if (task.writes && task.isSent) task.reject(inDoubt(threadDied(cause)));
    else if (task.deaths > 1) task.reject(threadDied(cause));
    return !task.isSettled;
  }

  #fail(cause: unknown): void {
    this.#failure ??= new NoThreads('The threads of the SQLite store cannot start', { cause });
    for (const task of this.#queue.splice(0)) task.reject(this.#failure);
  }

  async #dispatch(): Promise<void> {
    try {
      this.#text ??= await this.program();
    } catch (cause) {
      this.#fail(cause);
    }
    this.#runBetween();
    while (this.#queue.length > 0) {
      if (this.#queue[0]!.isSettled) {
        this.#queue.shift();
        continue;
      }
      const thread = this.#idle.pop() ?? this.#start(this.#text!) ?? this.#receiverOf(this.#queue[0]!);
      if (thread === undefined) break;
      thread.take(this.#queue.shift()!);
    }
    if (this.isBusy) return;
    for (const resolve of this.#whenIdle.splice(0)) resolve();
  }

  #runBetween(): void {
    if ([...this.#threads].every((thread) => thread.isIdle)) for (const work of this.#between.splice(0)) work();
  }

  /** The thread that can receive a commit while it ends the one before. */
  #receiverOf({ call }: Task): Thread | undefined {
    if (call.kind !== 'commit' || this.#between.length > 0) return undefined;
    return [...this.#threads].find((thread) => thread.canReceive);
  }

  #start(text: string): Thread | undefined {
    const mostAtWork = 2 * this.size;
    if (this.#threads.size >= this.size || this.#threads.size + this.#givenUp.size >= mostAtWork) return undefined;
    try {
      const thread = new Thread(text, this.data(), this);
      this.#threads.add(thread);
      return thread;
    } catch (cause) {
      this.#fail(cause);
      return undefined;
    }
  }
}
