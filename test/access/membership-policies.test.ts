import { R4 } from '../../src/store.js';
import { describe, expect, test } from 'vitest';
import {
  assertMembershipUnderstood,
  distinctPolicies,
  readMembershipPolicies,
} from '../../src/access/policy/membership-policies.js';

const policy = { reference: 'AccessPolicy/1' };
const problems = (membership: object): string[] =>
  readMembershipPolicies(R4, { resourceType: 'ProjectMembership', ...membership }).problems.map(
    ({ path, message, severity }) => `${severity} ${path}: ${message}`,
  );

test('the policies of a membership are chosen with their parameters, in order', () => {
  const { chosen, problems: none } = readMembershipPolicies(R4, {
    resourceType: 'ProjectMembership',
    id: 'm',
    _userName: { id: 'x' },
    accessPolicy: policy,
    access: [
      {
        policy: { reference: 'AccessPolicy/2' },
        parameter: [
          { name: 'ward', valueReference: { reference: 'Location/1' } },
          { name: 'state', valueString: 'final' },
          { name: 'ward', valueString: '' },
        ],
      },
      { policy },
    ],
  });
  expect(none).toEqual([]);
  const ward = [
    { kind: 'reference', type: 'Location', id: '1' },
    { kind: 'string', text: '' },
  ];
  expect(chosen).toEqual([
    { reference: 'AccessPolicy/1', id: '1', parameters: new Map(), path: 'accessPolicy' },
    {
      reference: 'AccessPolicy/2',
      id: '2',
      parameters: new Map([
        ['ward', ward],
        ['state', [{ kind: 'string', text: 'final' }]],
      ]),
      path: 'access[0]',
    },
    { reference: 'AccessPolicy/1', id: '1', parameters: new Map(), path: 'access[1]' },
  ]);
  expect(distinctPolicies(chosen).map(({ path }) => path)).toEqual(['access[1]', 'access[0]']);
  expect(readMembershipPolicies(R4, { resourceType: 'ProjectMembership' })).toMatchObject({ chosen: [], problems: [] });
});

test('policies with other parameters, or other parameter names, are different', () => {
  const given = (parameter: object[]) => ({ policy, parameter });
  const { chosen } = readMembershipPolicies(R4, {
    access: [
      given([]),
      given([{ name: 'a', valueString: 'x' }]),
      given([{ name: 'a', valueString: 'y' }]),
      given([{ name: 'b', valueString: 'x' }]),
      given([{ name: 'a', valueString: 'x' }]),
    ],
  });
  expect(distinctPolicies(chosen)).toHaveLength(4);
});

describe('an invalid membership', () => {
  const reference = 'must be a reference to an AccessPolicy';
  const parameter = 'must have a name, and either a valueString or a valueReference (Type/id)';
  test.each<[object, string]>([
    [{ accesPolicy: policy }, 'accesPolicy: unknown element. Did you mean "accessPolicy"?'],
    [{ Active: true }, 'Active: unknown element.'],
    [{ access_Policy: policy }, 'access_Policy: unknown element.'],
    [{ _nothing: {} }, '_nothing: unknown element.'],
    [{ __active: {} }, '__active: unknown element.'],
    [{ _access: [] }, '_access: extensions of this element are not understood'],
    [{ _accessPolicy: {} }, '_accessPolicy: extensions of this element are not understood'],
    [{ _active: {} }, '_active: extensions of this element are not understood'],
    [{ _admin: {} }, '_admin: extensions of this element are not understood'],
    [{ access: { policy } }, 'access: must be a list, not an object'],
    [{ access: ['AccessPolicy/1'] }, 'access[0]: must be an object with a policy, not a string'],
    [{ access: [{}] }, `access[0].policy: ${reference}`],
    [{ accessPolicy: null }, `accessPolicy: ${reference}`],
    [{ accessPolicy: 'AccessPolicy/1' }, `accessPolicy: ${reference}`],
    [{ accessPolicy: { reference: 7 } }, `accessPolicy: ${reference}`],
    [{ accessPolicy: { reference: 'Patient/1' } }, `accessPolicy: ${reference}`],
    [{ access: [{ policy, parameter: {} }] }, 'access[0].parameter: must be a list, not an object'],
    ...[
      'x',
      {},
      { name: 'x' },
      { name: '', valueString: 'x' },
      { name: 7, valueString: 'x' },
      { valueString: 'x' },
      { name: 'x', valueString: 7 },
      { name: 'x', valueReference: { display: 'x' } },
      { name: 'x', valueReference: { reference: 'nowhere' } },
      { name: 'x', valueReference: { reference: 7 } },
      { name: 'x', valueReference: { reference: 'https://elsewhere.example/Patient/1' } },
      { name: 'x', valueString: 'x', valueReference: policy },
      { name: 'x', valueString: 7, valueReference: policy },
    ].map((one): [object, string] => [
      { access: [{ policy, parameter: [{ name: 'ok', valueString: 'x' }, one] }] },
      `access[0].parameter[1]: ${parameter}`,
    ]),
  ])('%j', (membership, message) => {
    expect(problems(membership).map((one) => one.slice(0, `error ${message}`.length))).toEqual([`error ${message}`]);
  });
});

test('an invalid membership is refused, with all its problems', () => {
  const broken = readMembershipPolicies(R4, { accessPolicy: policy, access: [7, {}] });
  expect(broken.chosen.map(({ id }) => id)).toEqual(['1']);
  const text = 'access[0]: must be an object with a policy, not a number';
  expect(() => assertMembershipUnderstood('m', broken)).toThrow(
    expect.objectContaining({
      code: 'policy-invalid',
      message: `ProjectMembership/m, ${text}`,
      details: { membership: 'ProjectMembership/m' },
      issues: [
        { code: 'invalid', diagnostics: text, expression: ['ProjectMembership.access[0]'] },
        {
          code: 'invalid',
          diagnostics: 'access[1].policy: must be a reference to an AccessPolicy',
          expression: ['ProjectMembership.access[1].policy'],
        },
      ],
    }),
  );
  expect(() => assertMembershipUnderstood('m', readMembershipPolicies(R4, { accessPolicy: policy }))).not.toThrow();
});
