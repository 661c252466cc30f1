import { expect, test } from 'vitest';
import { SEED } from '../support/chance.js';
import { countTogether } from '../support/crash/count-together.js';
import { readBesideWriter } from '../support/crash/read-beside.js';
import { temporaryFolder } from './temporary-folder.js';

const fileNamed = temporaryFolder();

test('two processes that update the same resources by version lose no update', async () => {
  const { overtaken } = await countTogether(fileNamed('two.db'), { processes: 2, times: 60, seed: SEED });
  expect(overtaken).toBeGreaterThan(0);
});

test('a reader beside a writing process sees whole commits in every call', async () => {
  expect(await readBesideWriter(fileNamed('beside.db'), 200)).toBeGreaterThanOrEqual(20);
});
