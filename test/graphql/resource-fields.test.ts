import { expect, test, vi } from 'vitest';
import { FhirModel } from '../../src/fhir/model/fhir-model.js';
import * as texts from '../../src/fhir/r4-definitions.js';
import { fieldsOf, reverseParameters } from '../../src/graphql/schema/fields.js';

test('an element of a type is found without loading any search parameters, a list with those of one type', () => {
  const model = new FhirModel(texts, texts.contentFingerprint, texts.fingerprint);
  const asked = vi.spyOn(model, 'searchParameters');
  const fields = fieldsOf(model, 'Patient')!;
  expect(fields.get('birthDate')).toMatchObject({ kind: 'element', name: 'birthDate' });
  expect(fields.get('nothing')).toBeUndefined();
  expect(fields.get('NothingList')).toBeUndefined();
  expect(asked).not.toHaveBeenCalled();

  const list = fields.get('ObservationList');
  expect(list).toEqual({ kind: 'list', name: 'ObservationList', type: 'Observation', reverse: true });
  expect(new Set(asked.mock.calls.flat())).toEqual(new Set(['Observation']));
  expect(fields.get('ObservationList')).toBe(list);
  expect(fields.has('MedicationList')).toBe(false);
});

test('all fields together are the fields of the type, then its reverse lists, in the order of the types', () => {
  const model = new FhirModel(texts, texts.contentFingerprint, texts.fingerprint);
  const fields = fieldsOf(model, 'Encounter')!;
  const named = fields.get('ConditionConnection');
  const pointing = model.resourceTypes
    .filter((type) => reverseParameters(model, type, 'Encounter').length > 0)
    .flatMap((type) => [`${type}List`, `${type}Connection`]);
  const names = [...fields.keys()];
  expect(pointing.length).toBeGreaterThan(50);
  expect(names.slice(-pointing.length)).toEqual(pointing);
  expect(fields.size).toBe(names.length);
  expect([...fields].map(([name]) => name)).toEqual(names);
  expect([...fields.values()].map(({ name }) => name)).toEqual(names);
  const seen: string[] = [];
  fields.forEach((_, name) => seen.push(name));
  expect(seen).toEqual(names);
  expect(fields.get('ConditionConnection')).toBe(named);
});
