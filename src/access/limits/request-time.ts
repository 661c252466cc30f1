/** The time of a request that arrived before the call that carries it out: its body had to be read first. */
export interface RequestTime {
  /** When the request had arrived, as `performance.now()` has it. Undefined: nothing took time before the call. */
  began?: number | undefined;
}

/** Whether so many milliseconds are over. PERF: short bodies are read in less than one, and limits that are known are not checked again. */
export function isOver(ms: number, { began }: RequestTime): boolean {
  return began !== undefined && performance.now() - began >= ms;
}

/** Limits of a call whose time began with its request. @returns a copy */
export function limitsSince<Limits extends object>(limits: Limits, time: RequestTime): Limits {
  const since = { ...limits };
  TIMES.set(since, time);
  return since;
}

/** How much of the time of a call with these limits is over already, in milliseconds. */
export function timeBefore(limits: object | undefined): number {
  const began = limits === undefined ? undefined : TIMES.get(limits)?.began;
  return began === undefined ? 0 : performance.now() - began;
}

const TIMES = new WeakMap<object, RequestTime>();
