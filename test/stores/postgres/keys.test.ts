import { R4 } from '../../../src/store.js';
import { expect, test } from 'vitest';
import { arrayText } from '../../../src/stores/postgres/rows/array.js';
import { parameterKey, projectKey, resourceKey } from '../../../src/stores/postgres/rows/keys.js';

test('no two search parameters share a key', () => {
  const names = R4.resourceTypes.flatMap((type) =>
    [...R4.searchParameters(type).values()].flatMap(({ code, components = [] }) => [
      [type, code],
      [type, `${code}:identifier`],
      ...components.map((_, index) => [type, `${code}$${index}`]),
    ]),
  ) as [string, string][];
  expect(names.length).toBeGreaterThan(2_000);
  expect(new Set(names.map(([type, code]) => parameterKey(type, code))).size).toBe(names.length);
});

test('keys never change, because databases contain them', () => {
  expect(projectKey('clinic')).toBe('bbfeb74a4b4216dfd0f7b10edf5743e6');
  expect(resourceKey('clinic', 'Patient', 'a')).toBe('2e6d4861ea638d2bc8a4dcc981ba108f');
  expect(parameterKey('Patient', 'family')).toBe(221827030475947);
});

test('a resource has another key in another project, type or id', () => {
  const keys = [
    resourceKey('a', 'Patient', 'b'),
    resourceKey('b', 'Patient', 'a'),
    resourceKey('a', 'Person', 'b'),
    resourceKey('a","Patient', 'b', ''),
  ];
  expect(new Set(keys).size).toBe(4);
});

test('array literals contain exactly their texts', () => {
  expect(arrayText([])).toBe('{}');
  expect(arrayText([1, null, -2.5, 1e300])).toBe('{1,NULL,-2.5,1e+300}');
  expect(arrayText(['a', 'NULL', '', 'a"b\\c', '{},', ' '])).toBe(String.raw`{"a","NULL","","a\"b\\c","{},"," "}`);
});
