import { expect, test } from 'vitest';
import { parseJson, stringifyJson } from '../../src/http.js';
import type { AnyResource } from '../../src/index.js';
import { applyJsonPatch } from '../../src/fhir/json-patch.js';

const doubling = (times: number): object[] =>
  Array.from({ length: times }, () => ({ op: 'copy', from: '/name', path: '/name/0/extension' }));

test('a patch copies a few long values, but refuses very many short values', () => {
  const photo = [{ data: 'A'.repeat(2_000_000) }];
  const patient: AnyResource = { resourceType: 'Patient', id: 'a', ...{ photo, name: [{ family: 'Lee' }] } };
  const copied = applyJsonPatch(patient, [{ op: 'copy', from: '/photo/0', path: '/photo/-' }]);
  expect(copied).toMatchObject({ photo: [photo[0], photo[0]] });
  expect(() => applyJsonPatch(patient, doubling(10))).not.toThrow();
  // Names within names: the text of all of them has less than two million characters.
  const many = Array.from({ length: 30_000 }, () => ({ family: 'Lee' }));
  const copy = [{ op: 'copy', from: '/name', path: '/contact' }];
  expect(() => applyJsonPatch({ ...patient, ...{ name: many } }, copy)).toThrow('copies more than');
});

test('a patch changes a copy', () => {
  const component = Array.from({ length: 10 }, (_, n) => ({ valueQuantity: { value: n, unit: 'mg' } }));
  const observation: AnyResource = { resourceType: 'Observation', id: 'a', ...{ component } };
  const replace = { op: 'replace', path: '/component/3/valueQuantity/value', value: 'x' };
  const patched = component.map((one, n) => (n === 3 ? { valueQuantity: { value: 'x', unit: 'mg' } } : one));
  expect(applyJsonPatch(observation, [replace])).toEqual({ ...observation, component: patched });
  expect(component[3]).toEqual({ valueQuantity: { value: 3, unit: 'mg' } });
});

test('decimals of a resource that is patched keep their text', () => {
  const text = '{"resourceType":"Observation","id":"a","component":[{"valueQuantity":{"value":1.00}}]}';
  const patched = applyJsonPatch(parseJson(text) as AnyResource, [{ op: 'add', path: '/status', value: 'final' }]);
  expect(stringifyJson(patched)).toBe(`${text.slice(0, -1)},"status":"final"}`);
});
