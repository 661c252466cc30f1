import { execFile } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { expect, test } from 'vitest';
import { MemoryStore } from '../../src/index.js';
import { SqliteStore } from '../../src/sqlite.js';
import { temporaryFolder } from '../stores/temporary-folder.js';
import { SEED } from '../support/chance.js';
import { readBesideWriter } from '../support/crash/read-beside.js';
import { contradictionsOf } from '../support/linearizability.js';
import { tallyOf } from '../support/long-report.js';
import { type CallerHistory, runManyCallers } from '../support/many-callers.js';

const fileNamed = temporaryFolder();
const tally = tallyOf('histories of many callers');
const besides = tallyOf('calls beside a writing process, SQLite');
const CALLERS = fileURLToPath(new URL('../support/crash/callers.ts', import.meta.url));

function assertLinearizable(histories: readonly CallerHistory[]): void {
  const operations = histories.flatMap((history) => history.operations);
  const contradictions = contradictionsOf(operations);
  tally.addTrials(operations.length);
  tally.addFaults(histories.reduce((sum, { overtaken }) => sum + overtaken, 0));
  tally.addViolations(contradictions.length);
  expect(contradictions).toEqual([]);
}

test.each([
  ['memory', () => new MemoryStore()],
  ['SQLite', () => new SqliteStore(fileNamed('one.db'), { synchronous: 'off' })],
])('100 callers in one process, on %s', async (_name, makeStore) => {
  const store = makeStore();
  assertLinearizable([await runManyCallers(store, { callers: 100, calls: 200, resources: 5, seed: SEED })]);
  await store.close();
});

test('12 callers in three processes on one file', async () => {
  const histories = await Promise.all(
    ['a', 'b', 'c'].map(async (name, index) => {
      const values = ['--import', 'tsx', CALLERS, fileNamed('three.db'), name, '600', String(SEED + index)];
      const { stdout } = await promisify(execFile)(process.execPath, values, { maxBuffer: 1 << 28 });
      return JSON.parse(stdout) as CallerHistory;
    }),
  );
  assertLinearizable(histories);
});

test('a reader beside a writing process sees whole commits in every call', async () => {
  await besides.trial(() => readBesideWriter(fileNamed('beside.db'), 4_000));
  besides.addTrials(4 * 4_000 - 1);
});
