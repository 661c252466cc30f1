import { appendFileSync } from 'node:fs';
import { afterAll } from 'vitest';

/** What a long test did: a row of the table that `npm run test:long` ends with. */
export interface TrialRow {
  readonly name: string;
  readonly trials: number;
  readonly faults: number;
  readonly violations: number;
}

/** Counts the trials of one row. */
export interface Tally {
  /** Runs one trial; an error in it is a violation and goes on to the test. */
  trial<Result>(run: () => Result | Promise<Result>): Promise<Result>;
  /** Counts many trials at once, such as those of a property that held. */
  addTrials(count: number): void;
  /** Counts faults brought in: a kill, a full disk, a hostile input. */
  addFaults(count?: number): void;
  /** Counts what broke a promise, where the test goes on to count more of them; it must fail in the end by itself. */
  addViolations(count?: number): void;
}

/**
 * A row of the table, written when the tests of the file are over. Outside of `npm run test:long` it only counts.
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
