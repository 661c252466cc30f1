import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import {
  type AnyResource,
  executeFhirGraphql,
  MemoryStore,
  printFhirSchema,
  type ResourceStore,
  searchMembers,
  signIn,
  systemCaller,
} from '../../src/index.js';
import { checkPolicies } from '../../src/access.js';
import { type FhirModel, indexEntries, R4, SERVER_SCOPE } from '../../src/store.js';
import { SqliteStore } from '../../src/sqlite.js';
import { fieldPaths } from '../../src/access/fields/hidden-fields.js';
import { elementsRead } from '../../src/search/index/elements-read.js';
import { validateResource } from '../../src/fhir/validate-resource.js';
import { parse } from '../../src/graphql/graphql-js.js';
import { valueTraits } from '../../src/search/index/value-traits.js';
import { parameterFingerprints } from '../../src/search/index/parameter-fingerprints.js';
import { postgresDialect } from '../../src/stores/postgres/rows/dialect.js';
import { otherModel } from './other-model.js';

type Elements = { readonly [name: string]: unknown };

const PROJECT = 'clinic';

const PEOPLE: readonly Elements[] = [
  { resourceType: 'Patient', id: 'p1', nickname: ['Zed'], communication: [{ language: { coding: [{ code: 'de' }] } }] },
  { resourceType: 'Patient', id: 'p2', nickname: ['De Luxe'] },
  { resourceType: 'Observation', id: 'about-p1', status: 'final', code: {}, subject: { reference: 'Patient/p1' } },
  { resourceType: 'Observation', id: 'by-p1', status: 'final', code: {}, performer: [{ reference: 'Patient/p1' }] },
  { resourceType: 'RelatedPerson', id: 'r1', name: [{ family: 'Mum' }], patient: { reference: 'Patient/p1' } },
];

const POLICIES: readonly Elements[] = [
  policy('by-language', { resourceType: 'Patient', criteria: 'Patient?language=de' }),
  policy('nickname-hidden', { resourceType: 'Patient', hiddenFields: ['nickname'] }),
  policy('hidden-everywhere', { resourceType: '*', hiddenFields: ['maritalStatus'] }),
  policy('of-ships', {
    resourceType: 'Patient',
    writeConstraint: [{ language: 'text/fhirpath', expression: '%after is Spaceship' }],
  }),
];

function policy(id: string, rule: Elements): Elements {
  return { resourceType: 'AccessPolicy', id, name: id, resource: [rule] };
}

/** A store of each kind under each model, all with the same resources. */
interface World {
  readonly r4: ResourceStore;
  readonly other: ResourceStore;
}

let other: FhirModel;
const worlds: { [kind: string]: World } = {};

beforeAll(async () => {
  other = await otherModel();
  worlds['memory'] = { r4: new MemoryStore(), other: new MemoryStore({ model: other }) };
  worlds['SQLite'] = { r4: new SqliteStore(':memory:'), other: new SqliteStore(':memory:', { model: other }) };
  for (const { r4, other } of Object.values(worlds)) {
    await fill(r4);
    await fill(other);
  }
});

afterAll(async () => {
  for (const { r4, other } of Object.values(worlds)) {
    await r4.close();
    await other.close();
  }
});

async function fill(store: ResourceStore): Promise<void> {
  const put = (project: string, elements: Elements) => ({
    kind: 'put' as const,
    key: { project, type: elements['resourceType'] as string, id: elements['id'] as string },
    resource: elements as unknown as AnyResource,
  });
  const members = [
    member('patient', 'Patient/p1'),
    member('relative', 'RelatedPerson/r1'),
    ...POLICIES.map(({ id }) =>
      member(id as string, 'Patient/p1', { accessPolicy: { reference: `AccessPolicy/${id as string}` } }),
    ),
  ];
  await store.commit([
    put(SERVER_SCOPE, { resourceType: 'Project', id: PROJECT, name: 'Clinic' }),
    put(SERVER_SCOPE, { resourceType: 'User', id: 'u', firstName: 'Ann', lastName: 'Lee' }),
    ...[...PEOPLE, ...POLICIES, ...members].map((elements) => put(PROJECT, elements)),
    ...members.map((elements) => put(SERVER_SCOPE, elements)),
    put(PROJECT, { resourceType: 'Spaceship', id: 's1', name: 'Enterprise', pilot: { reference: 'Patient/p1' } }),
  ]);
}

function member(id: string, profile: string, more: Elements = {}): Elements {
  const project = { reference: `Project/${PROJECT}` };
  return {
    resourceType: 'ProjectMembership',
    id,
    project,
    user: { reference: 'User/u' },
    profile: { reference: profile },
    ...more,
  };
}

async function ask(
  store: ResourceStore,
  query: Parameters<typeof executeFhirGraphql>[0],
  caller = systemCaller(PROJECT) as Parameters<typeof executeFhirGraphql>[1]['caller'],
): Promise<unknown> {
  const { data, errors } = await executeFhirGraphql(query, { store, caller });
  return errors === undefined ? data : errors.map(({ message }) => message);
}

/** Queries one after the other and both again, so that each answer comes after the other model's. */
async function both<Answer>(
  world: World,
  question: (store: ResourceStore) => Promise<Answer>,
): Promise<{ readonly r4: Answer; readonly other: Answer }> {
  const r4 = await question(world.r4);
  const other = await question(world.other);
  expect(await question(world.r4)).toEqual(r4);
  expect(await question(world.other)).toEqual(other);
  return { r4, other };
}

const ids = (...list: readonly string[]): unknown => list.map((id) => ({ id }));

describe.each(['memory', 'SQLite'])('two models in one process, on %s', (kind) => {
  const world = (): World => worlds[kind]!;

  test('use one text with two meanings of a search parameter', async () => {
    const query = '{ PatientList(language: "de") { id } }';
    expect(await both(world(), (store) => ask(store, query))).toEqual({
      r4: { PatientList: ids('p1') },
      other: { PatientList: ids('p2') },
    });
  });

  test('use one parsed document that is valid for one of them', async () => {
    const document = parse('{ Patient(id: "p1") { nickname } }');
    const answers = await both(world(), (store) => ask(store, document));
    expect(answers.r4).toEqual([expect.stringContaining('Cannot query field "nickname" on type "Patient"')]);
    expect(answers.other).toEqual({ Patient: { nickname: ['Zed'] } });
  });

  test('a search parameter that needs the FHIRPath library', async () => {
    const answers = await both(world(), (store) => ask(store, '{ PatientList(initial: "d") { id } }'));
    expect(answers.r4).toEqual([expect.stringContaining('Unknown argument "initial"')]);
    expect(answers.other).toEqual({ PatientList: ids('p2') });
  });

  test('an element that only one model has', async () => {
    const answers = await both(world(), (store) => ask(store, '{ Patient(id: "p1") { nickname } }'));
    expect(answers.r4).toEqual([expect.stringContaining('Cannot query field "nickname" on type "Patient"')]);
    expect(answers.other).toEqual({ Patient: { nickname: ['Zed'] } });
    const gone = await both(world(), (store) => ask(store, '{ Patient(id: "p1") { maritalStatus { text } } }'));
    expect(gone.r4).toEqual({ Patient: { maritalStatus: null } });
    expect(gone.other).toEqual([expect.stringContaining('Cannot query field "maritalStatus" on type "Patient"')]);
  });

  test('a type that only one model has, forwards and backwards', async () => {
    const query =
      '{ SpaceshipList(name: "enter") { pilot { resource { ... on Patient { SpaceshipList(_reference: pilot) { id } } } } } }';
    const answers = await both(world(), (store) => ask(store, query));
    expect(answers.r4).toContainEqual(expect.stringContaining('Cannot query field "SpaceshipList" on type "Query"'));
    expect(answers.other).toEqual({ SpaceshipList: [{ pilot: { resource: { SpaceshipList: ids('s1') } } }] });
    const basic = await both(world(), (store) => ask(store, '{ BasicList { id } }'));
    expect(basic.r4).toEqual({ BasicList: [] });
    expect(basic.other).toEqual([expect.stringContaining('Cannot query field "BasicList" on type "Query"')]);
  });

  test('FHIRPath knows the types of elements', async () => {
    const query = '{ PatientList(fhirpath: "nickname is string") { id } }';
    expect(await both(world(), (store) => ask(store, query))).toEqual({
      r4: { PatientList: [] },
      other: { PatientList: ids('p1', 'p2') },
    });
  });

  test('inputs of mutations', async () => {
    const query = 'mutation { PatientUpdate(id: "p3", res: { id: "p3", nickname: "Al" }) { id } }';
    const answers = await both(world(), (store) => ask(store, query));
    expect(answers.r4).toEqual([expect.stringContaining('ield "nickname" is not defined by type "PatientInput"')]);
    expect(answers.other).toEqual({ PatientUpdate: { id: 'p3' } });
    await world().other.commit([{ kind: 'delete', key: { project: PROJECT, type: 'Patient', id: 'p3' } }]);
  });

  test('introspection', async () => {
    const query = '{ __type(name: "Patient") { fields { name } } }';
    const answers = await both(world(), async (store) => {
      const { __type } = (await ask(store, query)) as { __type: { fields: { name: string }[] } };
      return __type.fields
        .map(({ name }) => name)
        .filter((name) => ['nickname', 'maritalStatus', 'SpaceshipList', 'BasicList'].includes(name));
    });
    expect(answers).toEqual({ r4: ['maritalStatus', 'BasicList'], other: ['nickname', 'SpaceshipList'] });
  });

  test('criteria of a policy', async () => {
    const seen = async (store: ResourceStore): Promise<unknown> =>
      ask(store, '{ PatientList { id } }', await signIn(store, { membership: 'by-language' }));
    expect(await both(world(), seen)).toEqual({ r4: { PatientList: ids('p1') }, other: { PatientList: ids('p2') } });
  });

  test.each([
    ['fields', 'nickname-hidden', 'policy-invalid', undefined],
    ['fields of any type', 'hidden-everywhere', undefined, 'policy-invalid'],
    ['types in write constraints', 'of-ships', 'policy-invalid', undefined],
  ])('%s in a policy', async (_, membership, r4, others) => {
    const refusal = (store: ResourceStore): Promise<string | undefined> =>
      signIn(store, { membership }).then(
        () => undefined,
        (error: { code: string }) => error.code,
      );
    expect(await both(world(), refusal)).toEqual({ r4, other: others });
  });

  test('the compartment of a patient', async () => {
    const seen = async (store: ResourceStore): Promise<unknown> =>
      ask(store, '{ ObservationList { id } }', await signIn(store, { membership: 'patient' }));
    expect(await both(world(), seen)).toEqual({
      r4: { ObservationList: ids('about-p1', 'by-p1') },
      other: { ObservationList: ids('by-p1') },
    });
    const ships = ask(
      world().other,
      '{ SpaceshipList { id } }',
      await signIn(world().other, { membership: 'patient' }),
    );
    expect(await ships).toEqual({ SpaceshipList: ids('s1') });
  });

  test('a caller works only with the definitions that it signed in with', async () => {
    const caller = await signIn(world().r4, { membership: 'patient' });
    expect(await ask(world().other, '{ ObservationList { id } }', caller)).toEqual([
      expect.stringContaining('other definitions'),
    ]);
  });

  test('names of members', async () => {
    const found = async (store: ResourceStore): Promise<unknown> => {
      const { entry = [] } = await searchMembers(
        PROJECT,
        { 'name:contains': 'mum' },
        { store, caller: systemCaller(PROJECT) },
      );
      return entry.map(({ resource }) => resource?.id);
    };
    expect(await both(world(), found)).toEqual({ r4: ['relative'], other: [] });
  });

  test('mistakes in policies', async () => {
    const found = async (store: ResourceStore): Promise<unknown> => {
      const findings: string[] = [];
      for await (const { resource } of checkPolicies({ project: PROJECT }, { store })) findings.push(resource);
      return findings;
    };
    expect(await both(world(), found)).toEqual({
      r4: [
        'AccessPolicy/nickname-hidden',
        'AccessPolicy/of-ships',
        'ProjectMembership/nickname-hidden',
        'ProjectMembership/of-ships',
      ],
      other: ['AccessPolicy/hidden-everywhere', 'ProjectMembership/hidden-everywhere'],
    });
  });
});

describe('two models in one process', () => {
  const models = (): readonly FhirModel[] => [R4, other, R4, other];

  test('validation', () => {
    const issues = (model: FhirModel): unknown =>
      validateResource(model, { resourceType: 'Patient', nickname: ['Zed'], gender: 'left' }, { strict: true }).map(
        ({ expression }) => expression,
      );
    expect(models().map(issues)).toEqual([
      [['Patient.nickname'], ['Patient.gender']],
      [],
      [['Patient.nickname'], ['Patient.gender']],
      [],
    ]);
  });

  test('index values', () => {
    const patient = PEOPLE[0] as unknown as AnyResource;
    const values = (model: FhirModel): unknown =>
      indexEntries(model, patient)
        .filter(({ parameter }) => parameter === 'language')
        .map(({ value }) => value.kind);
    expect(models().map(values)).toEqual([['token'], ['string'], ['token'], ['string']]);
  });

  test('fields that custom search parameters read', () => {
    const read = (model: FhirModel): unknown => elementsRead(model, 'Binary', 'security-context').paths;
    const asReference = ['securityContext.reference', 'securityContext.identifier', 'securityContext.type'];
    expect(models().map(read)).toEqual([asReference, ['securityContext'], asReference, ['securityContext']]);
    expect(models().map((model) => fieldPaths(model, 'Patient', 'nickname'))).toEqual([
      [],
      ['nickname'],
      [],
      ['nickname'],
    ]);
  });

  test('the elements that custom search parameters take their values from', () => {
    const strings = (model: FhirModel): string =>
      valueTraits(model, 'Binary', model.searchParameter('Binary', 'security-context')!).strings;
    expect(models().map(strings)).toEqual(['none', 'all', 'none', 'all']);
  });

  test('the printed schema', () => {
    const print = (model: FhirModel): boolean =>
      printFhirSchema({ model, types: ['Patient'] }).includes('  nickname: [String]');
    expect(models().map(print)).toEqual([false, true, false, true]);
    expect(printFhirSchema({ types: ['Patient'] })).toBe(printFhirSchema({ model: R4, types: ['Patient'] }));
  });

  test('parameters in PostgreSQL', () => {
    const isKnown = (model: FhirModel): boolean => postgresDialect(model).parameter('Spaceship', 'pilot') !== undefined;
    expect(models().map(isKnown)).toEqual([false, true, false, true]);
  });

  test('fingerprints', async () => {
    expect(R4.fingerprint).not.toBe(other.fingerprint);
    expect((await otherModel()).fingerprint).toBe(other.fingerprint);
    expect(models().map((model) => 'Spaceship' in parameterFingerprints(model))).toEqual([false, true, false, true]);
  });
});
