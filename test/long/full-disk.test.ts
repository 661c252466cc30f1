import { expect, test } from 'vitest';
import { temporaryFolder } from '../stores/temporary-folder.js';
import { SEED } from '../support/chance.js';
import { runFullDiskTrials } from '../support/crash/trials.js';
import { tallyOf } from '../support/long-report.js';

const fileNamed = temporaryFolder();
const tally = tallyOf('writers on a full disk, SQLite');

test.skipIf(process.platform === 'win32')('a file that cannot grow keeps every acknowledged commit', async () => {
  const counts = await runFullDiskTrials(fileNamed('full.db'), { rounds: 25, seed: SEED, tally });
  console.log(`writers on a full disk: ${JSON.stringify(counts)}`);
  expect(counts).toMatchObject({ refused: 75 });
});
