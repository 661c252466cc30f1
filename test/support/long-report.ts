import { appendFileSync } from 'node:fs';
import { afterAll } from 'vitest';

/** The result of a long test: a row of the table that `npm run test:long` prints at its end. */
export interface TrialRow {
  readonly name: string;
  readonly trials: number;
  readonly faults: number;
  readonly violations: number;
}

/** Counts the trials of one row. */
export interface Tally {
  /** Runs one trial. An error in it is a violation and is thrown on to the test. */
  trial<Result>(run: () => Result | Promise<Result>): Promise<Result>;
  /** Counts many trials at once, such as those of a successful property. */
  addTrials(count: number): void;
  /** Counts injected faults: a kill, a full disk, a hostile input. */
  addFaults(count?: number): void;
  /** Counts violations if the test continues to count more of them; the test must then fail by itself. */
  addViolations(count?: number): void;
}

/**
 * A row of the table, written after the tests of the file. Outside of `npm run test:long` it only counts.
 *
 * @example
 * const tally = tallyOf('Killed writer, SQLite');
 * test('...', () => tally.trial(async () => { tally.addFaults(); ... }));
 */
export function tallyOf(name: string): Tally {
  let [trials, faults, violations] = [0, 0, 0];
  afterAll(() => {
    const file = process.env.FHIRGRAPH_LONG_REPORT;
    if (file === undefined || trials === 0) return;
    appendFileSync(file, `${JSON.stringify({ name, trials, faults, violations } satisfies TrialRow)}\n`);
  });
  return {
    async trial(run) {
      trials += 1;
      try {
        return await run();
      } catch (error) {
        violations += 1;
        throw error;
      }
    },
    addTrials: (count) => void (trials += count),
    addFaults: (count = 1) => void (faults += count),
    addViolations: (count = 1) => void (violations += count),
  };
}
