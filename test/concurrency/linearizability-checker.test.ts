import { expect, test } from 'vitest';
import { contradictionsOf, type Operation } from '../support/linearizability.js';

const write = (version: number, start: number, end: number, expected?: number): Operation => ({
  kind: 'write',
  key: 'k',
  version,
  value: `v${version}`,
  start,
  end,
  expected,
});
const read = (version: number, start: number, end: number, value: string | null = `v${version}`): Operation => ({
  kind: 'read',
  key: 'k',
  version,
  value,
  start,
  end,
});

test.each<[name: string, history: readonly Operation[], contradictions: readonly string[]]>([
  ['one after the other', [write(1, 0, 1), read(1, 2, 3), write(2, 4, 5, 1), read(2, 6, 7)], []],
  ['a read beside a write may see either', [write(1, 0, 9), read(0, 1, 2, null), read(1, 3, 4)], []],
  ['writes beside each other may have any order', [write(2, 0, 9), write(1, 0, 9), read(2, 10, 11)], []],
  [
    'a stale read',
    [write(1, 0, 1), write(2, 2, 3), read(1, 4, 5)],
    ['a read came to version 1 after version 2 had been seen'],
  ],
  [
    'a read that goes back',
    [write(1, 0, 9), read(1, 1, 2), read(0, 3, 4, null)],
    ['a read came to version 0 after version 1 had been seen'],
  ],
  ['a lost update', [write(1, 0, 1), write(2, 2, 3, 1), write(2, 2, 4, 1)], ['version 2 was written twice']],
  [
    'an update of the wrong version',
    [write(1, 0, 1), write(2, 2, 3), write(3, 4, 5, 1)],
    ['version 3 was written on version 1'],
  ],
  ['a version of nobody', [write(1, 0, 1), write(3, 2, 3)], ['version 2 was written by nobody']],
  [
    'a value of nobody',
    [write(1, 0, 1), read(1, 2, 3, 'x')],
    ['version 1 was read as something else than it was written as'],
  ],
  [
    'a write that came before its time',
    [write(1, 4, 5), write(2, 0, 1)],
    ['a write came to version 1 after version 2 had been seen'],
  ],
])('%s', (_name, history, contradictions) => {
  expect(contradictionsOf(history)).toEqual(contradictions.map((line) => `k: ${line}`));
});
