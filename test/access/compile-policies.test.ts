import { describe, expect, test } from 'vitest';
import { compilePolicies } from '../../src/access/policy/compile-policies.js';
import type { PolicyParameters } from '../../src/access/policy/policy-criteria.js';
import { ruleElements, ruleFields } from '../../src/access/policy/policy-grant.js';
import { atPath, located, messageOf, problemOf } from '../../src/access/policy/policy-problem.js';
import { membershipSizeProblem } from '../../src/access/policy/policy-shape.js';
import { policyProblems, constraintWarnings } from '../../src/access/policy/validate-policy.js';
import type { AccessRule } from '../../src/access/rule.js';
import { FhirError } from '../../src/index.js';
import { R4 } from '../../src/store.js';
import type { JsonObject } from '../../src/fhir/resource.js';
import { loadFhirPath } from '../../src/fhirpath/library.js';

await loadFhirPath();

const NO_PARAMETERS: PolicyParameters = new Map();

function rulesOf(elements: JsonObject, type: string, parameters = NO_PARAMETERS): readonly AccessRule[] {
  const policy = { resourceType: 'AccessPolicy', ...elements };
  return compilePolicies(R4, [{ reference: 'AccessPolicy/p', policy, parameters }]).rulesFor(type);
}

/** The rules of one policy for a type. */
function rules(type: string, ...resource: readonly JsonObject[]): readonly AccessRule[] {
  return rulesOf({ resource }, type);
}

function errorOf(work: () => unknown): Error {
  try {
    work();
  } catch (error) {
    return error as Error;
  }
  throw new Error('Expected an error');
}

describe('policies', () => {
  const two = (): ReturnType<typeof compilePolicies> =>
    compilePolicies(R4, [
      { reference: 'AccessPolicy/a', policy: { resource: [{ resourceType: 'Patient' }] }, parameters: NO_PARAMETERS },
      {
        reference: 'AccessPolicy/b',
        policy: { resource: [{ resourceType: 'Device' }, { resourceType: '*', readonly: true }] },
        parameters: NO_PARAMETERS,
      },
    ]);

  test('grant together the rights of their rules for the type and for all types', () => {
    const texts = (type: string): string[] =>
      two()
        .rulesFor(type)
        .map(({ origin }) => origin.text);
    expect(texts('Patient')).toEqual(['AccessPolicy/a, rule 1: Patient', 'AccessPolicy/b, rule 2: *']);
    expect(texts('Device')).toEqual(['AccessPolicy/b, rule 1: Device', 'AccessPolicy/b, rule 2: *']);
    expect(texts('Group')).toEqual(['AccessPolicy/b, rule 2: *']);
  });

  test('grant nothing of administrative types and of unknown types, named or not', () => {
    for (const type of ['User', 'Login', 'ProjectMembership', 'Nonsense', '*']) {
      expect(two().rulesFor(type)).toEqual([]);
    }
    const named = ['User', 'Project', 'ProjectMembership'];
    for (const type of named) expect(rules(type, ...named.map((resourceType) => ({ resourceType })))).toEqual([]);
  });

  test('are compiled once per type', () => {
    const compiled = two();
    expect(compiled.rulesFor('Patient')).toBe(compiled.rulesFor('Patient'));
    expect(compiled.rulesFor('Device')).not.toEqual(compiled.rulesFor('Patient'));
  });

  test.each<[string, JsonObject, string]>([
    [
      'too large',
      { resource: Array<JsonObject>(501).fill({ resourceType: 'Patient' }), color: 1 },
      'resource: at most',
    ],
    ['of another shape', { resource: [{ resourceType: 'Patient', color: 1 }] }, 'resource[0].color: unknown element'],
    [
      'with a field of no type',
      { resource: [{ resourceType: '*', readonlyFields: ['name', 'birthdate'] }] },
      'resource[0].readonlyFields[1]: no resource type has the field "birthdate"',
    ],
  ])('are refused before any type is compiled: one %s', (_, policy, message) => {
    const error = errorOf(() =>
      compilePolicies(R4, [{ reference: 'AccessPolicy/p', policy, parameters: NO_PARAMETERS }]),
    );
    expect(error).toMatchObject({ code: 'policy-invalid' });
    expect(error.message).toContain(`AccessPolicy/p, ${message}`);
  });
});

describe('a rule for all types', () => {
  const wild = (more: JsonObject): JsonObject => ({ resourceType: '*', ...more });

  test('hides and locks the fields of the types that have them', () => {
    const rule = wild({ hiddenFields: ['birthDate'], readonlyFields: ['maritalStatus'] });
    const fields = (type: string) => rules(type, rule).map(({ hidden, readonlyFields }) => [hidden, readonlyFields]);
    expect(fields('Patient')).toEqual([[['birthDate'], ['maritalStatus']]]);
    expect(fields('Observation')).toEqual([[[], []]]);
    expect(rules('SmartHealthLink', wild({})).map(({ hidden }) => hidden)).toEqual([['passcodeHash']]);
  });

  test.each(['accessPolicy', 'passwordHash', 'birthdate'])(
    'cannot name a field that only administrative types have: %s',
    (field) => {
      expect(() => rules('Patient', wild({ hiddenFields: [field] }))).toThrow(
        `AccessPolicy/p, resource[0].hiddenFields[0]: no resource type has the field "${field}"`,
      );
    },
  );

  test.each([
    ['*?gendre=male', 'no resource type can be searched like this: Unknown search parameter "gendre"'],
    [
      '*?access-policy=AccessPolicy/1',
      'no resource type can be searched like this: Unknown search parameter "access-policy"',
    ],
  ])(
    'must have criteria that some type other than the administrative types can be searched by: %s',
    (criteria, message) => {
      const error = errorOf(() => rules('Patient', wild({ criteria })));
      expect(error.message).toContain(`AccessPolicy/p, resource[0].criteria: ${message}`);
    },
  );

  test('grants nothing of the types that its criteria cannot search', () => {
    const rule = wild({ criteria: '*?gender=male' });
    expect(rules('Patient', rule)).toMatchObject([{ criteria: { kind: 'match', parameter: 'gender' } }]);
    expect(rules('Observation', rule)).toMatchObject([{ criteria: { kind: 'none' } }]);
  });
});

test('a rule for an administrative type can have criteria of that type', () => {
  const criteria = 'ProjectMembership?access-policy=AccessPolicy/1';
  expect(rules('Patient', { resourceType: 'ProjectMembership', criteria }, { resourceType: 'Patient' })).toHaveLength(
    1,
  );
});

describe('the compartment of a rule', () => {
  const own = { compartment: { reference: 'Patient/own' } };
  const observations = { resourceType: 'Observation' };
  const owners = (elements: JsonObject, parameters?: PolicyParameters): unknown =>
    rulesOf(elements, 'Patient', parameters).map(({ criteria, conditions }) => [
      criteria,
      conditions!.map(({ text, missing }) => [text, missing]),
    ]);
  const patients = { resourceType: 'Patient' };

  test('is its own, or that of the policy if it has none', () => {
    expect(
      owners({ compartment: { reference: 'Patient/all' }, resource: [patients, { ...patients, ...own }] }),
    ).toEqual([
      [{ kind: 'id', ids: ['all'] }, [['compartment Patient/all', []]]],
      [{ kind: 'id', ids: ['own'] }, [['compartment Patient/own', []]]],
    ]);
  });

  test('can be a parameter, which is missing if it has no value', () => {
    const elements = { resource: [{ ...patients, compartment: { reference: '%patient' } }] };
    const given: PolicyParameters = new Map([['patient', [{ kind: 'reference', type: 'Patient', id: '1' }]]]);
    expect(owners(elements, given)).toEqual([[{ kind: 'id', ids: ['1'] }, [['compartment %patient', []]]]]);
    expect(owners(elements)).toEqual([[{ kind: 'none' }, [['compartment %patient', ['patient']]]]]);
  });

  test.each<[string, JsonObject]>([
    ['compartment.reference', { compartment: { reference: 'nowhere' }, resource: [observations] }],
    [
      'resource[1].compartment.reference',
      { ...own, resource: [observations, { ...observations, compartment: { reference: 'Pateint/1' } }] },
    ],
  ])('that is invalid is refused with its location: %s', (path, elements) => {
    expect(() => rulesOf(elements, 'Observation')).toThrow(
      `AccessPolicy/p, ${path}: must be Type/id or a parameter such as %patient`,
    );
  });
});

describe('a field of a rule', () => {
  const refusal = (field: string): string =>
    errorOf(() => rules('Patient', { resourceType: 'Patient', hiddenFields: ['name', field] })).message;

  test('is a field of the type, and not the id', () => {
    const path = 'AccessPolicy/p, resource[0].hiddenFields[1]';
    expect(refusal('id')).toBe(`${path}: the id is how a resource is named: it can be neither hidden nor written`);
    expect(refusal('birthdate')).toBe(
      `${path}: Patient does not have the field "birthdate". Did you mean "birthDate"?`,
    );
  });

  test('matches a thousand elements at most', () => {
    expect(refusal(['extension', ...Array<string>(3).fill('value.extension')].join('.'))).toMatch(
      /^AccessPolicy\/p, resource\[0\]\.hiddenFields\[1\]: names more than 1000 elements; /,
    );
  });
});

describe('a mistake in a policy', () => {
  test('is reported as an error with its location, once per rule', () => {
    const all = (elements: JsonObject): unknown => policyProblems(R4, 'AccessPolicy/p', elements);
    expect(all({ color: 1 })).toEqual([{ path: 'color', message: 'unknown element.', severity: 'error' }]);
    expect(all({ resource: Array<JsonObject>(501).fill({ resourceType: 'Patient' }) })).toEqual([
      {
        path: 'resource',
        message: 'at most 500 rules are allowed, not 501; name several policies instead',
        severity: 'error',
      },
    ]);
    const hidden = (resourceType: string): JsonObject => ({ resourceType, hiddenFields: ['id', 'birthdate'] });
    const message = 'the id is how a resource is named: it can be neither hidden nor written';
    expect(all({ resource: ['*', 'Device'].map(hidden) })).toEqual([
      { path: 'resource[0].hiddenFields[0]', message, severity: 'error' },
      { path: 'resource[1].hiddenFields[0]', message, severity: 'error' },
    ]);
  });

  test('has the underlying error as its cause', () => {
    const error = errorOf(() => rules('Patient', { resourceType: 'Patient', criteria: 'Patient?gendre=male' }));
    expect(error.cause).toMatchObject({ problem: { path: 'resource[0].criteria', severity: 'error' } });
    expect((error.cause as Error).cause).toBeInstanceOf(FhirError);
  });

  test('does not hide other errors, which are passed on unchanged', () => {
    const bug = new TypeError('bug');
    const refusal = new FhirError('invalid', 'Refused');
    for (const work of [messageOf, problemOf]) expect(errorOf(() => work(bug))).toBe(bug);
    expect(errorOf(() => problemOf(refusal))).toBe(refusal);
    expect(messageOf(refusal)).toBe('Refused');
    expect(atPath('path', bug)).toBe(bug);
    const fault = atPath('path', refusal);
    expect(problemOf(fault)).toEqual({ path: 'path', message: 'Refused', severity: 'error' });
    expect(fault).toMatchObject({ message: 'Refused', cause: refusal });
    expect(located('path', 'Alone').cause).toBeUndefined();
  });
});

test('a rule for all types is checked as it applies to patients', () => {
  const field = ['extension', ...Array<string>(3).fill('value.extension')].join('.');
  const [problem] = policyProblems(R4, 'AccessPolicy/p', { resource: [{ resourceType: '*', hiddenFields: [field] }] });
  expect(problem!.path).toBe('resource[0].hiddenFields[0]');
  expect(problem!.message).toMatch(/^names more than 1000 elements; /);
});

test('elements in write constraints that no resource has are reported, each with its location', () => {
  const names = ['resourceType', 'Patient', 'birthDate', 'status', 'gendre'];
  const constrained = (resourceType: string): JsonObject => ({
    resourceType,
    writeConstraint: [{ expression: 'true' }, ...names.map((name) => ({ expression: `%after.${name}.exists()` }))],
  });
  const warning = (rule: number, constraint: number, message: string): object => ({
    path: `resource[${rule}].writeConstraint[${constraint}].expression`,
    message,
    severity: 'warning',
  });
  const resource = [{ resourceType: 'Patient' }, constrained('Patient'), constrained('*')];
  expect(constraintWarnings(R4, { resource })).toEqual([
    warning(1, 4, 'Patient does not have the element "status".'),
    warning(1, 5, 'Patient does not have the element "gendre". Did you mean "gender"?'),
    warning(2, 5, '* does not have the element "gendre".'),
  ]);
});

test('a value that is not an object is not a rule, and a value that is not a string names no field', () => {
  expect(ruleElements({ resource: [{ resourceType: 'Patient' }, 'text', null, []] })).toEqual([
    { resourceType: 'Patient' },
  ]);
  for (const resource of [undefined, 'text', {}]) expect(ruleElements({ resource })).toEqual([]);
  expect(ruleFields({ hiddenFields: ['name', 1, null] }, 'hiddenFields')).toEqual(['name']);
  for (const readonlyFields of [undefined, 'name'])
    expect(ruleFields({ readonlyFields }, 'readonlyFields')).toEqual([]);
});

test('the policies of a membership have 1,000 rules and 200,000 characters at most', () => {
  const size = (rules: number, length: number) => ({ rules, length });
  expect(membershipSizeProblem([size(400, 100_000), size(600, 100_000)])).toBeUndefined();
  expect(membershipSizeProblem([])).toBeUndefined();
  const problem = (rules: number, length: number): object => ({
    path: 'access',
    message: `all policies together may have 1000 rules and 200000 characters, not ${rules} and ${length}; name fewer`,
    severity: 'error',
  });
  expect(membershipSizeProblem([size(400, 1), size(601, 1)])).toEqual(problem(1001, 2));
  expect(membershipSizeProblem([size(1, 100_000), size(2, 100_001)])).toEqual(problem(3, 200_001));
});
