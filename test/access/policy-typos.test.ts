import { describe, expect, test } from 'vitest';
import { checkPolicies } from '../../src/access.js';
import {
  type AnyResource,
  executeFhirGraphql,
  importBundle,
  MemoryStore,
  type ResourceStore,
  signIn,
  systemCaller,
} from '../../src/index.js';
import { faultOf, repositoryOf, signedIn, system } from '../repository/harness.js';

/** Mistakes that would leave access open by accident: the policy, the location of the mistake, a hint. */
const MISTAKES: readonly (readonly [name: string, policy: object, path: string, hint: string])[] = [
  [
    'hiddenField',
    { resource: [{}, { hiddenField: ['birthDate'] }] },
    'resource[1].hiddenField',
    'Did you mean "hiddenFields"',
  ],
  [
    'criterion',
    { resource: [{ criterion: 'Patient?gender=male' }] },
    'resource[0].criterion',
    'Did you mean "criteria"',
  ],
  [
    'interactions',
    { resource: [{ interactions: ['read'] }] },
    'resource[0].interactions',
    'Did you mean "interaction"',
  ],
  ['Criteria', { resource: [{ Criteria: 'Patient?gender=male' }] }, 'resource[0].Criteria', 'Did you mean "criteria"'],
  ['an unknown element', { resource: [{ colour: 'red' }] }, 'resource[0].colour', 'unknown element'],
  ['resources', { resources: [], resource: [{}] }, 'resources', 'Did you mean "resource"'],
  ['a prototype', { resource: [{ 'to string': 1 }] }, 'resource[0].`to string`', 'unknown element'],
  ['readonly as text', { resource: [{ readonly: 'true' }] }, 'resource[0].readonly', 'true or false, not a string'],
  ['readonly as null', { resource: [{ readonly: null }] }, 'resource[0].readonly', 'not be null'],
  ['an extension of readonly', { resource: [{ _readonly: { extension: [] } }] }, 'resource[0]._readonly', 'extensions'],
  ['an extension of a rule', { resource: [{ extension: [{ url: 'x' }] }] }, 'resource[0].extension', 'unknown element'],
  ['criteria that are empty', { resource: [{ criteria: '' }] }, 'resource[0].criteria', 'must not be empty'],
  ['criteria that are blank', { resource: [{ criteria: ' ' }] }, 'resource[0].criteria', 'must not be empty'],
  [
    'criteria in a list',
    { resource: [{ criteria: ['Patient?gender=male'] }] },
    'resource[0].criteria',
    'a string, not an array',
  ],
  [
    'criteria of another type',
    { resource: [{ criteria: 'Observation?status=final' }] },
    'resource[0].criteria',
    'another type',
  ],
  ['criteria of any type', { resource: [{ criteria: '*' }] }, 'resource[0].criteria', 'must begin with "Patient?"'],
  [
    'criteria of any type with a condition',
    { resource: [{ criteria: '*?gender=male' }] },
    'resource[0].criteria',
    'must begin with "Patient?"',
  ],
  [
    'criteria by an unknown parameter',
    { resource: [{ criteria: 'Patient?gendre=male' }] },
    'resource[0].criteria',
    'Did you mean "gender"',
  ],
  [
    'criteria of no type at all',
    { resource: [{ resourceType: '*', criteria: '*?gendre=male' }] },
    'resource[0].criteria',
    'no resource type',
  ],
  [
    'a parameter inside other text',
    { resource: [{ criteria: 'Patient?gender:not=x%word' }] },
    'resource[0].criteria',
    'whole value',
  ],
  [
    'an unknown type',
    { resource: [{ resourceType: 'Pateint' }] },
    'resource[0].resourceType',
    'Did you mean "Patient"',
  ],
  [
    'no type',
    { resource: [{ resourceType: undefined, criteria: 'x' }] },
    'resource[0].resourceType',
    'name a resource type',
  ],
  [
    'an unknown interaction',
    { resource: [{ interaction: ['reads'] }] },
    'resource[0].interaction[0]',
    'Did you mean "read"',
  ],
  ['one interaction without a list', { resource: [{ interaction: 'read' }] }, 'resource[0].interaction', 'a list'],
  ['a null interaction', { resource: [{ interaction: [null] }] }, 'resource[0].interaction[0]', 'must be one of'],
  ['hidden fields as text', { resource: [{ hiddenFields: 'birthDate' }] }, 'resource[0].hiddenFields', 'a list'],
  [
    'a hidden field that is null',
    { resource: [{ hiddenFields: ['name', null] }] },
    'resource[0].hiddenFields[1]',
    'a string',
  ],
  [
    'a hidden field that the type lacks',
    { resource: [{ hiddenFields: ['name', 'birthdate'] }] },
    'resource[0].hiddenFields[1]',
    'Did you mean "birthDate"',
  ],
  [
    'a hidden field of no contained type',
    { resource: [{ hiddenFields: ['contained.birthdate'] }] },
    'resource[0].hiddenFields[0]',
    'does not have',
  ],
  ['a hidden id', { resource: [{ hiddenFields: ['id'] }] }, 'resource[0].hiddenFields[0]', 'neither hidden'],
  [
    'a readonly field that the type lacks',
    { resource: [{ readonlyFields: ['gendr'] }] },
    'resource[0].readonlyFields[0]',
    'Did you mean "gender"',
  ],
  [
    'a hidden field that no type has',
    { resource: [{ resourceType: '*', hiddenFields: ['name', 'birthdate'] }] },
    'resource[0].hiddenFields[1]',
    'no resource type has the field',
  ],
  [
    'a readonly field that no type has',
    { resource: [{ resourceType: '*', readonlyFields: ['name '] }] },
    'resource[0].readonlyFields[0]',
    'no resource type has the field',
  ],
  [
    'a constraint that does not parse',
    { resource: [{ writeConstraint: [{ expression: '%after.active =' }] }] },
    'resource[0].writeConstraint[0].expression',
    '',
  ],
  [
    'a constraint with an unknown function',
    { resource: [{ writeConstraint: [{ expression: '%after.exist()' }] }] },
    'resource[0].writeConstraint[0].expression',
    'exist()',
  ],
  [
    'a constraint with an unknown variable',
    { resource: [{ writeConstraint: [{ expression: '%befor.exists()' }] }] },
    'resource[0].writeConstraint[0].expression',
    '%befor',
  ],
  [
    'a constraint as text',
    { resource: [{ writeConstraint: ['%after.exists()'] }] },
    'resource[0].writeConstraint[0]',
    'an Expression',
  ],
  [
    'a constraint without a list',
    { resource: [{ writeConstraint: { expression: 'true' } }] },
    'resource[0].writeConstraint',
    'a list',
  ],
  [
    'a constraint of another name',
    { resource: [{ writeConstraint: [{ expresion: 'true' }] }] },
    'resource[0].writeConstraint[0].expresion',
    'Did you mean "expression"',
  ],
  [
    'a constraint in another language',
    { resource: [{ writeConstraint: [{ expression: 'true', language: 'text/cql' }] }] },
    'resource[0].writeConstraint[0].language',
    'text/fhirpath',
  ],
  [
    'a writeConstraints',
    { resource: [{ writeConstraints: [{ expression: 'false' }] }] },
    'resource[0].writeConstraints',
    'Did you mean "writeConstraint"',
  ],
  ['a compartment as text', { resource: [{ compartment: 'Patient/1' }] }, 'resource[0].compartment', 'a Reference'],
  ['a compartment of null', { compartment: null, resource: [{}] }, 'compartment', 'not be null'],
  [
    'a compartment of nothing',
    { compartment: { referense: 'Patient/1' }, resource: [{}] },
    'compartment.referense',
    'Did you mean "reference"',
  ],
  [
    'a compartment of an unknown type',
    { compartment: { reference: 'Pateint/1' }, resource: [{}] },
    'compartment.reference',
    'Type/id',
  ],
  [
    'rules about addresses',
    { ipAccessRule: [{ value: '10.0.0.1', action: 'block' }], resource: [{}] },
    'ipAccessRule',
    'addresses',
  ],
  [
    'a modifier extension',
    { modifierExtension: [{ url: 'x' }], resource: [{}] },
    'modifierExtension',
    'change the meaning',
  ],
  ['implicit rules', { implicitRules: 'http://x', resource: [{}] }, 'implicitRules', 'change the meaning'],
  ['one rule without a list', { resource: { resourceType: 'Patient' } }, 'resource', 'a list'],
  ['a rule that is none', { resource: ['Patient'] }, 'resource[0]', 'an object'],
];

/** Mistakes that `checkPolicies` warns of. */
const WARNINGS: typeof MISTAKES = [
  [
    'a constraint on an element that the type lacks',
    { resource: [{ writeConstraint: [{ expression: '%before.activ.exists().not()' }] }] },
    'resource[0].writeConstraint[0].expression',
    'Did you mean "active"',
  ],
  [
    'a constraint on a first-level element that the type lacks, at the start of a path',
    { resource: [{ writeConstraint: [{ expression: "%after.exists() and (gendr = 'male').not()" }] }] },
    'resource[0].writeConstraint[0].expression',
    'Did you mean "gender"',
  ],
  [
    'a constraint on an element that no type has',
    { resource: [{ resourceType: '*', writeConstraint: [{ expression: '(%`after`).statuss.empty()' }] }] },
    'resource[0].writeConstraint[0].expression',
    '* does not have the element "statuss"',
  ],
];

/** The policy with its rules about patients, without the type in their criteria. */
function policyOf(broken: object, id = 'broken'): AnyResource {
  const { resource, ...elements } = broken as { resource?: unknown };
  const rules = Array.isArray(resource)
    ? resource.map((rule: unknown) =>
        typeof rule === 'object' && rule !== null ? { resourceType: 'Patient', ...rule } : rule,
      )
    : resource;
  return { resourceType: 'AccessPolicy', id, ...elements, resource: rules } as AnyResource;
}

async function clinic(): Promise<ResourceStore> {
  const store = new MemoryStore();
  const trusted = await system(store);
  await trusted.update({ resourceType: 'Patient', id: 'pat', gender: 'female', birthDate: '1990-01-01' });
  return store;
}

/** As an older version, or another program, would have written it. */
async function plant(store: ResourceStore, resource: AnyResource): Promise<void> {
  const key = { project: 'clinic', type: resource.resourceType, id: resource.id! };
  await store.commit([{ kind: 'put', key, resource }]);
}

describe('a policy with a mistake', () => {
  test.each(MISTAKES)('is refused at its write, with the location: %s', async (_, broken, path, hint) => {
    const store = await clinic();
    const trusted = repositoryOf(store, systemCaller('clinic'));
    const fault = await faultOf(trusted.update(policyOf(broken) as never));
    expect({ code: fault.code, at: fault.issues[0]!.expression }).toEqual({
      code: 'policy-invalid',
      at: [`AccessPolicy.${path}`],
    });
    expect(fault.message).toContain(`AccessPolicy/broken, ${path}: `);
    expect(fault.message).toContain(hint);
    expect(fault.issues).toHaveLength(1);
  });

  test.each(MISTAKES)('prevents every sign-in, and no default replaces it: %s', async (_, broken, path) => {
    const store = await clinic();
    const caller = await signedIn(store, { rules: [{ resourceType: 'Patient' }] });
    await plant(store, policyOf(broken, caller.membership.replace('member', 'policy')));
    const fault = await faultOf(signIn(store, { membership: caller.membership }));
    expect(fault.code).toBe('policy-invalid');
    expect(fault.message).toContain(path);
  });

  test.each(WARNINGS)('is a warning: %s', async (_, broken, path, hint) => {
    const store = await clinic();
    const caller = await signedIn(store, { rules: [{ resourceType: 'Patient' }] });
    await plant(store, policyOf(broken, caller.membership.replace('member', 'policy')));
    await signIn(store, { membership: caller.membership });
    const problems: unknown[] = [];
    for await (const finding of checkPolicies({}, { store })) problems.push(...finding.problems);
    expect(problems).toEqual([{ path, message: expect.stringContaining(hint) as string, severity: 'warning' }]);
  });

  test('is refused on every path that writes', async () => {
    const store = await clinic();
    const admin = await signedIn(store, { admin: true });
    const trusted = repositoryOf(store, systemCaller('clinic'));
    const good = policyOf({ resource: [{}] }, 'good');
    await trusted.update(good as never);
    const broken = policyOf({ resource: [{ readonly: 'true' }] }, 'good');
    for (const caller of [admin, systemCaller('clinic')]) {
      const repository = repositoryOf(store, caller);
      const operations = [{ op: 'add', path: '/resource/0/hiddenField', value: ['name'] }] as const;
      const bundle = {
        resourceType: 'Bundle' as const,
        type: 'transaction' as const,
        entry: [{ resource: broken as never, request: { method: 'PUT' as const, url: 'AccessPolicy/good' } }],
      };
      for (const write of [
        () => repository.create(broken as never),
        () => repository.update(broken as never),
        () => repository.patch('AccessPolicy', 'good', [...operations]),
        () => repository.transaction(bundle),
        () => importBundle(bundle, { store, caller }),
      ]) {
        expect((await faultOf(write())).code).toBe('policy-invalid');
      }
      const { errors } = await executeFhirGraphql(
        'mutation { AccessPolicyPatch(id: "good", patch: [{ op: "add", path: "/resource/0/hiddenField", value: "x" }]) { id } }',
        { store, caller },
      );
      expect(errors?.[0]?.extensions?.['code']).toBe('policy-invalid');
    }
    expect(await trusted.read('AccessPolicy', 'good')).toMatchObject({ resource: [{ resourceType: 'Patient' }] });
  });

  test('is reported with all its mistakes at once', async () => {
    const store = await clinic();
    const trusted = repositoryOf(store, systemCaller('clinic'));
    const broken = policyOf({ colour: 1, resource: [{ readonly: 1 }, { hiddenField: [] }, { criteria: '' }] });
    const fault = await faultOf(trusted.update(broken as never));
    expect(fault.issues.map(({ expression }) => expression)).toEqual([
      ['AccessPolicy.colour'],
      ['AccessPolicy.resource[0].readonly'],
      ['AccessPolicy.resource[1].hiddenField'],
      ['AccessPolicy.resource[2].criteria'],
    ]);
    expect(fault.message).toContain('(and 3 more)');
  });
});

describe('a policy without a mistake', () => {
  test.each<[string, object]>([
    ['everything that describes it', { name: 'All', _name: {}, extension: [{ url: 'x' }], text: { status: 'empty', div: '<div xmlns="http://www.w3.org/1999/xhtml">x</div>' }, basedOn: [{ reference: 'AccessPolicy/1' }], meta: { tag: [{ code: 'x' }] }, resource: [{}] }], // prettier-ignore
    ['an empty list of rules', { resource: [] }],
    ['empty lists', { resource: [{ interaction: [], hiddenFields: [], readonlyFields: [], writeConstraint: [] }] }],
    ['a constraint without a language', { resource: [{ writeConstraint: [{ expression: '%before.exists() or %after.exists()' }] }] }], // prettier-ignore
    ['a constraint with variables of FHIR', { resource: [{ writeConstraint: [{ expression: '%resource.id.exists()' }] }] }], // prettier-ignore
    ['constraints on elements in every form', { resource: [{ writeConstraint: [{ expression: "Patient.deceased.exists() or %before.deceasedBoolean or %after.name.where(use = 'usual' and family.exists()).given.first().startsWith('x') or %resource.resourceType = 'Patient' or %after.contained.where(code.exists()).exists()" }] }, { resourceType: '*', writeConstraint: [{ expression: '%after.status.exists() and %before.lensSpecification.empty()' }] }] }], // prettier-ignore
    ['escapes in criteria', { resource: [{ criteria: 'Patient?family:exact=M%C3%BCller' }] }],
    ['escapes in a filter', { resource: [{ criteria: 'Patient?_filter=family%20eq%20%22M%C3%BCller%22%20and%20organization%20eq%20%org' }] }], // prettier-ignore
    ['fields of contained resources', { resource: [{ hiddenFields: ['contained.birthDate'] }] }],
    ['a rule for administrators’ types', { resource: [{ resourceType: 'Project' }, { resourceType: 'User' }] }],
  ])('can have %s', async (_, good) => {
    const store = await clinic();
    const trusted = repositoryOf(store, systemCaller('clinic'));
    expect(await trusted.update(policyOf(good) as never)).toMatchObject({ id: 'broken' });
    const caller = await signedIn(store, { rules: [{ resourceType: 'Patient' }] });
    await plant(store, policyOf(good, caller.membership.replace('member', 'policy')));
    // A parameter inside _filter must have a value at sign-in.
    if (!JSON.stringify(good).includes('%org')) await signIn(store, { membership: caller.membership });
  });
});

test('a policy can give compartments to parameters in a strict project', async () => {
  const store = new MemoryStore();
  const trusted = await system(store, 'clinic', { strictMode: true });
  const compartment = { reference: '%patient' };
  const policy = policyOf({ compartment, resource: [{}, { compartment }] }) as never;
  expect(await trusted.update(policy)).toMatchObject({ compartment, resource: [{}, { compartment }] });
  const wrong = policyOf({ compartment: { reference: 'x%patient' }, resource: [{}] }) as never;
  expect((await faultOf(trusted.update(wrong))).code).toBe('unprocessable');
});

describe('a membership with a mistake', () => {
  const policy = { reference: 'AccessPolicy/good' };

  test.each<[string, object, string]>([
    ['a policy without a list', { access: { policy } }, 'access'],
    ['a policy that is none', { access: [null] }, 'access[0]'],
    ['a policy of another type', { access: [{ policy: { reference: 'Patient/pat' } }] }, 'access[0].policy'],
    ['no reference', { accessPolicy: {} }, 'accessPolicy'],
    ['no policy', { accessPolicy: null }, 'accessPolicy'],
    ['an unknown element', { accesPolicy: policy }, 'accesPolicy'],
    ['an extension of the policy', { _accessPolicy: { extension: [] } }, '_accessPolicy'],
    ['a parameter without value', { access: [{ policy, parameter: [{ name: 'a' }] }] }, 'access[0].parameter[0]'],
    ['a parameter without a list', { access: [{ policy, parameter: {} }] }, 'access[0].parameter'],
    [
      'a foreign reference beside a good one',
      {
        access: [
          {
            policy,
            parameter: [
              { name: 'a', valueString: 'x' },
              { name: 'a', valueReference: { reference: 'https://elsewhere.example/Patient/1' } },
            ],
          },
        ],
      },
      'access[0].parameter[1]',
    ],
  ])('prevents sign-in, and no default replaces its policies: %s', async (_, more, path) => {
    const store = await clinic();
    await plant(store, policyOf({ resource: [{}] }, 'good'));
    const caller = await signedIn(store);
    const [found] = await store.read([{ project: 'clinic', type: 'ProjectMembership', id: caller.membership }]);
    if (found?.status !== 'found') throw new Error('The membership is gone');
    await plant(store, { ...found.resource, ...more });
    const fault = await faultOf(signIn(store, { membership: caller.membership }));
    expect({ code: fault.code, at: fault.issues[0]!.expression }).toEqual({
      code: 'policy-invalid',
      at: [`ProjectMembership.${path}`],
    });
  });

  test.each(['false', 0, null])('is inactive if active is %j', async (active) => {
    const store = await clinic();
    const caller = await signedIn(store);
    const [found] = await store.read([{ project: 'clinic', type: 'ProjectMembership', id: caller.membership }]);
    if (found?.status !== 'found') throw new Error('The membership is gone');
    await plant(store, { ...found.resource, active } as AnyResource);
    expect((await faultOf(signIn(store, { membership: caller.membership }))).code).toBe('membership-inactive');
  });
});

test('a value that is not an id leaves no value at all, so that ":not" excludes no less', async () => {
  const store = await clinic();
  const trusted = repositoryOf(store, systemCaller('clinic'));
  for (const id of ['north', 'south']) {
    await trusted.update({ resourceType: 'Organization', id });
    await trusted.update({ resourceType: 'Patient', id, managingOrganization: { reference: `Organization/${id}` } });
  }
  const caller = await signedIn(store, {
    rules: [{ resourceType: 'Patient', criteria: 'Patient?organization:not=Organization/%org.id' }],
    parameters: [
      { name: 'org', valueReference: { reference: 'Organization/north' } },
      { name: 'org', valueString: 'Organization/south' },
    ],
  });
  expect((await repositoryOf(store, caller).search('Patient')).entry ?? []).toEqual([]);
});
