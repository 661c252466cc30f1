import { describe, expect, test } from 'vitest';
import { temporaryFolder } from '../stores/temporary-folder.js';
import { SEED } from '../support/chance.js';
import { runCrashTrials } from '../support/crash/trials.js';
import { tallyOf } from '../support/long-report.js';

const fileNamed = temporaryFolder();
const tally = tallyOf('killed writers, SQLite');

describe('a writer killed at random moments, repeatedly on a growing file', () => {
  test.each([1, 2, 3, 4, 5, 6])('file %i: no acknowledged commit is lost, and none is half done', async (number) => {
    const seed = (SEED + number) % 2 ** 31;
    const { acknowledged, beyond } = await runCrashTrials({ file: fileNamed(`${number}.db`), kills: 50, seed, tally });
    console.log(`file ${number}, seed ${seed}: ${acknowledged} commits acknowledged, ${beyond} found beyond them`);
    expect(acknowledged).toBeGreaterThan(200);
  });
});
