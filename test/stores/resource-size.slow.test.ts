import { expect, test } from 'vitest';
import type { AnyResource } from '../../src/index.js';
import { jsonText, MAX_RESOURCE_BYTES, withVersion } from '../../src/store.js';

const TOO_LARGE = {
  code: 'too-costly',
  message: 'Binary/x is larger than 134217728 bytes, the most that a resource may have',
  details: { max: MAX_RESOURCE_BYTES },
};

test('the longest line of NDJSON can be stored, and a larger one is refused with that reason', () => {
  const empty = { resourceType: 'Binary', id: 'x', data: '' };
  const data = 'A'.repeat(MAX_RESOURCE_BYTES - JSON.stringify(empty).length);
  const largest = withVersion({ ...empty, data } as AnyResource, '1', new Date(0).toISOString());
  expect(jsonText(largest).length).toBeGreaterThan(MAX_RESOURCE_BYTES);
  // Half as many characters, of two bytes each.
  const tooLarge = { ...empty, data: 'ä'.repeat(MAX_RESOURCE_BYTES / 2 + 1_000) };
  expect(() => jsonText(tooLarge)).toThrow(expect.objectContaining(TOO_LARGE));
});

test('a resource longer than any string of JavaScript is refused with that reason, not as nested too deeply', () => {
  const toJSON = (): never => {
    throw new RangeError('Invalid string length');
  };
  expect(() => jsonText({ resourceType: 'Binary', id: 'x', ...{ toJSON } })).toThrow(
    expect.objectContaining(TOO_LARGE),
  );
});
