import { expect, test } from 'vitest';
import { changesOf, EVERY, REMAKE } from '../../src/stores/sql/index-changes.js';

test('rebuilding rows leaves the values of resources inside complete', () => {
  expect(changesOf({ [EVERY]: [REMAKE] }, 'Observation', ['Patient'])).toEqual([REMAKE]);
});

test('a changed parameter makes the values of resources inside incomplete', () => {
  expect(changesOf({ Patient: ['name'] }, 'Observation', ['Patient', 'Device'])).toEqual(['#Patient']);
});
