import { randomUUID } from 'node:crypto';
import { Worker } from 'node:worker_threads';
import { afterAll, afterEach, beforeAll, expect, vi } from 'vitest';
import { PACE } from '../../../src/platform/pace.js';
import { type AnyResource, FhirError } from '../../../src/index.js';
import { SqliteStore, type SqliteStoreOptions } from '../../../src/sqlite.js';
import type { SearchQuery } from '../../../src/store.js';
import { PROJECT } from '../../support/kit.js';
import type { WritePart } from '../../../src/stores/sqlite/threads/protocol.js';
import { THREAD_TUNING } from '../../../src/stores/sqlite/database/tuning.js';
import { temporaryFolder } from '../temporary-folder.js';

const { turnMs } = PACE;
const DEFAULTS = { ...THREAD_TUNING };
const fileNamed = temporaryFolder();
/** The open stores and their files. */
const files = new Map<SqliteStore, string>();
/** The threads that the stores of the current test have started. */
export const workers: Worker[] = [];
let actOnWorker: (worker: Worker) => void = () => undefined;

/** Calls a function, in place of the previous one, with each thread when it is created. */
export function onWorker(act: (worker: Worker) => void): void {
  actOnWorker = act;
}

function noteWorker(worker: Worker): void {
  workers.push(worker);
  actOnWorker(worker);
}

/** Notes the threads of each test of a file, and restores what a test changes. */
export function watchThreads(): void {
  beforeAll(() => void process.on('worker', noteWorker));
  afterAll(() => void process.off('worker', noteWorker));
  afterEach(async () => {
    Object.assign(THREAD_TUNING, DEFAULTS);
    PACE.turnMs = turnMs;
    onWorker(() => undefined);
    await Promise.all([...files.keys()].map((store) => store.close()));
    files.clear();
    workers.length = 0;
    vi.restoreAllMocks();
  });
}

export type Posted = { readonly part?: WritePart; readonly call?: { readonly kind: string } };

/** Receives all messages to any thread. */
export function onPost(hear: (worker: Worker, request: Posted) => void): void {
  const post = Worker.prototype.postMessage;
  vi.spyOn(Worker.prototype, 'postMessage').mockImplementation(function (this: Worker, request: Posted) {
    post.call(this, request);
    hear(this, request);
  });
}

/** Ends a thread before its next answer is heard. */
export function killAtAnswer(worker: Worker): void {
  const emit = worker.emit.bind(worker);
  worker.emit = ((event: string, ...values: unknown[]) => {
    if (event !== 'message' || values[0] === 'ready') return emit(event as never, ...(values as []));
    void worker.terminate();
    return true;
  }) as never;
}

/** A store whose calls never take too long. */
export function storeInLoop(options: SqliteStoreOptions = {}): SqliteStore {
  THREAD_TUNING.inlineMs = 1e9;
  return newStore(options);
}

/** A store whose every search and commit goes to a thread, in parts that are as large on a slow machine. */
export function threadedStore(options: SqliteStoreOptions = {}): SqliteStore {
  Object.assign(THREAD_TUNING, { inlineMs: -1, slice: 2 });
  PACE.turnMs = 1e9;
  return newStore(options);
}

export function newStore(options: SqliteStoreOptions = {}): SqliteStore {
  const file = fileNamed(`${randomUUID()}.db`);
  const store = new SqliteStore(file, { readers: 1, synchronous: 'off', ...options });
  files.set(store, file);
  return store;
}

export const PATIENTS: SearchQuery = { project: PROJECT, type: 'Patient', criteria: { kind: 'all' }, total: true };

/** The number of patients, counted in the event loop: a thread that only counts takes longer than most tests. */
export async function countIn(store: SqliteStore): Promise<number> {
  const { inlineMs } = THREAD_TUNING;
  THREAD_TUNING.inlineMs = 1e9;
  const { total } = await store.search({ ...PATIENTS, limit: 0 });
  THREAD_TUNING.inlineMs = inlineMs;
  return total!;
}

export function patient(number: number): AnyResource {
  return { resourceType: 'Patient', id: `p${number}`, active: number % 2 === 0 } as AnyResource;
}

export function patients(count: number): AnyResource[] {
  return Array.from({ length: count }, (_, number) => patient(number));
}

/** Threads never receive their calls, as if inside a statement that does not end. @returns a function that ends that */
export function deafen(): () => void {
  const spy = vi.spyOn(Worker.prototype, 'postMessage').mockImplementation(() => undefined);
  return () => spy.mockRestore();
}

export function onceReady(worker: Worker, action: () => void): void {
  worker.on('message', (message) => void (message === 'ready' && action()));
}

export async function errorOf(promise: Promise<unknown>): Promise<FhirError> {
  const error = await promise.then(
    () => undefined,
    (reason: unknown) => reason,
  );
  expect(error).toBeInstanceOf(FhirError);
  return error as FhirError;
}

export function databaseOf(store: SqliteStore): string {
  return files.get(store)!;
}
