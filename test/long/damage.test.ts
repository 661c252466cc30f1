import { expect, test } from 'vitest';
import { temporaryFolder } from '../stores/temporary-folder.js';
import { SEED } from '../support/chance.js';
import { runDamageTrials } from '../support/damage-trials.js';
import { tallyOf } from '../support/long-report.js';

const fileNamed = temporaryFolder();
const tally = tallyOf('damaged files, SQLite');

test('damage anywhere in a file is reported, found by verify, or without effect', async () => {
  const outcome = await runDamageTrials(fileNamed, { trials: 2_000, seed: SEED, tally });
  console.log(`damaged files: ${JSON.stringify(outcome)}`);
  expect(outcome.told).toBeGreaterThan(100);
  expect(outcome.mended).toBeGreaterThan(0);
});
