import type { Binary, Bundle } from '@medplum/fhirtypes';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import {
  createRepository,
  executeFhirGraphql,
  MemoryStore,
  type Repository,
  type ResourceStore,
  systemCaller,
} from '../../src/index.js';
import { PostgresStore } from '../../src/postgres.js';
import { SqliteStore } from '../../src/sqlite.js';
import { maskError } from '../../src/fhir/error.js';
import { postgresPool } from '../stores/postgres/pool.js';
import { enrol, type RuleJson } from './policies.js';
import { someOf } from '../support/chance.js';
import { fill, plain } from './world.js';

const OWN: RuleJson = { resourceType: 'Patient', criteria: 'Patient?gender=female' };
const CHAINED: RuleJson = { resourceType: 'Observation', criteria: 'Observation?subject:Patient.gender=female' };

/** Binaries by id, and their security contexts. */
const CONTEXTS = {
  own: { reference: 'Patient/her' },
  other: { reference: 'Patient/him' },
  'own-observation': { reference: 'Observation/hers' },
  'other-observation': { reference: 'Observation/his' },
  'unruled-type': { reference: 'Encounter/e1' },
  broken: { reference: 'Patient/nobody' },
  external: { reference: 'https://elsewhere.example/Patient/her' },
  nameless: { display: 'somebody' },
  'through-own': { reference: 'Binary/own' },
  'through-open': { reference: 'Binary/open' },
  itself: { reference: 'Binary/itself' },
  open: undefined,
} as const;
const VISIBLE = ['open', 'own', 'own-observation', 'through-open'];

const STORES: readonly (readonly [string, () => ResourceStore | Promise<ResourceStore>])[] = [
  ['memory', () => new MemoryStore()],
  ['SQLite', () => new SqliteStore(':memory:')],
  ['PostgreSQL', async () => new PostgresStore(await postgresPool())],
];

describe.each(someOf(STORES, 1))('a Binary with a security context, on a %s store', (_, open) => {
  let store: ResourceStore;
  let repository: Repository;

  beforeEach(async () => {
    store = await open();
    await fill(store, 'alpha', [
      plain({ resourceType: 'Practitioner', id: 'dr1' }),
      plain({ resourceType: 'Patient', id: 'her', gender: 'female' }),
      plain({ resourceType: 'Patient', id: 'him', gender: 'male' }),
      plain({ resourceType: 'Encounter', id: 'e1', status: 'planned', class: { code: 'AMB' } }),
      plain({ resourceType: 'Observation', id: 'hers', subject: { reference: 'Patient/her' } }),
      plain({ resourceType: 'Observation', id: 'his', subject: { reference: 'Patient/him' } }),
      ...Object.entries(CONTEXTS).map(([id, securityContext]) =>
        plain({ resourceType: 'Binary', id, contentType: 'text/plain', securityContext }),
      ),
    ]);
    repository = await signedIn(OWN, CHAINED, { resourceType: 'Binary' });
  });

  afterEach(() => store.close());

  test('is read by callers who can read the context', async () => {
    const read = await Promise.all(Object.keys(CONTEXTS).map((id) => codeOf(repository.read('Binary', id))));
    const expected = Object.keys(CONTEXTS).map((id) => (VISIBLE.includes(id) ? 'found' : 'not-found'));
    expect(read).toEqual(expected);
    expect(await codeOf(repository.vread('Binary', 'other', '1'))).toBe('not-found');
    expect(await codeOf(repository.history('Binary', 'other'))).toBe('not-found');
    expect((await repository.history('Binary', 'own')).total).toBe(1);
  });

  test('is searched and counted by callers who can read the context', async () => {
    const found = await repository.search('Binary', '_total=accurate');
    expect([idsOf(found), found.total]).toEqual([VISIBLE, 4]);
    const page = await repository.search('Binary', '_total=accurate&_count=3');
    expect([idsOf(page), page.total]).toEqual([VISIBLE.slice(0, 3), 4]);
    const patients = await repository.search('Patient', '_has:Binary:security-context:_id=own,other');
    expect(idsOf(patients)).toEqual(['her']);
  });

  test('is queried by callers who can read the context', async () => {
    const { data } = await ask('{ BinaryList { id } own: Binary(id: "own") { id } BinaryConnection { count } }');
    expect(data).toEqual({
      BinaryList: VISIBLE.map((id) => ({ id })),
      own: { id: 'own' },
      BinaryConnection: { count: 4 },
    });
    expect((await ask('{ Binary(id: "other") { id } }')).errors).toHaveLength(1);
  });

  test('is written by callers who can read the context, before and after the write', async () => {
    const binary = (reference?: string): Binary => ({
      resourceType: 'Binary',
      contentType: 'text/plain',
      ...(reference === undefined ? {} : { securityContext: { reference } }),
    });
    expect(await codeOf(repository.create(binary()))).toBe('found');
    expect(await codeOf(repository.create(binary('Patient/her')))).toBe('found');
    const refused = await Promise.all(
      ['Patient/him', 'Patient/nobody', 'Encounter/e1'].map((one) => codeOf(repository.create(binary(one)))),
    );
    expect(refused).toEqual(['forbidden', 'forbidden', 'forbidden']);
    expect(await codeOf(repository.update({ ...binary('Observation/hers'), id: 'own' }))).toBe('found');
    expect(await codeOf(repository.update({ ...binary('Patient/him'), id: 'own' }))).toBe('forbidden');
    expect(await codeOf(repository.update({ ...binary('Patient/her'), id: 'other' }))).toBe('not-found');
    expect(await codeOf(repository.patch('Binary', 'other', [{ op: 'remove', path: '/securityContext' }]))).toBe('not-found'); // prettier-ignore
    expect(await codeOf(repository.delete('Binary', 'other'))).toBe('not-found');
    expect(await codeOf(repository.delete('Binary', 'own'))).toBe('found');
  });

  test('is out of reach without a rule for Binary, and within reach of callers with a whole project', async () => {
    expect((await (await signedIn(OWN)).search('Binary', '')).entry).toBeUndefined();
    const whole = await enrol(store, 'alpha', { profile: 'Practitioner/dr1', policies: [], access: [] });
    const found = await createRepository({ store, caller: whole }).search('Binary', '');
    expect(idsOf(found)).toEqual(['open', 'other', 'other-observation', 'own', 'own-observation', 'through-open', 'unruled-type']); // prettier-ignore
    const trusted = createRepository({ store, caller: systemCaller('alpha') });
    expect(idsOf(await trusted.search('Binary', ''))).toEqual(Object.keys(CONTEXTS).sort());
  });

  test('follows its context', async () => {
    await fill(store, 'alpha', [plain({ resourceType: 'Patient', id: 'her', gender: 'male' })]);
    expect(idsOf(await repository.search('Binary', ''))).toEqual(['open', 'through-open']);
    await fill(store, 'alpha', [plain({ resourceType: 'Patient', id: 'nobody', gender: 'female' })]);
    expect(idsOf(await repository.search('Binary', ''))).toEqual(['broken', 'open', 'through-open']);
  });

  async function signedIn(...resource: RuleJson[]): Promise<Repository> {
    const access = [{ policy: 0, parameters: [] }];
    const caller = await enrol(store, 'alpha', { profile: 'Practitioner/dr1', policies: [{ resource }], access });
    ask = (query) => executeFhirGraphql(query, { store, caller });
    return createRepository({ store, caller });
  }
  let ask: (query: string) => ReturnType<typeof executeFhirGraphql>;
});

function idsOf({ entry = [] }: Bundle): (string | undefined)[] {
  return entry.map(({ resource }) => resource?.id);
}

function codeOf(call: Promise<unknown>): Promise<string> {
  return call.then(
    () => 'found',
    (error: unknown) => maskError(error).code,
  );
}
