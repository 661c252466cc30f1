import { createAsyncContext, MAX_DELAY_MS, nextTurn } from '../../platform/runtime.js';
import { callAborted } from '../../store/guards.js';
import type { ResourceStore } from '../../store/store.js';
import { isCaller } from '../caller.js';
import { type Concurrency, takesTurns } from '../limits/concurrency.js';
import { type Holder, type Place, throttled, type Turn, Turns } from './turns.js';
import { getOrCreate } from '../../platform/collections.js';

/** A request that takes turns with the others over its store. */
interface TurnRequest {
  readonly store: ResourceStore;
  /** A request without a valid caller does not wait, because it will be refused. */
  readonly caller: unknown;
  readonly concurrency: Concurrency;
  readonly signal?: AbortSignal | undefined;
  /** Longest wait, in milliseconds. Default: none. */
  readonly timeout?: number | undefined;
}

/**
 * Runs a request when it is its turn. Requests inside it (a resolver of the host that queries) belong to its turn, so
 * that no request waits for itself.
 *
 * @param work receives how long it waited, in milliseconds
 * @throws FhirError `throttled` - too many requests wait, or it waited too long
 * @throws FhirError `aborted` - by the signal, while it waited
 */
export function inTurn<Result>(request: TurnRequest, work: (waited: number) => Promise<Result>): Promise<Result> {
  const holder = holderOf(request);
  return holder === undefined ? work(0) : inTurnOf(holder, request, work);
}

async function inTurnOf<Result>(
  holder: Holder,
  request: TurnRequest,
  work: (waited: number) => Promise<Result>,
): Promise<Result> {
  const { store, concurrency } = request;
  const turns = turnsOf(store);
  if (request.signal?.aborted === true) throw callAborted(request.signal);
  const asked = performance.now();
  const taken = turns.take(holder, concurrency);
  const isWaiting = 'leave' in taken;
  const turn = isWaiting ? await inLine(taken, request) : taken;
  try {
    // A request that ends passes its turn on. Without a pause, requests over a synchronous store would run in a row and
    // block all other work.
    if (isWaiting) await nextTurn();
    const waited = isWaiting ? performance.now() - asked : 0;
    return await (current === undefined ? work(waited) : current.run(turn, () => work(waited)));
  } finally {
    turns.end(turn);
  }
}

/**
 * Asserts that a request would run or wait if it came now, before its body is read.
 *
 * @throws FhirError `throttled` - too many requests wait
 */
export function assertRoomInLine(request: Pick<TurnRequest, 'store' | 'caller' | 'concurrency'>): void {
  const holder = holderOf(request);
  if (holder !== undefined) turnsOf(request.store).assertRoom(holder, request.concurrency);
}

/** @returns undefined if the request takes no turn of its own */
function holderOf({ caller, concurrency }: Pick<TurnRequest, 'caller' | 'concurrency'>): Holder | undefined {
  if (!takesTurns(concurrency) || !isCaller(caller) || current?.getStore()?.active === true) return undefined;
  return { project: caller.project, caller: caller.kind === 'member' ? caller.membership : `:${caller.kind}` };
}

async function inLine({ turn, leave }: Place, { signal, timeout = Infinity }: TurnRequest): Promise<Turn> {
  const abort = (): void => leave(callAborted(signal));
  const tooLong = (): void =>
    leave(throttled(`The request waited ${timeout} ms for other requests to end; try again later`, timeout));
  const timer = timeout > MAX_DELAY_MS ? undefined : setTimeout(tooLong, timeout);
  signal?.addEventListener('abort', abort);
  try {
    return await turn;
  } finally {
    clearTimeout(timer);
    signal?.removeEventListener('abort', abort);
  }
}

/** The turn of the request that code runs in. */
const current = createAsyncContext<Turn>();

const TURNS = new WeakMap<ResourceStore, Turns>();

function turnsOf(store: ResourceStore): Turns {
  return getOrCreate(TURNS, store, () => new Turns());
}
