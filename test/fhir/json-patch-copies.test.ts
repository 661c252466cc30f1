import { expect, test } from 'vitest';
import { applyJsonPatch } from '../../src/fhir/json-patch/json-patch.js';
import type { AnyResource } from '../../src/fhir/resource.js';

const doubling = (times: number): object[] =>
  Array.from({ length: times }, () => ({ op: 'copy', from: '/name', path: '/name/0/extension' }));

test('a patch copies a few long values, but not very many short ones', () => {
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
