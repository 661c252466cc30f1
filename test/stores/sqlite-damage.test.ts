import { expect, test } from 'vitest';
import { SEED } from '../support/chance.js';
import { runDamageTrials } from '../support/damage-trials.js';
import { tallyOf } from '../support/long-report.js';
import { temporaryFolder } from './temporary-folder.js';

const fileNamed = temporaryFolder();
const tally = tallyOf('damaged files, SQLite (npm test)');

test('damage anywhere in a file is told, found by verify, or without effect; npm run test:long has thousands', async () => {
  const outcome = await runDamageTrials(fileNamed, { trials: 60, seed: SEED, tally });
  expect(outcome.refused + outcome.told + outcome.foundByVerify + outcome.harmless).toBe(60);
  expect(outcome.told).toBeGreaterThan(0);
});
