import { expect, test } from 'vitest';
import type { AnyResource } from '../../src/index.js';
import { R4 } from '../../src/store.js';
import { addPatientsOf } from '../../src/search/index/patients-of.js';

const OWN = 'http://own.example/fhir';
const E = 'http://elsewhere.example/fhir';

function patientsOf(resource: object, baseUrl: string | undefined): readonly string[] {
  const ids = new Set<string>();
  addPatientsOf(R4.withBaseUrl(baseUrl), resource as AnyResource, ids);
  return [...ids].sort();
}

const observation = (id: string): object => ({ resourceType: 'Observation', subject: { reference: `Patient/${id}` } });
const bundle = {
  resourceType: 'Bundle',
  entry: [
    { fullUrl: `${E}/Patient/theirs`, resource: { resourceType: 'Patient', id: 'theirs' } },
    { fullUrl: `${E}/Observation/1`, resource: observation('theirs-too') },
    { fullUrl: `${E}/Observation/2`, resource: { resourceType: 'Observation', subject: { reference: `${OWN}/Patient/absolute` } } },
    { fullUrl: `${OWN}/Patient/ours`, resource: { resourceType: 'Patient', id: 'ours' } },
    { fullUrl: `${OWN}/Observation/3`, resource: observation('ours-too') },
    { fullUrl: 'urn:uuid:1', resource: observation('unstated') },
    { resource: observation('without') },
  ],
}; // prettier-ignore

test('the patients of a Bundle are those of this service, and those that may be', () => {
  const ours = ['absolute', 'ours', 'ours-too', 'unstated', 'without'];
  expect(patientsOf(bundle, OWN)).toEqual(ours);
  expect(patientsOf({ resourceType: 'Bundle', entry: [{ fullUrl: `${E}/Bundle/1`, resource: bundle }] }, OWN)).toEqual(ours);
}); // prettier-ignore

test('without a base of the service, no entry is known to be of another', () => {
  expect(patientsOf(bundle, undefined)).toEqual(['ours', 'ours-too', 'theirs', 'theirs-too', 'unstated', 'without']);
  expect(patientsOf(observation('p'), undefined)).toEqual(['p']);
  expect(patientsOf({ resourceType: 'Observation', subject: { reference: `${E}/Patient/p` } }, undefined)).toEqual([]);
});
