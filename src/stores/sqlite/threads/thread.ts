import type { Worker } from 'node:worker_threads';
import { FhirError, inDoubt } from '../../../fhir/error.js';
import { CallState } from './call-state.js';
import { sizeOf } from './made-ahead.js';
import type { Answer, Request, ThreadData } from './protocol.js';
import { receiveError } from './sent-error.js';
import type { Task } from './task.js';
import { THREAD_TUNING } from '../database/tuning.js';

/** The reports of a thread to its pool. */
export interface ThreadOwner {
  /** The thread can take a task. */
  onIdle(thread: Thread): void;
  /** The whole task of the thread has been sent: see {@link Thread.canReceive}. */
  onSent(): void;
  /** The thread takes no more tasks, but its connection is still working. */
  onGivenUp(thread: Thread): void;
  /** The thread has ended. @param tasks its unfinished tasks, in order @param started false if it never answered */
  onEnd(thread: Thread, tasks: readonly Task[], started: boolean, cause: unknown): void;
}

/** A task of a thread, and the number of its call. */
interface Taken {
  readonly task: Task;
  readonly id: number;
  /** Runs out when the thread should have ended the task. */
  timer: NodeJS.Timeout | undefined;
}

/**
 * One worker thread with a connection of its own; it works on one task at a time.
 *
 * While it ends a commit, it receives the next one, so that it continues before the event loop learns of the end.
 * Until it begins the next commit, that can still be cancelled, or moved to another thread: see {@link CallState}.
 */
export class Thread {
  readonly #worker: Worker;
  readonly #calls: CallState;
  /** The task that it works on. */
  #first: Taken | undefined;
  /** The commit after that task. */
  #second: Taken | undefined;
  /** Continues with the second task, which has become the first. */
  #goOn: (() => void) | undefined;
  #lastId = 0;
  #started = false;
  #hasEnded = false;
  #cause: unknown;

  constructor(
    program: string,
    data: Omit<ThreadData, 'calls'>,
    private readonly owner: ThreadOwner,
  ) {
    const workerData: ThreadData = { ...data, calls: CallState.newMemory() };
    this.#calls = new CallState(workerData.calls);
    // The thread gets no loaders and no variables of the host. PERF (import-rate): not imported, because that takes 1 ms, and most
    // processes need no thread soon after their start.
    const { Worker } = process.getBuiltinModule('node:worker_threads');
    this.#worker = new Worker(program, { eval: true, workerData, execArgv: [], env: {}, name: 'fhirgraph' });
    this.#worker.unref();
    this.#worker.on('message', (answer: Answer) => this.#onAnswer(answer));
    this.#worker.on('error', (error) => (this.#cause = error));
    this.#worker.on('messageerror', (error) => (this.#cause = error));
    this.#worker.on('exit', () => this.#onExit());
  }

  get isIdle(): boolean {
    return this.#first === undefined;
  }

  /** True if it can take a commit before it is idle. */
  get canReceive(): boolean {
    return this.#first?.task.isSent === true && this.#second === undefined;
  }

  /** Works on a task, and keeps the process alive until it ends. */
  take(task: Task): void {
    const taken: Taken = { task, id: (this.#lastId += 1), timer: undefined };
    if (this.#first === undefined) this.#first = taken;
    else this.#second = taken;
    this.#worker.ref();
    // PERF (import-rate): V8 allocates a function literal assigned to a property in old space, where it keeps its writes alive.
    const cancel = (): void => this.#cancel(taken);
    task.onCancel = cancel;
    void this.#send(taken);
  }

  /** Ends the running call if it only reads. */
  cancelRead(reason: FhirError): void {
    const task = this.#first?.task;
    if (task?.writes === false) task.cancel(reason);
  }

  /** Closes the connection and ends the thread, which must be idle. */
  async end(): Promise<void> {
    this.#worker.ref();
    this.#post('end');
    if (this.#hasEnded) return;
    const timer = setTimeout(() => void this.#worker.terminate(), END_MS);
    await new Promise((resolve) => this.#worker.once('exit', resolve));
    clearTimeout(timer);
  }

  async #send(taken: Taken): Promise<void> {
    const { task, id } = taken;
    try {
      let size = 0;
      for await (const part of task.parts()) {
        size += sizeOf(part);
        if (size > THREAD_TUNING.ahead && this.#second === taken) await this.#untilFirst();
        if (task.isSettled) break;
        this.#post({ id, left: task.left, part });
      }
    } catch (error) {
      task.reject(error);
    }
    if (this.#first !== taken && this.#second !== taken) return;
    // If the task has ended, the thread undoes the work on its parts.
    const call = task.isSettled ? ({ kind: 'nothing' } as const) : task.call;
    task.isSent = true;
    this.#post({ id, left: task.left, call });
    this.owner.onSent();
  }

  /** Settles when the task before is over; never if the thread ends before. */
  #untilFirst(): Promise<void> {
    return new Promise((resolve) => (this.#goOn = resolve));
  }

  #post(request: Request): void {
    this.#worker.postMessage(request);
  }

  #onAnswer(answer: Answer): void {
    if (answer === 'ready') {
      this.#started = true;
      return;
    }
    const task = this.#release();
    if (task === undefined) return;
    if ('result' in answer) task.resolve(answer.result);
    // A thread knows that its call was cancelled, but not why.
    else if (this.#calls.isCancelled(answer.id) && answer.error.code === 'aborted') {
      task.reject(task.ending());
    } else task.reject(receiveError(answer.error));
    if (this.isIdle) this.owner.onIdle(this);
    else if (this.canReceive) this.owner.onSent();
  }

  /** Removes the first task; the second takes its place. */
  #release(): Task | undefined {
    const task = this.#first?.task;
    clearTimeout(this.#first?.timer);
    this.#first = this.#second;
    this.#second = undefined;
    if (this.#first === undefined) this.#worker.unref();
    this.#goOn?.();
    this.#goOn = undefined;
    return task;
  }

  /** Asks the thread to end its task, and abandons the thread if it does not. */
  #cancel(taken: Taken): void {
    const { task, id } = taken;
    this.#calls.cancel(id);
    if (!task.isSent || (task.writes && !this.#calls.hasBegun(id))) {
      task.reject(task.ending());
      return;
    }
    clearTimeout(taken.timer);
    taken.timer = setTimeout(() => this.#giveUp(taken), THREAD_TUNING.graceMs);
  }

  #giveUp({ task }: Taken): void {
    if (task.writes) {
      // A thread that writes may be waiting for the disk, so the outcome is unknown.
      task.reject(inDoubt(task.ending()));
      return;
    }
    this.#release();
    task.reject(task.ending());
    this.owner.onGivenUp(this);
    void this.#worker.terminate();
  }

  #onExit(): void {
    this.#hasEnded = true;
    const tasks = [this.#first, this.#second].flatMap((taken) => {
      if (taken === undefined) return [];
      clearTimeout(taken.timer);
      taken.task.isSent &&= this.#calls.hasBegun(taken.id);
      return taken.task;
    });
    this.#first = this.#second = undefined;
    this.owner.onEnd(this, tasks, this.#started, this.#cause);
  }
}

/** How long a thread may take to close its connection, in milliseconds. */
const END_MS = 5_000;

/** The rejection of a call whose thread died. */
export function threadDied(cause: unknown): FhirError {
  return new FhirError('unavailable', 'A thread of the SQLite store died; try again', { cause });
}
