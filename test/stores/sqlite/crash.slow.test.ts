import { expect, test } from 'vitest';
import { runCrashTrials } from '../../support/crash/trials.js';
import { tallyOf } from '../../support/long-report.js';
import { IS_WHOLE, SEED } from '../../support/chance.js';
import { temporaryFolder } from '../temporary-folder.js';

const fileNamed = temporaryFolder();
const tally = tallyOf('killed writers, SQLite (a few)');

test('a file survives a few kills of its writer; npm run test:long has hundreds', async () => {
  const { acknowledged } = await runCrashTrials({
    file: fileNamed('few.db'),
    kills: IS_WHOLE ? 4 : 2,
    seed: SEED,
    tally,
  });
  expect(acknowledged).toBeGreaterThan(0);
});
