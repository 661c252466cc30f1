import { expect, test } from 'vitest';
import { IS_WHOLE, SEED } from '../../support/chance.js';
import { runDamageTrials } from '../../support/damage-trials.js';
import { tallyOf } from '../../support/long-report.js';
import { temporaryFolder } from '../temporary-folder.js';

const fileNamed = temporaryFolder();
const TRIALS = IS_WHOLE ? 60 : 12;
const tally = tallyOf('damaged files, SQLite (a few)');

test('damage anywhere in a file is reported, found by verify, or without effect; npm run test:long has thousands', async () => {
  const outcome = await runDamageTrials(fileNamed, { trials: TRIALS, seed: SEED, tally });
  expect(outcome.refused + outcome.told + outcome.foundByVerify + outcome.harmless).toBe(TRIALS);
  // A few trials may all hit bytes that no answer needs.
  if (IS_WHOLE) expect(outcome.told).toBeGreaterThan(0);
});
