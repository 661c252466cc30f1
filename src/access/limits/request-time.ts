/** The arrival time of a request that existed before its call, because its body had to be read first. */
export interface RequestTime {
  /** When the request had arrived, as a time of `performance.now()`. Undefined: no time passed before the call. */
  began?: number | undefined;
}

/**
 * Whether this many milliseconds have passed. PERF: short bodies are read in less than one, and already checked limits
 * are not checked again.
 */
export function isOver(ms: number, { began }: RequestTime): boolean {
  return began !== undefined && performance.now() - began >= ms;
}

/** Limits of a call whose time began with its request. @returns a copy */
export function limitsSince<Limits extends object>(limits: Limits, time: RequestTime): Limits {
  const since = { ...limits };
  TIMES.set(since, time);
  return since;
}

/** How much time of a call with these limits has already passed, in milliseconds. */
export function timeBefore(limits: object | undefined): number {
  const began = limits === undefined ? undefined : TIMES.get(limits)?.began;
  return began === undefined ? 0 : performance.now() - began;
}

const TIMES = new WeakMap<object, RequestTime>();
