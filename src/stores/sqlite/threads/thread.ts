import { Worker } from 'node:worker_threads';
import { FhirError } from '../../../fhir/error.js';
import { inDoubt } from '../../../fhir/in-doubt.js';
import type { Answer, Request, ThreadData } from './protocol.js';
import { receiveError } from './sent-error.js';
import type { Task } from './task.js';
import { THREAD_TUNING } from './tuning.js';

/** What a thread reports to its pool. */
export interface ThreadOwner {
  /** It can take a task. */
  onIdle(thread: Thread): void;
  /** It takes no more tasks, but its connection is still at work. */
  onGivenUp(thread: Thread): void;
  /** It has ended. @param task what it was at @param started false: it never answered */
  onEnd(thread: Thread, task: Task | undefined, started: boolean, cause: unknown): void;
}

/** One worker thread with a connection of its own; it works on one task at a time. */
export class Thread {
  readonly #worker: Worker;
  readonly #owner: ThreadOwner;
  readonly #cancelled: Int32Array;
  #task: Task | undefined;
  #timer: NodeJS.Timeout | undefined;
  #call = 0;
  #started = false;
  #hasEnded = false;
  #cause: unknown;

  constructor(program: string, data: Omit<ThreadData, 'cancelled'>, owner: ThreadOwner) {
    const cancelled = new SharedArrayBuffer(4);
    const workerData: ThreadData = { ...data, cancelled };
    this.#owner = owner;
    this.#cancelled = new Int32Array(cancelled);
    // Loaders and variables of the host are not the thread's.
    this.#worker = new Worker(program, { eval: true, workerData, execArgv: [], env: {}, name: 'fhirgraph' });
    this.#worker.unref();
    this.#worker.on('message', (answer: Answer) => this.#onAnswer(answer));
    this.#worker.on('error', (error) => (this.#cause = error));
    this.#worker.on('messageerror', (error) => (this.#cause = error));
    this.#worker.on('exit', () => this.#onExit());
  }

  get isIdle(): boolean {
    return this.#task === undefined;
  }

  /** Works on a task. It keeps the process alive as long. */
  take(task: Task): void {
    this.#task = task;
    this.#worker.ref();
    task.onCancel = () => this.#cancel();
    void this.#send(task);
  }

  /** Ends the call that runs, where it only reads. */
  cancelRead(reason: FhirError): void {
    if (this.#task?.writes === false) this.#task.cancel(reason);
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

  async #send(task: Task): Promise<void> {
    const id = (this.#call += 1);
    try {
      for await (const part of task.parts()) {
        if (task.isSettled) break;
        this.#post({ id, left: task.left, part });
      }
    } catch (error) {
      task.reject(error);
    }
    if (this.#task !== task) return;
    // Where it is not needed any more, the thread takes back what it did with the parts.
    const call = task.isSettled ? ({ kind: 'nothing' } as const) : task.call;
    task.isSent = true;
    this.#post({ id, left: task.left, call });
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
    else if (this.#isCancelled && answer.error.code === 'aborted') task.reject(task.ending());
    else task.reject(receiveError(answer.error));
    this.#owner.onIdle(this);
  }

  get #isCancelled(): boolean {
    return Atomics.load(this.#cancelled, 0) === this.#call;
  }

  #release(): Task | undefined {
    const task = this.#task;
    this.#task = undefined;
    clearTimeout(this.#timer);
    this.#worker.unref();
    return task;
  }

  /** Asks the thread to end its task, and gives the thread up where it does not. */
  #cancel(): void {
    const task = this.#task!;
    Atomics.store(this.#cancelled, 0, this.#call);
    if (!task.isSent) {
      task.reject(task.ending());
      return;
    }
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => this.#giveUp(task), THREAD_TUNING.graceMs);
  }

  #giveUp(task: Task): void {
    if (this.#task !== task) return;
    if (task.writes) {
      // A thread that writes may be waiting for the disk, so what becomes of it stays open.
      task.reject(inDoubt(task.ending()));
      return;
    }
    this.#release();
    task.reject(task.ending());
    this.#owner.onGivenUp(this);
    void this.#worker.terminate();
  }

  #onExit(): void {
    this.#hasEnded = true;
    this.#owner.onEnd(this, this.#release(), this.#started, this.#cause);
  }
}

/** How long a thread may take to close its connection, in milliseconds. */
const END_MS = 5_000;

/** The rejection of a call whose thread died. */
export function threadDied(cause: unknown): FhirError {
  return new FhirError('unavailable', 'A thread of the SQLite store died; try again', { cause });
}
