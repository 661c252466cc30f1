import { expect, test } from 'vitest';
import { SEED } from '../support/chance.js';
import { countTogether } from '../support/crash/count-together.js';
import { temporaryFolder } from './temporary-folder.js';

const fileNamed = temporaryFolder();

test('two processes that update the same resources by version lose no update', async () => {
  const { overtaken } = await countTogether(fileNamed('two.db'), { processes: 2, times: 60, seed: SEED });
  expect(overtaken).toBeGreaterThan(0);
});
