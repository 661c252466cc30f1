import { FhirError } from '../../fhir/error.js';
import { oncePer } from '../../platform/collections.js';
import { createAsyncContext, MAX_DELAY_MS, nextTurn } from '../../platform/runtime.js';
import { callAborted } from '../../store/guards.js';
import type { ResourceStore } from '../../store/store.js';
import { isCaller } from '../caller.js';
import { type Concurrency, takesTurns } from '../limits/call-limits.js';

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

const turnsOf = oncePer((_store: ResourceStore) => new Turns());

/** The owner of a request. */
interface Holder {
  readonly project: string;
  /** Distinct within the project. */
  readonly caller: string;
}

/** A running request. */
export interface Turn {
  /** False once the request has ended. */
  active: boolean;
}

/** A place in the line. */
export interface Place {
  readonly turn: Promise<Turn>;
  /** Gives the place up: {@link turn} rejects. Without effect once it is its turn. */
  readonly leave: (reason: FhirError) => void;
}

interface Waiter {
  readonly limits: Concurrency;
  readonly start: (turn: Turn) => void;
}

/** A caller in a project: its running and waiting requests. */
interface CallerAccount extends Account {
  readonly waiting: Set<Waiter>;
}

interface ProjectAccount extends Account {
  readonly callers: Accounts<CallerAccount>;
  waiting: number;
}

/** A turn that was taken, with the accounts that it is counted in. */
interface Taken extends Turn {
  readonly accounts: readonly [ProjectAccount, CallerAccount];
  readonly since: number;
}

/**
 * The turns of the requests of one store.
 *
 * ```text
 * clinic   ann ● ● ○ ○    ● running, ○ waiting
 *          bo  ○
 * ward     cy  ○          next: cy (its project runs nothing), then bo, then ann
 * ```
 *
 * Among equals, the one that has used less time since it began to wait or run comes first: a project with long requests
 * gets its share of time, not of turns. An idle project starts with the used time of the project that was served last,
 * so no project saves up time.
 */
export class Turns {
  #running = 0;
  readonly #projects: Accounts<ProjectAccount>;

  /** @param now milliseconds from any start; never goes back */
  constructor(private readonly now: () => number = () => performance.now()) {
    this.#projects = new Accounts((account) => ({
      ...account,
      waiting: 0,
      callers: new Accounts((own) => ({ ...own, waiting: new Set() })),
    }));
  }

  /** The number of running and waiting requests; ended requests leave no state. */
  get size(): number {
    return this.#running + this.#projects.all().reduce((sum, { waiting }) => sum + waiting, 0);
  }

  /** Number of projects with state. */
  get projects(): number {
    return this.#projects.all().length;
  }

  /**
   * Takes a turn, or a place in the line.
   *
   * @throws FhirError `throttled` - too many wait
   */
  take(holder: Holder, limits: Concurrency): Turn | Place {
    const [project, caller] = this.#open(holder);
    if (this.#mayBegin(limits, project, caller)) return this.#begin(project, caller);
    this.#assertRoom(limits, project, caller);
    const { promise, resolve, reject } = Promise.withResolvers<Turn>();
    const waiter: Waiter = { limits, start: resolve };
    caller.waiting.add(waiter);
    project.waiting += 1;
    const leave = (reason: FhirError): void => {
      if (!caller.waiting.delete(waiter)) return;
      project.waiting -= 1;
      this.#close(project, caller);
      reject(reason);
    };
    return { turn: promise, leave };
  }

  /**
   * Checks without taking a place.
   *
   * @throws FhirError `throttled` - too many requests wait already
   */
  assertRoom(holder: Holder, limits: Concurrency): void {
    const [project, caller] = this.#open(holder);
    if (!this.#mayBegin(limits, project, caller)) this.#assertRoom(limits, project, caller);
    this.#close(project, caller);
  }

  /** Ends a turn and passes it on. */
  end(turn: Turn): void {
    if (!turn.active) return;
    turn.active = false;
    const { accounts, since } = turn as Taken;
    const used = this.now() - since;
    this.#running -= 1;
    for (const account of accounts) {
      account.running -= 1;
      account.used += used;
    }
    this.#close(...accounts);
    this.#startNext();
  }

  #startNext(): void {
    for (;;) {
      const next = this.#next();
      if (next === undefined) return;
      const [project, caller, waiter] = next;
      caller.waiting.delete(waiter);
      project.waiting -= 1;
      waiter.start(this.#begin(project, caller));
    }
  }

  /** The first in line of the caller that comes next, in the project that comes next. */
  #next(): readonly [ProjectAccount, CallerAccount, Waiter] | undefined {
    for (const project of this.#projects.inOrder(({ waiting }) => waiting > 0)) {
      for (const caller of project.callers.inOrder(({ waiting }) => waiting.size > 0)) {
        const [waiter] = caller.waiting;
        if (waiter !== undefined && this.#mayRun(waiter.limits, project, caller)) return [project, caller, waiter];
      }
    }
    return undefined;
  }

  #open(holder: Holder): readonly [ProjectAccount, CallerAccount] {
    const project = this.#projects.open(holder.project);
    return [project, project.callers.open(holder.caller)];
  }

  /** No request overtakes waiting requests of its own caller. */
  #mayBegin(limits: Concurrency, project: ProjectAccount, caller: CallerAccount): boolean {
    return caller.waiting.size === 0 && this.#mayRun(limits, project, caller);
  }

  #mayRun(limits: Concurrency, project: ProjectAccount, caller: CallerAccount): boolean {
    return this.#running < limits.total && project.running < limits.project && caller.running < limits.caller;
  }

  #assertRoom({ queue }: Concurrency, project: ProjectAccount, caller: CallerAccount): void {
    const own = Math.max(1, Math.floor(queue / 2));
    if (project.waiting < queue && caller.waiting.size < own) return;
    this.#close(project, caller);
    throw throttled(
      project.waiting < queue
        ? `${own} requests of this caller are waiting already; try again later`
        : `${queue} requests of this project are waiting already; try again later`,
      project.waiting < queue ? own : queue,
    );
  }

  #begin(project: ProjectAccount, caller: CallerAccount): Turn {
    this.#running += 1;
    this.#projects.serve(project);
    project.callers.serve(caller);
    const turn: Taken = { active: true, accounts: [project, caller], since: this.now() };
    return turn;
  }

  /** Removes accounts without running or waiting requests. */
  #close(project: ProjectAccount, caller: CallerAccount): void {
    if (caller.running === 0 && caller.waiting.size === 0) project.callers.close(caller);
    if (project.running === 0 && project.waiting === 0) this.#projects.close(project);
  }
}

/** Seconds after which a client should try again. */
const RETRY_AFTER = 1;

/** @param max the limit that was reached */
function throttled(message: string, max: number): FhirError {
  return new FhirError('throttled', message, { details: { limit: 'concurrency', max, retryAfter: RETRY_AFTER } });
}

/** The running requests and the used time of a project or caller. */
interface Account {
  readonly name: string;
  running: number;
  /** Milliseconds of ended turns, starting from the used time of the account that was served last. */
  used: number;
  /** Increases with each turn. */
  served: number;
}

/** Accounts by name, kept while they have running or waiting requests. */
class Accounts<Kept extends Account> {
  readonly #accounts = new Map<string, Kept>();
  #served = 0;
  /** The used time of the account that was served last. */
  #level = 0;

  constructor(private readonly create: (account: Account) => Kept) {}

  /** The account of this name, which is created if need be. */
  open(name: string): Kept {
    let account = this.#accounts.get(name);
    if (account === undefined) {
      account = this.create({ name, running: 0, used: this.#level, served: 0 });
      this.#accounts.set(name, account);
    }
    return account;
  }

  close({ name }: Kept): void {
    this.#accounts.delete(name);
  }

  all(): readonly Kept[] {
    return [...this.#accounts.values()];
  }

  /** The waiting accounts, in the order in which they come next. */
  inOrder(waits: (account: Kept) => boolean): readonly Kept[] {
    return this.all()
      .filter(waits)
      .sort((one, other) => one.running - other.running || one.used - other.used || one.served - other.served);
  }

  /** Counts a turn that begins. */
  serve(account: Kept): void {
    account.running += 1;
    account.served = this.#served += 1;
    this.#level = Math.max(this.#level, account.used);
  }
}
