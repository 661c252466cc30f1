/** The measurements of one question in a child process, in microseconds. */
export interface Measured {
  readonly cpu: Quantiles;
  readonly wall: Quantiles;
  /** The longest CPU time of the main thread between two turns of its event loop. */
  readonly stall: number;
  readonly runs: number;
}

/** In microseconds. */
export interface Quantiles {
  readonly p50: number;
  readonly p95: number;
}

export function quantilesOf(times: readonly number[]): Quantiles {
  const sorted = times.toSorted((a, b) => a - b);
  const at = (fraction: number): number => sorted[Math.max(0, Math.ceil(sorted.length * fraction) - 1)]!;
  return { p50: at(0.5), p95: at(0.95) };
}
