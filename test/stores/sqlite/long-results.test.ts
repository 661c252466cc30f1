import { afterEach, expect, test } from 'vitest';
import { PACE } from '../../../src/platform/pace.js';
import { committedOf } from '../../../src/stores/sqlite/threads/text-writes.js';
import type { SentWrite } from '../../../src/stores/sqlite/threads/protocol.js';
import { countTurns } from '../../support/count-turns.js';

const DEFAULT = PACE.turnMs;
afterEach(() => void (PACE.turnMs = DEFAULT));

const NOW = '2024-05-06T07:08:09.012Z';
const LATER = '2024-05-06T07:08:09.013Z';
const key = (id: string): { project: string; type: string; id: string } => ({ project: 'clinic', type: 'Patient', id });
const sentPut = (id: string): SentWrite =>
  ['clinic', 'Patient', id, `{"resourceType":"Patient","id":"${id}"}`, undefined, undefined] as never;

test('changes of a commit are visible at once, and its results are built in turns', async () => {
  PACE.turnMs = 0;
  const writes = Array.from({ length: 60 }, (_, index) => sentPut(`p${index}`));
  const { result: results, turns } = await countTurns(async () => {
    const committed = committedOf(
      writes,
      writes.map(() => null),
      NOW,
    );
    expect(committed.changes).toHaveLength(60);
    expect(committed.changes[59]).toEqual({ kind: 'put', key: key('p59'), versionId: '1' });
    return committed.results;
  });
  expect(turns).toBeGreaterThanOrEqual(60);
  expect(results).toHaveLength(60);
  expect(results[59]).toMatchObject({ kind: 'put', created: true, versionId: '1', lastUpdated: NOW });
});

test('each kind of write has its result and its change', async () => {
  const { results, changes } = committedOf(
    [
      sentPut('new'),
      sentPut('old'),
      { kind: 'delete', key: key('gone') },
      { kind: 'delete', key: key('never') },
      { kind: 'erase', key: key('erased') },
      { kind: 'erase', key: key('nothing') },
      { kind: 'assert-no-match', query: { project: 'clinic', type: 'Patient', criteria: { kind: 'all' } } },
    ] as never,
    [null, [false, '7', LATER], ['3'], [null], ['4', 4], [null, 0], []],
    NOW,
  );
  expect(await results).toMatchObject([
    { kind: 'put', created: true, versionId: '1', lastUpdated: NOW },
    { kind: 'put', created: false, versionId: '7', lastUpdated: LATER },
    { kind: 'delete', versionId: '3' },
    { kind: 'delete', versionId: null },
    { kind: 'erase', versionId: '4', versions: 4 },
    { kind: 'erase', versionId: null, versions: 0 },
    { kind: 'assert-no-match' },
  ]);
  expect(changes).toEqual([
    { kind: 'put', key: key('new'), versionId: '1' },
    { kind: 'put', key: key('old'), versionId: '7' },
    { kind: 'delete', key: key('gone'), versionId: '3' },
    { kind: 'erase', key: key('erased'), versionId: '4' },
  ]);
});
