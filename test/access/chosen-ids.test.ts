import { beforeEach, describe, expect, test } from 'vitest';
import {
  type Caller,
  createRepository,
  executeFhirGraphql,
  importBundle,
  importNdjson,
  MemoryStore,
} from '../../src/index.js';
import { ALL } from '../../src/search/criteria/criteria.js';
import { enrol, type RuleJson } from './policies.js';
import { fill, plain } from './world.js';

let store: MemoryStore;

beforeEach(async () => {
  store = new MemoryStore();
  await fill(store, 'alpha', [plain({ resourceType: 'Practitioner', id: 'dr1' })]);
});

const body = { resourceType: 'Patient', gender: 'female' } as const;
const entry = (request: object, resource: object = body): object => ({ resource, request });
const bundle = (one: object): object => ({ resourceType: 'Bundle', type: 'transaction', entry: [one] });

/** Every way to create without naming an id. */
const WITHOUT_ID: { readonly [way: string]: (caller: Caller) => Promise<unknown> } = {
  create: (caller) => createRepository({ store, caller }).create(body),
  'a conditional create': (caller) => createRepository({ store, caller }).create(body, { ifNoneExist: 'name=none' }),
  'a mutation': (caller) => executeFhirGraphql('mutation { PatientCreate(res: { gender: "female" }) { id } }', { store, caller }), // prettier-ignore
  POST: (caller) => importBundle(bundle(entry({ method: 'POST', url: 'Patient' })), { store, caller }),
  'POST whose own id is replaced': (caller) =>
    importBundle(bundle(entry({ method: 'POST', url: 'Patient' }, { ...body, id: 'own' })), {
      store,
      caller,
      ids: 'assigned',
    }),
  'a conditional update': (caller) =>
    importBundle(bundle(entry({ method: 'PUT', url: 'Patient?name=none' })), { store, caller }),
  'a conditional update whose fullUrl is replaced': (caller) =>
    importBundle(bundle({ ...entry({ method: 'PUT', url: 'Patient?name=none' }), fullUrl: 'urn:uuid:own' }), {
      store,
      caller,
      ids: 'assigned',
    }),
  NDJSON: (caller) => importNdjson([JSON.stringify(body)], { store, caller }),
};

/** Every way to create under an id of the caller's. */
const UNDER_ID: { readonly [way: string]: (caller: Caller) => Promise<unknown> } = {
  update: (caller) => createRepository({ store, caller }).update({ ...body, id: 'own' }),
  'PUT if none is there': (caller) =>
    importBundle(bundle(entry({ method: 'PUT', url: 'Patient/own', ifNoneMatch: '*' }, { ...body, id: 'own' })), { store, caller }), // prettier-ignore
  'a conditional update': (caller) =>
    importBundle(bundle(entry({ method: 'PUT', url: 'Patient?name=none' }, { ...body, id: 'own' })), { store, caller }),
  POST: (caller) => importBundle(bundle(entry({ method: 'POST', url: 'Patient' }, { ...body, id: 'own' })), { store, caller }), // prettier-ignore
  NDJSON: (caller) => importNdjson([JSON.stringify({ ...body, id: 'own' })], { store, caller }),
};

describe('a caller that reads some resources of a type', () => {
  test.each(Object.keys(WITHOUT_ID))('creates without an id, by %s', async (way) => {
    await WITHOUT_ID[way]!(await signedIn({ resourceType: 'Patient', criteria: 'Patient?gender=female' }));
    const [id, ...others] = await patients();
    expect([id, others]).toEqual([expect.stringMatching(/^[0-9a-f]{8}-/), []]);
  });

  test.each<[string, RuleJson[]]>([
    ['under criteria', [{ resourceType: 'Patient', criteria: 'Patient?gender=female' }]],
    ['in a compartment', [{ resourceType: 'Patient', compartment: { reference: 'Patient/own' } }]],
    ['without read', [{ resourceType: 'Patient', interaction: ['create', 'update', 'search'] }]],
  ])('cannot choose an id: rules %s', async (_, rules) => {
    const caller = await signedIn(...rules);
    for (const way of Object.values(UNDER_ID)) await way(caller).catch(() => undefined);
    expect(await patients()).toEqual([]);
  });
});

describe('a caller that reads all resources of a type', () => {
  test.each(Object.keys(UNDER_ID))('can choose ids, by %s', async (way) => {
    await UNDER_ID[way]!(await signedIn({ resourceType: 'Patient', hiddenFields: ['birthDate'] }));
    expect(await patients()).toEqual(['own']);
  });
});

function signedIn(...resource: RuleJson[]): Promise<Caller> {
  const access = [{ policy: 0, parameters: [] }];
  return enrol(store, 'alpha', { profile: 'Practitioner/dr1', policies: [{ resource }], access });
}

async function patients(): Promise<string[]> {
  const { matches } = await store.search({ project: 'alpha', type: 'Patient', criteria: ALL });
  return matches.map(({ resource }) => resource.id!);
}
