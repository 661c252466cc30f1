import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { extendDefinitions } from '../../src/definitions.js';
import {
  type Caller,
  createRepository,
  executeFhirGraphql,
  MemoryStore,
  type ResourceStore,
  serverCaller,
} from '../../src/index.js';
import { PostgresStore } from '../../src/postgres.js';
import { SqliteStore } from '../../src/sqlite.js';
import { R4 } from '../../src/store.js';
import { below, createRandom, oneOf, PROJECT, putAll, resourceOf } from '../support/kit.js';
import { signedIn, system } from '../repository/harness.js';
import { cases, SEED } from '../support/chance.js';
import { postgresPool } from './postgres/pool.js';

const WORDS = ['al', 'alice', 'ali', 'bob', 'mary', 'smith', 'smithers', 'jo', 'jones'];
const random = createRandom(SEED);
const some = (most: number): string[] => Array.from({ length: below(most + 1, random) }, () => oneOf(WORDS, random));
/** The parts of the names of each Person. */
const RANDOM_NAMES = Array.from({ length: 40 }, () =>
  Array.from({ length: 1 + below(2, random) }, () => ({
    given: some(2).map((word) => (random() < 0.2 ? `${word} ${oneOf(WORDS, random)}` : word)),
    family: some(2).join('-'),
  })),
);

const LONG = Array.from({ length: 40 }, (_, n) => `w${n}x`);

const RESOURCES = [
  resourceOf('Patient', 'smith', { name: [{ family: 'Smith-Jones', given: ['Alice Marie', 'Zoë'], prefix: ['Dr.'] }] }),
  resourceOf('Patient', 'two', { name: [{ family: 'Smith' }, { family: 'Jones', given: ['Alice'] }] }),
  resourceOf('Patient', 'text', {
    name: [{ text: 'Alice van der Smith' }],
    address: [{ line: ['123 Main St', 'Flat 4'], city: 'New York', postalCode: '10001' }],
  }),
  resourceOf('Patient', 'long', { name: [{ given: LONG, text: 'Sir Last' }] }),
  resourceOf('Patient', 'longest', { name: [{ text: `${'a'.repeat(2_000)} tail` }, { family: 'Short' }] }),
  resourceOf('Patient', 'nobody', { active: true }),
  resourceOf('Location', 'home', { name: 'Alice Smith Home', address: { line: ['5 Main Road'], city: 'York' } }),
  resourceOf('Observation', 'o', { subject: { reference: 'Patient/smith' } }),
  resourceOf('Observation', 'inside', {
    contained: [{ resourceType: 'Patient', id: 'p', name: [{ given: ['Ann'], family: 'Inside' }] }],
    subject: { reference: '#p' },
  }),
  ...RANDOM_NAMES.map((name, n) => resourceOf('Person', `p${n}`, { name })),
];

describe.each<[string, () => ResourceStore | Promise<ResourceStore>]>([
  ['memory', () => new MemoryStore()],
  ['SQLite', () => new SqliteStore(':memory:')],
  ['PostgreSQL', async () => new PostgresStore(await postgresPool())],
])('names and addresses on %s', (_, open) => {
  let store: ResourceStore;
  const find = async (search: string, caller: Caller = serverCaller(PROJECT)): Promise<string> => {
    const [type, query] = search.split(/\?(.*)/s) as ['Patient', string];
    const { entry = [] } = await createRepository({ store, caller }).search(type, query);
    return entry.map(({ resource }) => resource!.id).join(' ');
  };
  beforeAll(async () => {
    store = await open();
    await putAll(store, ...RESOURCES);
  });
  afterAll(() => store.close());

  test.each([
    ['Patient?name=Alice Smith', 'smith text'],
    ['Patient?name=smith alice', 'smith text'],
    ['Patient?name=ali smi', 'smith text'],
    ['Patient?name=jon zoe ali smi dr', 'smith'],
    ['Patient?name=marie', 'smith'],
    ['Patient?name=jones', 'smith two'],
    ['Patient?name=alice alice', 'smith text two'],
    ['Patient?name=al alice', 'smith text two'],
    ['Patient?name=lice', ''],
    ['Patient?name=alice smithe', ''],
    ['Patient?name=alice bob', ''],
    ['Patient?name=alice bob,alice jones', 'smith two'],
    ['Patient?name=Smith-Jones', 'smith'],
    ['Patient?name=Sir Last', 'long'],
    ['Patient?name=w0x w31x', 'long'],
    ['Patient?name=w39x', 'long'],
    [`Patient?name=${LONG.join(' ')}`, ''],
    ['Patient?name=short', 'longest'],
    [`Patient?name=${'a'.repeat(2_000)} tai`, 'longest'],
    ['Patient?name:exact=Alice Marie', 'smith'],
    ['Patient?name:exact=Alice Smith', ''],
    ['Patient?name:contains=lice', 'smith text two'],
    ['Patient?name:contains=Alice Smith', 'smith text'],
    ['Patient?family=Alice Smith', ''],
    ['Patient?given=Marie', ''],
    ['Patient?address=Main', 'text'],
    ['Patient?address=main 123', 'text'],
    ['Patient?address=new york main', 'text'],
    ['Patient?address=10001 york', 'text'],
    ['Patient?address-city=York', ''],
    ['Location?address=main york', 'home'],
    ['Location?name=Smith', ''],
    ['Observation?subject:Patient.name=smith alice', 'o'],
    ['Observation?subject.name=smith alice', 'o'],
    ['Observation?patient.name=inside ann', 'inside'],
    ['Observation?patient.name=inside alice', ''],
    ['Patient?_has:Observation:subject:patient.name=alice smith', 'smith'],
    ['Patient?_filter=name sw "smith alice"', 'smith text'],
    ['Patient?_filter=name co "smith alice"', 'smith text'],
    ['Patient?_filter=name co "lice"', 'smith text two'],
    ['Patient?_filter=name eq "smith alice"', 'smith text'],
    ['Patient?_filter=name eq "smi alice"', ''],
    ['Patient?_filter=name eq "alice marie"', 'smith'],
    ['Patient?_filter=name eq "jones"', 'two'],
    ['Patient?_filter=address sw "main new" and not (name eq "alice bob")', 'text'],
    ['Observation?_filter=subject:Patient.name sw "alice smith"', 'o'],
    ['Patient?name=alice smith&_sort=name', 'smith text'],
    ['Patient?name=alice smith&_sort=-_id', 'text smith'],
  ])('%s', async (search, ids) => {
    const found = await find(search);
    expect(search.includes('_sort') ? found : found.split(' ').sort().join(' ')).toBe(ids);
  });

  test('in GraphQL', async () => {
    const answer = await executeFhirGraphql('{ PatientList(name: "smith alice", _sort: "_id") { id } }', {
      store,
      caller: serverCaller(PROJECT),
    });
    expect(answer).toEqual({ data: { PatientList: [{ id: 'smith' }, { id: 'text' }] } });
  });

  test('in a policy', async () => {
    await system(store, PROJECT);
    const caller = await signedIn(store, {
      project: PROJECT,
      profile: { resourceType: 'Practitioner', id: 'reader' },
      rules: [{ resourceType: 'Patient', criteria: 'Patient?name=smith alice' }],
    });
    expect(await find('Patient?_sort=_id', caller)).toBe('smith text');
    expect(await find('Patient?name=jones', caller)).toBe('smith');
  });

  test(`find who has each word in one name (seed ${SEED})`, async () => {
    const random = createRandom(SEED + 1);
    for (let n = 0; n < cases(300, 40); n++) {
      const asked = Array.from({ length: 1 + below(3, random) }, () =>
        oneOf(WORDS, random).slice(0, oneOf([1, 2, 3, 9], random)),
      );
      const expected = RANDOM_NAMES.flatMap((names, index) =>
        names.some(({ given, family }) => {
          const words = [...given, family].flatMap((part) => part.split(/[ -]/));
          return asked.every((one) => words.some((word) => word.startsWith(one)));
        })
          ? [`p${index}`]
          : [],
      );
      const found = await find(`Person?name=${asked.join(' ')}&_count=100`);
      expect([asked, found.split(' ').sort()]).toEqual([asked, expected.length === 0 ? [''] : expected.sort()]);
    }
  });
});

test('words of names belong to one name if the parameter is indexed by word, too', async () => {
  const model = await extendDefinitions(R4, { words: true });
  const store = new MemoryStore({ model });
  await putAll(store, ...RESOURCES);
  const repository = createRepository({ store, caller: serverCaller(PROJECT) });
  const ids = async (query: string): Promise<unknown[]> =>
    ((await repository.search('Patient', query)).entry ?? []).map(({ resource }) => resource!.id);
  expect(await ids('name=alice smith')).toEqual(['smith', 'text']);
  expect(await ids('family=jones')).toEqual(['smith', 'two']);
});
