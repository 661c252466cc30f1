import { expect, test } from 'vitest';
import { entityTag, versionOfEntityTag } from '../../src/fhir/resource.js';

test('an entity tag is weak, and parses to its version', () => {
  expect(entityTag('3')).toBe('W/"3"');
  expect(versionOfEntityTag(entityTag('a-1.b'))).toBe('a-1.b');
});

test.each([
  ['3', '3'],
  ['"3"', '3'],
  ['W/"3"', '3'],
  ['""', undefined],
  ['W/""', undefined],
  ['', undefined],
  ['*', undefined],
  ['w/"3"', undefined],
  ['"3', undefined],
  ['"3" ', undefined],
  ['"3", "4"', undefined],
  ['"' + 'a'.repeat(65) + '"', undefined],
])('%j names version %j', (text, version) => {
  expect(versionOfEntityTag(text)).toBe(version);
});
