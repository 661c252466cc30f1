import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';

/** A piece of code to time. */
export interface Subject {
  readonly name: string;
  run(): unknown;
}

/** The result of the rounds, in microseconds per run. */
export interface Timing {
  readonly name: string;
  readonly median: number;
  /** Interquartile range: half of the rounds are inside it. */
  readonly spread: number;
}

/** How long each subject runs before it is timed, in milliseconds. */
export const WARM_UP = 300;
/** How long one sample of the first subject takes, in milliseconds; the others make as many runs. */
const SAMPLE = 15;

/**
 * Compares the times of subjects. After the warm-up, each round samples every subject, in the opposite order of the previous
 * round, with the same number of runs per sample for all.
 *
 * @param now milliseconds from any start
 */
export async function compare(
  subjects: readonly Subject[],
  rounds: number,
  now = (): number => performance.now(),
): Promise<Timing[]> {
  let runs = 1;
  for (const subject of subjects) {
    const perRun = await warmUp(subject, now);
    if (subject === subjects[0]) runs = Math.max(1, Math.round(SAMPLE / perRun));
  }
  const samples = subjects.map((): number[] => []);
  for (let round = 0; round < rounds; round++) {
    const order = [...subjects.keys()];
    if (round % 2 === 1) order.reverse();
    for (const index of order) samples[index]!.push(await sample(subjects[index]!, runs, now));
  }
  return subjects.map(({ name }, index) => ({ name, ...summary(samples[index]!) }));
}

/** Median and interquartile range. */
export function summary(values: readonly number[]): { readonly median: number; readonly spread: number } {
  const sorted = values.toSorted((a, b) => a - b);
  return { median: quantile(sorted, 0.5), spread: quantile(sorted, 0.75) - quantile(sorted, 0.25) };
}

/** @returns milliseconds of the fastest run, to exclude other work of the machine */
async function warmUp(subject: Subject, now: () => number): Promise<number> {
  const end = now() + WARM_UP;
  let fastest = Infinity;
  for (let runs = 0; runs < 3 || now() < end; runs++) {
    const start = now();
    await subject.run();
    fastest = Math.min(fastest, now() - start);
  }
  return fastest;
}

/** @returns microseconds per run */
async function sample(subject: Subject, runs: number, now: () => number): Promise<number> {
  collectYoungGarbage();
  const start = now();
  for (let run = 0; run < runs; run++) {
    // A synchronous answer is not awaited, which would take a turn.
    const answer = subject.run();
    if (answer instanceof Promise) await answer;
  }
  return ((now() - start) * 1000) / runs;
}

function quantile(sorted: readonly number[], fraction: number): number {
  const position = (sorted.length - 1) * fraction;
  const below = sorted[Math.floor(position)]!;
  return below + (sorted[Math.ceil(position)]! - below) * (position % 1);
}

/** Collects garbage, so that no sample pays for the short-lived objects of the previous sample. */
const collectYoungGarbage = (() => {
  setFlagsFromString('--expose-gc');
  const gc = runInNewContext('gc') as (options: { readonly type: 'minor' }) => void;
  return () => gc({ type: 'minor' });
})();
