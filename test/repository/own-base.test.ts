import type { Observation, Patient, Resource } from '@medplum/fhirtypes';
import { describe, expect, onTestFinished, test } from 'vitest';
import { createFhirHandler } from '../../src/http.js';
import {
  createFhirGraphql,
  createRepository,
  erasePatient,
  executeFhirGraphql,
  FhirError,
  importBundle,
  MemoryStore,
  narrowCaller,
  type Repository,
  type ResourceStore,
  signIn,
  systemCaller,
} from '../../src/index.js';
import { pglitePool, PostgresStore } from '../../src/postgres.js';
import { SqliteStore } from '../../src/sqlite.js';
import { R4 } from '../../src/store.js';
import { everything } from '../../src/repository/everything.js';
import { openRepository } from '../../src/repository/open-repository.js';
import { namedStores } from '../support/named-stores.js';
import { newDatabase, postgresPool } from '../stores/postgres/pool.js';
import { temporaryFolder } from '../stores/temporary-folder.js';
import { codeOf, repositoryOf, signedIn, system } from './harness.js';

const BASE = 'https://own.base/fhir';
const caller = systemCaller('clinic');

function about(id: string, reference: string, encounter?: string): Observation {
  return {
    resourceType: 'Observation',
    id,
    status: 'final',
    code: { text: 'x' },
    subject: { reference },
    ...(encounter === undefined ? {} : { encounter: { reference: encounter } }),
  };
}

const ann: Patient = {
  resourceType: 'Patient',
  id: 'ann',
  name: [{ family: 'Hill' }],
  managingOrganization: { reference: `${BASE}/Organization/north` },
};
const RESOURCES: readonly Resource[] = [
  { resourceType: 'Organization', id: 'north', name: 'North' },
  ann,
  { resourceType: 'Patient', id: 'bob', name: [{ family: 'Dale' }] },
  {
    resourceType: 'Encounter',
    id: 'visit',
    status: 'finished',
    class: { code: 'AMB' },
    subject: { reference: 'Patient/ann' },
  },
  about('absolute', `${BASE}/Patient/ann`, `${BASE}/Encounter/visit`),
  about('bob', `${BASE}/Patient/bob`),
  about('elsewhere', 'https://elsewhere.org/fhir/Patient/ann'),
  about('longer', `${BASE}/Patient/ann-2`),
  about('relative', 'Patient/ann', 'Encounter/visit'),
  about('versioned', `${BASE}/Patient/ann/_history/1`),
];
const OBSERVATIONS = RESOURCES.flatMap(({ resourceType, id }) => (resourceType === 'Observation' ? id! : []));
const ofAnn = ['absolute', 'relative', 'versioned'];

const SEARCHES: readonly (readonly [type: string, query: string, ids: readonly string[]])[] = [
  ['Observation', 'subject=Patient/ann', ofAnn],
  ['Observation', `subject=${BASE}/Patient/ann`, ofAnn],
  ['Observation', `subject=${BASE}/Patient/ann/_history/1`, ofAnn],
  ['Observation', 'subject=ann', ofAnn],
  ['Observation', 'patient=ann', ofAnn],
  ['Observation', 'subject:Patient=ann', ofAnn],
  ['Observation', 'subject=Patient/ann,Patient/bob', ['absolute', 'bob', 'relative', 'versioned']],
  ['Observation', 'subject:not=Patient/ann', ['bob', 'elsewhere', 'longer']],
  ['Observation', '_filter=subject re Patient/ann', ofAnn],
  ['Observation', '_filter=subject ne Patient/ann', ['bob', 'elsewhere', 'longer']],
  ['Observation', 'subject=https://elsewhere.org/fhir/Patient/ann', ['elsewhere']],
  ['Observation', 'subject:Patient.family=hill', ofAnn],
  ['Observation', 'subject:Patient.organization.name=north', ofAnn],
  ['Observation', 'subject:Patient.organization=Organization/north', ofAnn],
  ['Observation', 'encounter.patient.family=hill', ['absolute', 'relative']],
  ['Observation', 'subject:Patient._has:Encounter:patient:status=finished', ofAnn],
  ['Patient', '_has:Observation:patient:status=final', ['ann', 'bob']],
  ['Patient', `_has:Observation:patient:encounter=${BASE}/Encounter/visit`, ['ann']],
  ['Patient', 'organization=north', ['ann']],
  ['Organization', '_has:Patient:organization:_has:Observation:patient:_id=versioned', ['north']],
];

async function write(store: ResourceStore): Promise<void> {
  const trusted = await system(store);
  for (const resource of RESOURCES) await trusted.update(resource);
}

async function idsIn(repository: Repository, type: string, query: string): Promise<readonly unknown[]> {
  const { entry = [] } = await repository.search(type as 'Patient', query);
  return entry.map(({ resource }) => resource!.id);
}

describe.each(
  namedStores<[string, (baseUrl: string | undefined) => Promise<ResourceStore>]>([
    ['memory', async (baseUrl) => new MemoryStore({ baseUrl })],
    ['SQLite', async (baseUrl) => new SqliteStore(':memory:', { baseUrl })],
    ['PostgreSQL', async (baseUrl) => new PostgresStore(await postgresPool(), { baseUrl, takeOver: true })],
  ]),
)('absolute references below the base URL of a store in %s', (_, open) => {
  async function filled(baseUrl: string | undefined): Promise<ResourceStore> {
    const store = await open(baseUrl);
    onTestFinished(() => store.close());
    await write(store);
    return store;
  }

  test('are found, ordered, included and resolved as relative ones', async () => {
    const store = await filled(`${BASE}/`);
    const repository = createRepository({ store, caller });
    for (const [type, query, ids] of SEARCHES) {
      const { entry = [], total } = await repository.search(type as 'Patient', `${query}&_total=accurate`);
      expect([query, entry.map(({ resource }) => resource!.id), total]).toEqual([query, ids, ids.length]);
    }
    expect(await idsIn(repository, 'Observation', '_sort=subject')).toEqual([...ofAnn, 'longer', 'bob', 'elsewhere']);
    const included = await repository.search('Observation', '_id=absolute&_include=Observation:encounter');
    expect(included.entry?.map(({ fullUrl }) => fullUrl)).toEqual([
      ...[`${BASE}/Observation/absolute`, `${BASE}/Encounter/visit`],
    ]);
    const record = await everything(
      openRepository({ store, caller }),
      { type: 'Patient', id: 'ann' },
      new URLSearchParams(),
    );
    expect(record.entry?.map(({ resource }) => resource!.id).sort()).toEqual([
      ...['absolute', 'ann', 'north', 'relative', 'versioned', 'visit'],
    ]);
    const query = `{
      PatientList(_sort: "_id") {
        id ObservationList(_reference: patient, _sort: "_id") { id subject { resource { ... on Patient { id } } } }
        ObservationConnection(_reference: subject) { count }
      }
      ObservationList(patient: "ann") { id }
    }`;
    const answered = (patient: string, ids: readonly string[]): object => ({
      id: patient,
      ObservationList: ids.map((id) => ({ id, subject: { resource: { id: patient } } })),
      ObservationConnection: { count: ids.length },
    });
    expect(await executeFhirGraphql(query, { store, caller })).toEqual({
      data: {
        PatientList: [answered('ann', ofAnn), answered('bob', ['bob'])],
        ObservationList: ofAnn.map((id) => ({ id })),
      },
    });
  });

  test('are local in conditional writes and in the Bundle of an import', async () => {
    const store = await filled(BASE);
    const created = { ...about('new', 'Patient/bob'), id: undefined };
    const { entry } = await createRepository({ store, caller }).transaction({
      resourceType: 'Bundle',
      type: 'transaction',
      entry: [
        {
          resource: created,
          request: { method: 'POST', url: 'Observation', ifNoneExist: `subject=${BASE}/Patient/bob` },
        },
        { request: { method: 'GET', url: `${BASE}/Patient/ann` } },
      ],
    } as never);
    expect(entry!.map(({ response }) => response!.status.slice(0, 3))).toEqual(['200', '200']);
    const conditional = {
      ...about('conditional', 'Organization?_has:Patient:organization:family=hill'),
      id: undefined,
    };
    const imported = await importBundle(
      {
        resourceType: 'Bundle',
        type: 'transaction',
        entry: [{ resource: { ...conditional }, request: { method: 'POST', url: 'Observation' } }],
      },
      { store, caller },
    );
    expect(imported.bundle.entry![0]!.response!.status).toMatch(/^201/);
  });

  test('lead to another server if the store has no base URL, whatever that of the service', async () => {
    const store = await filled(undefined);
    for (const baseUrl of [undefined, BASE]) {
      const repository = createRepository({ store, caller, baseUrl });
      expect(await idsIn(repository, 'Observation', 'subject=Patient/ann')).toEqual(['relative']);
      expect(await idsIn(repository, 'Observation', `subject=${BASE}/Patient/ann`)).toEqual(['absolute', 'versioned']);
      expect(await idsIn(repository, 'Observation', 'subject:Patient.family=hill')).toEqual(['relative']);
    }
  });

  test.each([
    ['with the base URL', BASE, ofAnn],
    ['without a base URL', undefined, ['relative']],
    ['with another one', 'https://elsewhere.org/fhir', ['elsewhere', 'relative']],
  ])('belong to the compartment of their patient, and to no other, %s', async (_name, baseUrl, seen) => {
    const store = await filled(baseUrl);
    const mine = repositoryOf(store, await signedIn(store, { profile: ann }));
    expect(await idsIn(mine, 'Observation', '_sort=_id')).toEqual(seen);
    const read: string[] = [];
    for (const id of OBSERVATIONS)
      await mine.read('Observation', id).then(
        () => read.push(id),
        () => undefined,
      );
    expect(read).toEqual(seen);
    const query = '{ ObservationList(_sort: "_id") { id } }';
    expect(await executeFhirGraphql(query, { store, caller: await signedIn(store, { profile: ann }) })).toEqual({
      data: { ObservationList: seen.map((id) => ({ id })) },
    });
  });

  test('are written under the same rules as they are read, in policies too', async () => {
    const store = await filled(BASE);
    for (const criteria of ['subject:Patient.family=hill', `subject=${BASE}/Patient/ann`, 'subject=Patient/ann']) {
      const rules = [
        { resourceType: 'Patient' },
        { resourceType: 'Observation', criteria: `Observation?${criteria}` },
      ] as const;
      const mine = repositoryOf(store, await signedIn(store, { profile: ann, rules }));
      expect(await idsIn(mine, 'Observation', '_sort=_id&_id:not=new')).toEqual(ofAnn);
      for (const reference of [`${BASE}/Patient/ann`, 'Patient/ann', `${BASE}/Patient/ann/_history/1`]) {
        const { id: _id, ...created } = about('', reference);
        const made = await mine.create(created);
        expect(made.subject).toEqual({ reference });
        await createRepository({ store, caller }).delete('Observation', made.id);
      }
      for (const reference of [`${BASE}/Patient/bob`, 'https://elsewhere.org/fhir/Patient/ann'])
        expect(await codeOf(mine.create({ ...about('', reference), id: undefined } as never))).toBe('forbidden');
    }
  });

  test('name the compartment and the parameters of a policy, and who signs in', async () => {
    const store = await filled(BASE);
    const trusted = await system(store);
    const seenBy = async (rule: object, more: object = {}): Promise<readonly unknown[]> => {
      const rules = [{ resourceType: 'Observation', ...rule }] as never;
      const member = await signedIn(store, {
        rules,
        ...more,
        parameters: [{ name: 'of', valueReference: { reference: `${BASE}/Patient/ann` } }],
      });
      return idsIn(repositoryOf(store, member), 'Observation', '_sort=_id');
    };
    const mother = {
      resourceType: 'RelatedPerson',
      id: 'mother',
      patient: { reference: `${BASE}/Patient/ann` },
    } as const;
    expect(await seenBy({ compartment: { reference: `${BASE}/Patient/ann` } })).toEqual(ofAnn);
    expect(await seenBy({ criteria: `Observation?_compartment=${BASE}/Patient/ann` })).toEqual(ofAnn);
    expect(await seenBy({ criteria: 'Observation?subject=%of' })).toEqual(ofAnn);
    expect(await seenBy({ compartment: { reference: '%patient' } }, { profile: mother })).toEqual(ofAnn);
    const { user } = await signedIn(store);
    await trusted.update({
      resourceType: 'ProjectMembership',
      id: 'absolute',
      project: { reference: 'Project/clinic' },
      user: { reference: `${BASE}/${user}` },
      profile: { reference: `${BASE}/Patient/ann` },
    } as never);
    const signed = await signIn(store, { membership: 'absolute' });
    expect([signed.user, signed.profile]).toEqual([user, 'Patient/ann']);
  });

  test('are erased with their patient', async () => {
    const store = await filled(BASE);
    if (store.removal === undefined) return;
    const trusted = await system(store);
    await trusted.update({
      resourceType: 'Binary',
      id: 'scan',
      contentType: 'image/png',
      data: 'AA==',
      securityContext: { reference: `${BASE}/Patient/ann` },
    });
    await trusted.update({
      resourceType: 'DocumentReference',
      id: 'letter',
      status: 'current',
      subject: { reference: `${BASE}/Patient/ann` },
      content: [{ attachment: { url: `${BASE}/Binary/scan` } }],
    });
    const { erased } = await erasePatient('ann', { store, caller, reason: 'test-data' });
    const others = ['Binary/scan', 'DocumentReference/letter', 'Encounter/visit', 'Patient/ann'];
    expect([...erased].sort()).toEqual([...others, ...ofAnn.map((id) => `Observation/${id}`)].sort());
  });

  test('reach those who follow their patient', async () => {
    const store = await filled(BASE);
    const stop = new AbortController();
    const repository = createRepository({ store, caller });
    const heard = repository.subscribe('Observation', 'subject=Patient/ann', { signal: stop.signal });
    const next = heard.next();
    await repository.update(about('bob', `${BASE}/Patient/bob/_history/1`));
    await repository.update(about('heard', `${BASE}/Patient/ann`));
    expect(await next).toMatchObject({ value: { event: 'enter', id: 'heard' } });
    stop.abort();
  });
});

describe('a store that opens with another base URL', () => {
  const fileNamed = temporaryFolder();
  const query = { project: 'clinic', type: 'Observation', sort: [{ parameter: '_id', descending: false }] } as const;
  const subject = {
    kind: 'match',
    parameter: 'subject',
    test: { kind: 'reference', types: ['Patient'], id: 'ann' },
  } as const;

  test.each(
    namedStores<[string, () => Promise<(baseUrl?: string) => SqliteStore | PostgresStore>]>([
      [
        'SQLite',
        async () => (baseUrl) => new SqliteStore(fileNamed('base.db'), { takeOver: true, reindex: 'manual', baseUrl }),
      ],
      [
        'PostgreSQL',
        async () => {
          const database = await newDatabase();
          return (baseUrl) => new PostgresStore(pglitePool(database), { takeOver: true, reindex: 'manual', baseUrl });
        },
      ],
    ]),
  )('indexes references again, and answers by the new one, in %s', async (_, opening) => {
    const open = await opening();
    const found = async (store: ResourceStore): Promise<readonly unknown[]> =>
      (await store.search({ ...query, criteria: subject })).matches.map(({ resource }) => resource.id);
    const first = open();
    await write(first);
    expect(await found(first)).toEqual(['relative']);
    await first.close();
    for (const [baseUrl, ids] of [
      [BASE, ofAnn],
      ['https://elsewhere.org/fhir', ['elsewhere', 'relative']],
      [undefined, ['relative']],
    ] as const) {
      const store = open(baseUrl);
      const pending = await store.pendingParameters('clinic');
      expect(pending).toContainEqual({ type: 'Observation', parameter: 'subject' });
      for (const { type, parameter } of pending)
        expect(R4.searchParameter(type, parameter)?.type).toMatch(/^(?:reference|composite)$/);
      await expect(store.search({ ...query, criteria: subject })).rejects.toMatchObject({ code: 'unavailable' });
      const status = { kind: 'match', parameter: 'status', test: { kind: 'token', code: 'final' } } as const;
      expect((await store.search({ ...query, criteria: status })).matches).toHaveLength(OBSERVATIONS.length);
      await store.reindex({ pendingOnly: true });
      expect(await found(store)).toEqual(ids);
      expect((await store.verify()).problems).toEqual([]);
      await store.close();
    }
  });
});

describe('the base URL of a service', () => {
  const store = new MemoryStore({ baseUrl: `${BASE}/` });
  const refused = new FhirError('invalid', 'baseUrl must be the one of the store, or be left out');

  test('is that of its store, and another one is refused', async () => {
    const patient = await createRepository({ store, caller }).create({ resourceType: 'Patient' });
    const { entry, link } = await createRepository({ store, caller, baseUrl: BASE }).search('Patient', '');
    expect([entry![0]!.fullUrl, link![0]!.url]).toEqual([`${BASE}/Patient/${patient.id}`, `${BASE}/Patient?_count=20`]);
    const baseUrl = 'https://elsewhere.org/fhir';
    expect(() => createRepository({ store, caller, baseUrl })).toThrow(refused);
    const handler = { store, audit: false, signIn: () => caller } as const;
    expect(() => createFhirHandler({ ...handler, baseUrl })).toThrow(refused);
    expect(() => createFhirGraphql({ store, baseUrl })).toThrow('only the store uses it');
    await expect(importBundle({ resourceType: 'Bundle', type: 'batch' }, { store, caller, baseUrl })).rejects.toThrow(
      refused.message,
    );
    const answer = await createFhirHandler(handler)(new Request(`${BASE}/Patient/${patient.id}`));
    expect(answer.status).toBe(200);
  });

  test.each([
    ...['/fhir', 'ftp://own.base', 'https://own.base/fhir?a=b', 'https://own.base#a', 'https://own.base/fhir?'],
    ...['https://own.base/#', 'https:own.base', 'https://own.base//', 'https://own.base//fhir', ' https://own.base'],
    ...[
      'https://own.base/fhir\n',
      'https://own.base/my fhir',
      'https://own\t.base',
      'https://me@own.base',
      '',
      7 as never,
    ],
  ])('is refused by stores and services if it is %j', (baseUrl) => {
    const plain = new MemoryStore();
    for (const open of [
      () => new MemoryStore({ baseUrl }),
      () => new SqliteStore(':memory:', { baseUrl }),
      () => R4.withBaseUrl(baseUrl),
      () => createRepository({ store: plain, caller: systemCaller('clinic'), baseUrl }),
      () => createFhirHandler({ store: plain, baseUrl, signIn: () => undefined, audit: false }),
    ])
      expect(open).toThrow('baseUrl must be an absolute URL such as https://clinic.example/fhir/R4');
  });

  test.each(['HTTPS://Own.Base/fhir', 'https://own.base:443/fhir/', 'https://own.base/a/../fhir'])(
    'is the same in another form: %s',
    (baseUrl) => {
      expect(R4.withBaseUrl(baseUrl)).toBe(R4.withBaseUrl('https://own.base/fhir'));
      const own = new MemoryStore({ baseUrl: 'https://own.base/fhir' });
      expect(() => createRepository({ store: own, caller: systemCaller('clinic'), baseUrl })).not.toThrow();
    },
  );

  test('is that of a conditional reference in a transaction, and of the patient of a narrowed caller', async () => {
    const own = new MemoryStore({ baseUrl: BASE });
    const repository = await system(own);
    await repository.update({ ...ann, identifier: [{ system: 'urn:mrn', value: '7' }] });
    const url = 'Observation/o1';
    const resource = about('o1', `${BASE}/Patient?identifier=urn:mrn|7`);
    const entry = [{ resource, request: { method: 'PUT', url } as const }];
    await repository.transaction({ resourceType: 'Bundle', type: 'transaction', entry });
    expect((await repository.read('Observation', 'o1')).subject).toEqual({ reference: 'Patient/ann' });
    const member = await signedIn(own, { rules: [{ resourceType: 'Observation' }] });
    const narrow = (patient: string): Repository =>
      createRepository({ store: own, caller: narrowCaller(member, { scopes: 'patient/Observation.rs', patient }) });
    expect(await idsIn(narrow(`${BASE}/Patient/ann`), 'Observation', '')).toEqual(['o1']);
    expect(() => narrow('https://elsewhere.org/fhir/Patient/ann')).toThrow('The patient must be named by its id');
  });

  test('makes one model of the same definitions', () => {
    expect(store.model).toBe(R4.withBaseUrl(BASE));
    expect([R4.baseUrl, store.model.baseUrl, store.model.fingerprint]).toEqual([undefined, BASE, R4.fingerprint]);
  });
});
