import { expect, test } from 'vitest';
import { temporaryFolder } from '../stores/temporary-folder.js';
import { SEED } from '../support/chance.js';
import { countTogether } from '../support/crash/count-together.js';
import { tallyOf } from '../support/long-report.js';

const fileNamed = temporaryFolder();
const tally = tallyOf('updates from several processes, SQLite');

test('four processes that update the same resources by version lose no update', async () => {
  const times = 1_500;
  await tally.trial(async () => {
    const counts = await countTogether(fileNamed('four.db'), { processes: 4, times, seed: SEED });
    console.log(`updates from four processes: ${JSON.stringify(counts)}`);
    tally.addFaults(counts.overtaken + counts.locked);
    expect(counts.overtaken).toBeGreaterThan(100);
  });
  tally.addTrials(4 * times - 1);
});
