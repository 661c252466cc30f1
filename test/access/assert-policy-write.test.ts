import { describe, expect, test } from 'vitest';
import { assertPolicyWrite, parametersUsed } from '../../src/access/policy/validate-policy.js';
import { type AnyResource, FhirError } from '../../src/index.js';
import { R4 } from '../../src/store.js';
import { loadFhirPath } from '../../src/fhirpath/library.js';

await loadFhirPath();

function policy(elements: object): AnyResource {
  return { resourceType: 'AccessPolicy', id: 'p', ...elements };
}

function faultOf(resource: AnyResource): FhirError {
  try {
    assertPolicyWrite(R4, resource);
  } catch (error) {
    if (error instanceof FhirError) return error;
    throw error;
  }
  throw new Error('Expected a FhirError');
}

/** Each problem, as in the outcome. */
function problems(elements: object): (string | undefined)[] {
  return faultOf(policy(elements)).outcome.issue.map(({ details }) => details?.text);
}

/** Problems of one rule, each without `resource[0]` before it. */
function ruleProblems(rule: object): (string | undefined)[] {
  return problems({ resource: [rule] }).map((one) => one?.replace(/^resource\[0\]\.?/, ''));
}

const fhirPath = (expression: string): object => ({ language: 'text/fhirpath', expression });

describe('a valid policy is accepted', () => {
  test.each<[string, object]>([
    ['without rules', {}],
    ['with no rules', { resource: [] }],
    ['with descriptions', { name: 'Ward', meta: {}, language: 'en', _name: {}, _language: {}, _id: {}, text: {} }],
    [
      'with each element of a rule',
      {
        compartment: { reference: 'Patient/1', display: 'One' },
        resource: [
          {
            resourceType: 'Patient',
            criteria: 'Patient?gender=male',
            compartment: { reference: '%patient' },
            interaction: ['read', 'vread', 'search', 'history', 'create', 'update', 'delete'],
            hiddenFields: ['birthDate'],
            readonlyFields: ['name'],
            writeConstraint: [fhirPath('%after.active'), { expression: '%before.active' }],
          },
          { resourceType: '*', readonly: false, criteria: '*?_lastUpdated=gt2000' },
        ],
      },
    ],
    [
      'with elements of undefined',
      {
        name: undefined,
        resource: [
          {
            resourceType: 'Patient',
            criteria: undefined,
            readonly: undefined,
            interaction: undefined,
            compartment: undefined,
          },
        ],
      },
    ],
  ])('%s', (_, elements) => {
    expect(() => assertPolicyWrite(R4, policy(elements))).not.toThrow();
  });
});

describe('an invalid policy', () => {
  test('is refused with all its problems, each with its location', () => {
    const error = faultOf(
      policy({ colour: 1, resource: [{ resourceType: 'Patient' }, { resourceType: 'X', readonly: 1 }] }),
    );
    expect(error.code).toBe('policy-invalid');
    expect(error.message).toBe('AccessPolicy/p, colour: unknown element. (and 2 more)');
    expect(error.details).toEqual({ policy: 'AccessPolicy/p' });
    expect(error.outcome.issue.map(({ code, details, expression }) => [code, details?.text, expression])).toEqual([
      ['invalid', 'colour: unknown element.', ['AccessPolicy.colour']],
      ['invalid', 'resource[1].resourceType: unknown resource type "X".', ['AccessPolicy.resource[1].resourceType']],
      ['invalid', 'resource[1].readonly: must be true or false, not a number', ['AccessPolicy.resource[1].readonly']],
    ]);
  });

  test('names the rule of the first problem, counted from one, and the underlying error', () => {
    const rules = Array.from({ length: 12 }, () => ({ resourceType: 'Patient' }));
    const error = faultOf(policy({ resource: [...rules, { resourceType: 'Patient', criteria: 'Patient?gendre=x' }] }));
    expect(error.details).toEqual({ policy: 'AccessPolicy/p', rule: 13 });
    expect(error.message).toMatch(/^AccessPolicy\/p, resource\[12\]\.criteria: .*Did you mean "gender"\?$/);
    expect(faultOf(policy({ id: undefined, name: 1 })).message).toBe('AccessPolicy/new, name: must be a string');
    expect(faultOf(policy({ 'resource[3]': 1 })).details).toEqual({ policy: 'AccessPolicy/p' });
    expect(faultOf(policy({ name: null, ipAccessRule: [] })).details).toEqual({ policy: 'AccessPolicy/p' });
  });

  test('lists at most a hundred problems', () => {
    const names = Object.fromEntries(Array.from({ length: 150 }, (_, index) => [`x${index}`, 1]));
    expect(problems(names)).toHaveLength(100);
    expect(problems({ resource: Array.from({ length: 150 }, () => 'rule') })).toHaveLength(100);
    const full = problems({ ...Object.fromEntries(Object.entries(names).slice(0, 99)), ipAccessRule: [], name: 1 });
    expect(full).toHaveLength(100);
    expect(full[99]).toBe(
      'ipAccessRule: rules about addresses are not applied here; check addresses before sign-in, and remove them',
    );
  });
});

describe('the elements of a policy', () => {
  test.each<[object, string[]]>([
    [{ name: 1 }, ['name: must be a string']],
    [{ name: null }, ['name: must not be null']],
    [{ names: 'x' }, ['names: unknown element. Did you mean "name"?']],
    [{ 'to string': 1 }, ['`to string`: unknown element.']],
    [{ resources: [] }, ['resources: unknown element. Did you mean "resource"?']],
    [{ _resource: [] }, ['_resource: extensions of this element are not understood; remove them']],
    [{ resource: {} }, ['resource: must be a list, not an object']],
    [{ resource: null }, ['resource: must not be null']],
    [
      { resource: ['Patient', null] },
      ['resource[0]: must be an object, not a string', 'resource[1]: must be an object, not null'],
    ],
    [{ compartment: 'Patient/1' }, ['compartment: must be a Reference, not a string']],
    [{ compartment: null }, ['compartment: must not be null']],
    [{ compartment: {} }, ['compartment.reference: must be a string, not missing']],
    [{ compartment: { reference: ' ' } }, ['compartment.reference: must not be empty']],
    [
      { compartment: { referense: 'Patient/1' } },
      ['compartment.referense: unknown element. Did you mean "reference"?'],
    ],
    [{ compartment: { reference: null } }, ['compartment.reference: must not be null']],
    [
      { modifierExtension: [{ url: 'x' }] },
      ['modifierExtension: a modifier extension may change the meaning of the policy and is not understood; remove it'],
    ],
    [
      { implicitRules: 'http://x' },
      ['implicitRules: implicit rules may change the meaning of the policy and are not understood; remove them'],
    ],
  ])('%j', (elements, expected) => {
    expect(problems(elements).map((one) => one?.replace(' undefined', ' missing'))).toEqual(expected);
  });
});

describe('the elements of a rule', () => {
  const Patient = { resourceType: 'Patient' };
  const ONE_OF = 'must be one of read, vread, search, history, create, update, delete.';
  test.each<[object, string[]]>([
    [{}, ['resourceType: must name a resource type, or be "*"']],
    [{ resourceType: null }, ['resourceType: must not be null', 'resourceType: must name a resource type, or be "*"']],
    [
      { resourceType: 'Pateint' },
      ['resourceType: unknown resource type "Pateint". Did you mean "Patient" or "Agent"?'],
    ],
    [{ ...Patient, hiddenField: [] }, ['hiddenField: unknown element. Did you mean "hiddenFields"?']],
    [{ ...Patient, _id: {}, _criteria: {} }, ['_criteria: extensions of this element are not understood; remove them']],
    [{ ...Patient, readonly: 'true' }, ['readonly: must be true or false, not a string']],
    [{ ...Patient, readonly: null }, ['readonly: must not be null']],
    [{ ...Patient, criteria: 1 }, ['criteria: must be a string, not a number']],
    [{ ...Patient, criteria: null }, ['criteria: must not be null']],
    [{ ...Patient, criteria: ' ' }, ['criteria: must not be empty']],
    [
      { ...Patient, criteria: '*?gender=male' },
      ['criteria: must begin with "Patient?"; "*" is for rules for all types'],
    ],
    [{ resourceType: 1, criteria: '*' }, ['resourceType: must name a resource type, or be "*"']],
    [{ ...Patient, compartment: 1 }, ['compartment: must be a Reference, not a number']],
    [{ ...Patient, compartment: { reference: 1 } }, ['compartment.reference: must be a string, not a number']],
    [{ ...Patient, interaction: 'read' }, ['interaction: must be a list, not a string']],
    [
      { ...Patient, interaction: ['read', 'reads', null] },
      [`interaction[1]: ${ONE_OF} Did you mean "read" or "vread"?`, `interaction[2]: ${ONE_OF}`],
    ],
    [{ ...Patient, hiddenFields: 'name' }, ['hiddenFields: must be a list, not a string']],
    [
      { ...Patient, hiddenFields: ['name', 1, ''] },
      ['hiddenFields[1]: must be a string, not a number', 'hiddenFields[2]: must not be empty'],
    ],
    [{ ...Patient, readonlyFields: [null] }, ['readonlyFields[0]: must be a string, not null']],
    [{ ...Patient, writeConstraint: {} }, ['writeConstraint: must be a list, not an object']],
    [{ ...Patient, writeConstraint: ['true'] }, ['writeConstraint[0]: must be an Expression, not a string']],
    [{ ...Patient, writeConstraint: [{ expression: '' }] }, ['writeConstraint[0].expression: must not be empty']],
    [
      { ...Patient, writeConstraint: [{ expresion: 'true' }] },
      ['writeConstraint[0].expresion: unknown element. Did you mean "expression"?'],
    ],
    [
      { ...Patient, writeConstraint: [{ ...fhirPath('true'), language: 'text/cql' }] },
      ['writeConstraint[0].language: must be text/fhirpath, the only language of write constraints'],
    ],
    [
      { ...Patient, writeConstraint: [{ expression: 'true', language: null }] },
      ['writeConstraint[0].language: must not be null'],
    ],
  ])('%j', (rule, expected) => {
    expect(ruleProblems(rule)).toEqual(expected);
  });
});

describe('the size of a policy', () => {
  const rule = { resourceType: 'Patient' };

  test('is 500 rules at most', () => {
    expect(() => assertPolicyWrite(R4, policy({ resource: Array(500).fill(rule) }))).not.toThrow();
    const many = 'resource: at most 500 rules are allowed, not 501; name several policies instead';
    expect(problems({ resource: Array(501).fill(rule), colour: 'red' })).toEqual([many]);
  });

  test('is 100,000 characters of JSON at most', () => {
    const sized = (length: number): object => {
      const empty = JSON.stringify(policy({ name: '' })).length;
      return { name: 'n'.repeat(length - empty) };
    };
    expect(() => assertPolicyWrite(R4, policy(sized(100_000)))).not.toThrow();
    expect(problems(sized(100_001))).toEqual([
      'resource: at most 100000 characters are allowed, not 100001; shorten the criteria',
    ]);
  });
});

describe('a write constraint', () => {
  test('can use only the resource before and after the write', () => {
    expect(() =>
      assertPolicyWrite(
        R4,
        policy({
          resource: [{ resourceType: 'Patient', writeConstraint: [fhirPath('%before.active = %after.active')] }],
        }),
      ),
    ).not.toThrow();
    const [unknown] = ruleProblems({
      resourceType: 'Patient',
      writeConstraint: [fhirPath('true'), fhirPath('%now.exists()')],
    });
    expect(unknown).toMatch(/^writeConstraint\[1\]\.expression: .*%now/);
    // The problem of an expression is cached, too.
    expect(ruleProblems({ resourceType: 'Patient', writeConstraint: [fhirPath('%now.exists()')] })).toEqual([
      unknown!.replace('[1]', '[0]'),
    ]);
  });
});

describe('parameters', () => {
  test('are the parameters of criteria and of compartments, by name', () => {
    const elements = {
      compartment: { reference: '%own' },
      resource: [
        { resourceType: 'Observation', criteria: 'Observation?subject=%patient&performer=%profile.id' },
        { resourceType: 'Encounter', compartment: { reference: '%ward' } },
        { resourceType: 'Patient', compartment: { reference: 'Patient/1' }, criteria: 'Patient?gender=male' },
        { resourceType: 'Device', compartment: {}, criteria: 7 },
        'text',
      ],
    };
    expect([...parametersUsed(elements as never)]).toEqual(['own', 'patient', 'profile', 'ward']);
    expect([...parametersUsed({ compartment: { reference: 7 } })]).toEqual([]);
    expect([...parametersUsed({ compartment: '%patient', resource: { criteria: 'Patient?name=%name' } })]).toEqual([]);
  });

  test.each([
    'Observation?subject=%x',
    'Patient?_filter=gender eq %x',
    'Patient?birthdate=%x',
    'Observation?value-quantity=%x',
    'Patient?gender=%x',
  ])('can be the value of %s, of any type', (criteria) => {
    const resourceType = criteria.split('?')[0];
    expect(() => assertPolicyWrite(R4, policy({ resource: [{ resourceType, criteria }] }))).not.toThrow();
  });

  test('can be the owner of a compartment as references, and be in criteria too', () => {
    const rule = { resourceType: 'Observation', criteria: 'Observation?_compartment=%x' };
    for (const elements of [
      { compartment: { reference: '%x' }, resource: [rule] },
      { resource: [{ ...rule, compartment: { reference: '%x' } }] },
    ]) {
      expect(() => assertPolicyWrite(R4, policy(elements))).not.toThrow();
    }
  });
});
