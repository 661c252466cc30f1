import { expect, test } from 'vitest';
import { superAdminPowers } from '../../src/access/policy/policy-grant.js';
import { ALL_INTERACTIONS } from '../../src/access/rule.js';

/** The powers that policies leave. */
function left(...policies: readonly object[]): readonly string[] | undefined {
  const grants = policies.map((policy) => ({
    reference: 'AccessPolicy/a',
    policy: { resourceType: 'AccessPolicy', ...policy },
    parameters: new Map(),
  }));
  const powers = superAdminPowers(grants);
  return powers === undefined ? undefined : [...powers].sort();
}

const every = (type: string): readonly string[] => ALL_INTERACTIONS.map((one) => `${type}.${one}`).sort();

test('are unlimited without policies', () => {
  expect(left()).toBeUndefined();
});

test('are limited to the rules on Project and ProjectMembership by name, which add up', () => {
  expect(left({})).toEqual([]);
  expect(left({ resource: [] })).toEqual([]);
  expect(left({ resource: [null, 'Project', 7] })).toEqual([]);
  expect(left({ resource: { resourceType: 'Project' } })).toEqual([]);
  expect(left({ resource: [{ resourceType: 'Project' }] })).toEqual(every('Project'));
  expect(left({ resource: [{ resourceType: 'Project', interaction: ['create', 'read'] }] })).toEqual([
    'Project.create',
    'Project.read',
  ]);
  expect(
    left(
      { resource: [{ resourceType: 'Project', interaction: ['create'] }] },
      { resource: [{ resourceType: 'ProjectMembership', interaction: ['search'] }] },
    ),
  ).toEqual(['Project.create', 'ProjectMembership.search']);
  for (const type of ['*', 'User', 'Patient', 'AccessPolicy'])
    expect(left({ resource: [{ resourceType: type }] })).toEqual([]);
});

test('a rule for reading grants no writing', () => {
  const powers = left({ resource: [{ resourceType: 'Project', readonly: true }] })!;
  expect(powers).toContain('Project.read');
  expect(powers.filter((one) => /create|update|delete/.test(one))).toEqual([]);
});

test.each([
  { criteria: 'Project?name=a' },
  { compartment: { reference: 'Patient/1' } },
  { hiddenFields: ['name'] },
  { readonlyFields: ['name'] },
  { writeConstraint: [{ language: 'text/fhirpath', expression: 'true' }] },
])('a rule with %j leaves nothing', (condition) => {
  expect(left({ resource: [{ resourceType: 'Project', ...condition }] })).toEqual([]);
});

test('a policy with a compartment leaves nothing, and another policy keeps its rights', () => {
  const bound = { compartment: { reference: 'Patient/1' }, resource: [{ resourceType: 'Project' }] };
  expect(left(bound)).toEqual([]);
  expect(left(bound, { resource: [{ resourceType: 'ProjectMembership' }] })).toEqual(every('ProjectMembership'));
});

test.each([{ criteria: '' }, { hiddenFields: [] }, { readonlyFields: [] }])('%j is not a condition', (nothing) => {
  expect(left({ resource: [{ resourceType: 'Project', ...nothing }] })).toEqual(every('Project'));
});
