import type { AccessPolicy, Resource } from '@medplum/fhirtypes';
import { expect, test } from 'vitest';
import { OWN_EXTENSIONS } from '../../src/fhir/own-extensions.js';
import { testPolicy } from '../../src/test-service.js';
import { codeOf } from '../repository/harness.js';

const resources: readonly Resource[] = [
  { resourceType: 'Practitioner', id: 'ben' },
  { resourceType: 'Patient', id: 'ann', gender: 'female', address: [{ city: 'Bern' }] },
  { resourceType: 'Patient', id: 'bob', gender: 'male' },
];
const policy: AccessPolicy = {
  resourceType: 'AccessPolicy',
  resource: [{ resourceType: 'Patient', criteria: 'Patient?gender=%gender', hiddenFields: ['address'] }],
};

test('a policy that meets the expectations of its cases passes', async () => {
  const report = await testPolicy(policy, [
    {
      resources,
      as: 'Practitioner/ben',
      parameters: [{ gender: 'female' }],
      sees: { Patient: ['ann'], 'Patient?gender=male': [], Practitioner: [] },
      hides: { 'Patient/ann': ['address'] },
      writes: [{ resource: { resourceType: 'Patient', id: 'bob', gender: 'male' }, outcome: 'not-found' }],
      deletes: { 'Patient/ann': 'written' },
    },
  ]);
  expect(report).toEqual({ passed: true, checks: 6, failures: [] });
});

test('a failed expectation is reported with the actual result', async () => {
  const { passed, failures } = await testPolicy(policy, [
    {
      name: 'ben',
      resources,
      as: 'Practitioner/ben',
      parameters: [{ gender: 'female' }, { gender: 'male' }],
      sees: { Patient: ['ann'] },
      hides: { 'Patient/ann': ['gender', 'address'], 'Patient/eve': ['name'] },
      writes: [{ resource: { resourceType: 'Patient', id: 'bob', gender: 'male' }, outcome: 'forbidden' }],
    },
  ]);
  expect(passed).toBe(false);
  expect(failures).toEqual([
    { case: 'ben', check: 'sees Patient', expected: ['ann'], actual: ['ann', 'bob'] },
    { case: 'ben', check: 'hides Patient/ann', expected: [], actual: ['gender'] },
    { case: 'ben', check: 'hides Patient/eve', expected: [], actual: 'not-found' },
    { case: 'ben', check: 'writes Patient/bob', expected: 'forbidden', actual: 'written' },
  ]);
});

test('policies for emergencies are tested with and without an emergency', async () => {
  const marked = {
    ...policy,
    extension: [{ url: OWN_EXTENSIONS.emergencyAccess, valueBoolean: true }],
    resource: [{ resourceType: 'Patient' }],
  } as AccessPolicy;
  const { failures } = await testPolicy(marked, [
    { resources, as: 'Practitioner/ben', sees: { Patient: [] } },
    { resources, as: 'Practitioner/ben', emergency: true, sees: { Patient: ['ann', 'bob'] } },
  ]);
  expect(failures).toEqual([]);
});

test('an invalid policy is an error', async () => {
  const odd = { resourceType: 'AccessPolicy', resource: [{ resourceType: 'Patient', criterion: 'x' }] } as never;
  expect(await codeOf(testPolicy(odd, [{ resources, as: 'Practitioner/ben' }]))).toBe('policy-invalid');
});
