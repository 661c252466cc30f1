import { describe, expect, test } from 'vitest';
import { type AnyResource, type Caller, MemoryStore, serverCaller, systemCaller } from '../../src/index.js';
import type { Criteria, FhirModel, SearchPage } from '../../src/store.js';
import { memberCaller } from '../../src/access/caller.js';
import type { GuardedStore } from '../../src/access/contract.js';
import { guardStore } from '../../src/access/guarded-store.js';
import { ALL, refersTo } from '../../src/search/criteria/criteria.js';
import { countCalls } from '../graphql/counting-store.js';
import { sparingStore } from '../support/sparing-store.js';
import { storeWith } from '../support/store-with.js';
import { signedIn, system } from '../repository/harness.js';

type Rules = Parameters<typeof signedIn>[1] extends infer Membership
  ? NonNullable<NonNullable<Membership>['rules' & keyof Membership]>
  : never;

const client = { resourceType: 'ClientApplication', id: 'app', secret: 's3cret' };
const boy = { resourceType: 'Patient', id: 'boy', gender: 'male', birthDate: '2011-11-11' };
const list = { resourceType: 'List', id: 'list', contained: [client, boy] };
const girl = { resourceType: 'Patient', id: 'girl', gender: 'female', birthDate: '2012-12-12' };
const TARGETS = [
  { type: 'Patient', id: 'boy' },
  { type: 'Patient', id: 'girl' },
];
const about = (id: string) => ({
  resourceType: 'Observation',
  id: `about-${id}`,
  subject: { reference: `Patient/${id}` },
});

async function world(): Promise<MemoryStore> {
  const store = new MemoryStore();
  await system(store);
  await store.commit(
    ([boy, girl, about('boy'), about('girl'), client, list] as AnyResource[]).map((resource) => ({
      kind: 'put',
      key: { project: 'clinic', type: resource.resourceType, id: resource.id! },
      resource,
    })),
  );
  return store;
}

async function guarded(rules: readonly object[]): Promise<GuardedStore & { takeCalls(): readonly string[] }> {
  const inner = await world();
  const { store, takeCalls } = countCalls(inner);
  const caller = await signedIn(inner, { rules: rules as Rules });
  return { ...guardStore(store, caller), takeCalls };
}

const ids = ({ matches }: SearchPage): (string | undefined)[] => matches.map(({ resource }) => resource.id);
const all = (type: string, more: object = {}) => ({ type, criteria: ALL, ...more });

test('a guarded store needs a caller', () => {
  expect(() => guardStore(new MemoryStore(), {} as Caller)).toThrow(
    expect.objectContaining({ code: 'unauthenticated' }) as Error,
  );
});

test('a member who signed in over other definitions gets no guarded store', async () => {
  const store = await world();
  const { kind: _kind, ...facts } = await signedIn(store);
  const other = memberCaller({ ...facts, rules: { ...facts.rules, model: {} as FhirModel } });
  expect(() => guardStore(store, other)).toThrow(
    expect.objectContaining({
      code: 'unauthenticated',
      message: 'The caller signed in over a store with other definitions; sign in over this one',
    }) as Error,
  );
  expect(guardStore(store, memberCaller(facts)).model).toBe(store.model);
  expect(guardStore(store, systemCaller('clinic')).model).toBe(store.model);
});

describe('a member finds', () => {
  test('the resources that its rules grant, without hidden fields', async () => {
    const store = await guarded([
      { resourceType: 'Patient', criteria: 'Patient?gender=male', hiddenFields: ['birthDate'] },
    ]);
    const page = await store.search(all('Patient', { total: true }));
    expect([ids(page), page.total]).toEqual([['boy'], 1]);
    expect(page.matches[0]!.resource).toMatchObject({ gender: 'male' });
    expect(page.matches[0]!.resource).not.toHaveProperty('birthDate');
  });

  test('by reference the resources that its rules grant, a page for each target, without hidden fields', async () => {
    const store = await guarded([
      { resourceType: 'Observation', criteria: 'Observation?subject=Patient/boy', hiddenFields: ['subject.display'] },
    ]);
    const pages = await store.searchByReference(all('Observation'), 'subject', TARGETS);
    expect(pages.map(ids)).toEqual([['about-boy'], []]);
  });

  test('nothing by a reference that some rule hides', async () => {
    const store = await guarded([{ resourceType: 'Observation', hiddenFields: ['subject'] }]);
    expect((await store.searchByReference(all('Observation'), 'subject', TARGETS)).map(ids)).toEqual([[], []]);
    expect(ids(await store.search(all('Observation')))).toEqual(['about-boy', 'about-girl']);
  });

  test('nothing if no rule grants a search, without asking the store', async () => {
    for (const rules of [
      [{ resourceType: 'Patient', interaction: ['read'] }],
      [{ resourceType: 'Patient', criteria: 'Patient?organization=%ward' }],
    ]) {
      const store = await guarded(rules);
      store.takeCalls();
      expect(await store.search(all('Patient'))).toEqual({ matches: [] });
      expect(await store.search(all('Patient', { total: true }))).toEqual({ matches: [], total: 0 });
      expect(await store.searchByReference(all('Patient'), 'link', TARGETS)).toEqual([
        { matches: [] },
        { matches: [] },
      ]);
      expect(store.takeCalls()).toEqual([]);
    }
  });

  test('through a chain only resources that its rules for the other type let it search', async () => {
    const chain: Criteria = { kind: 'chain', parameter: 'subject', type: 'Patient', of: ALL };
    const rules = [{ resourceType: 'Observation' }, { resourceType: 'Patient', criteria: 'Patient?gender=male' }];
    expect(ids(await (await guarded(rules)).search({ type: 'Observation', criteria: chain }))).toEqual(['about-boy']);
    const unsearchable = [{ resourceType: 'Observation' }, { resourceType: 'Patient', interaction: ['read'] }];
    expect(ids(await (await guarded(unsearchable)).search({ type: 'Observation', criteria: chain }))).toEqual([]);
  });

  test('nothing inside of resources that its rules for that type hide', async () => {
    const store = await guarded([{ resourceType: 'List' }, { resourceType: 'Patient', hiddenFields: ['birthDate'] }]);
    const [found] = (await store.search(all('List'))).matches;
    const { birthDate: _hidden, ...shown } = boy;
    expect(found!.resource).toHaveProperty('contained', [{ resourceType: 'ClientApplication', id: 'app' }, shown]);
  });
});

describe('trusted code finds', () => {
  test('everything in its project except secrets, also inside of resources', async () => {
    const store = guardStore(await world(), systemCaller('clinic'));
    const page = await store.search(all('List', { total: true }));
    expect(page.total).toBe(1);
    expect(page.matches[0]!.resource).toHaveProperty('contained', [
      { resourceType: 'ClientApplication', id: 'app' },
      boy,
    ]);
    const [programs] = (await store.search(all('ClientApplication'))).matches;
    expect(programs!.resource).not.toHaveProperty('secret');
    const about = { type: 'Observation', criteria: refersTo('subject', TARGETS[0]!) };
    expect(ids(await store.search(about))).toEqual(['about-boy']);
  });

  test('everything of the server above projects', async () => {
    const store = await world();
    expect(ids(await guardStore(store, serverCaller()).search(all('Project')))).toEqual(['clinic']);
    expect(ids(await guardStore(store, systemCaller('other')).search(all('Project')))).toEqual([]);
  });
});

test('the options of a call reach the store', async () => {
  const inner = await world();
  const signals = new Set<unknown>();
  const watched = storeWith(inner, {
    read: (keys, options) => (signals.add(options?.signal), inner.read(keys, options)),
    search: (query, options) => (signals.add(options?.signal), inner.search(query, options)),
    searchByReference: (query, parameter, targets, options) => (
      signals.add(options?.signal),
      inner.searchByReference(query, parameter, targets, options)
    ),
    history: (key, page, options) => (signals.add(options?.signal), inner.history(key, page, options)),
    commit: (writes, options) => (signals.add(options?.signal), inner.commit(writes, options)),
  });
  const rules = [
    { resourceType: 'Patient', criteria: 'Patient?_has:Observation:subject:_id=about-boy', hiddenFields: ['name'] },
    { resourceType: 'Patient', hiddenFields: ['address'] },
  ];
  const member = guardStore(watched, await signedIn(inner, { rules: rules }));
  const administrator = guardStore(watched, await signedIn(inner, { admin: true }));
  const trusted = guardStore(watched, systemCaller('clinic'));
  for (const [store, type] of [
    [member, 'Patient'],
    [administrator, 'User'],
    [trusted, 'Patient'],
    [trusted, 'User'],
  ] as const) {
    const options = { signal: new AbortController().signal };
    signals.clear();
    await store.search(all(type), options);
    await store.searchByReference(all(type), 'link', TARGETS, options);
    await store.read([{ type, id: 'boy' }], options);
    await store.history({ type, id: 'boy' }, { offset: 0, limit: 10 }, options);
    expect([...signals]).toEqual([options.signal]);
  }
  const options = { signal: new AbortController().signal };
  signals.clear();
  await trusted.commit([{ kind: 'put', key: { type: 'Patient', id: 'boy' }, resource: boy }], options);
  expect([...signals]).toEqual([options.signal]);
});

describe('the elements that a call needs', () => {
  /** The results for Patients over a store that leaves out all other elements. */
  async function parts(rules: readonly object[]): Promise<unknown> {
    const inner = await world();
    const caller = await signedIn(inner, { rules: rules as Rules });
    const store = guardStore(sparingStore(inner), caller);
    const elements = ['birthDate', 'link'];
    const ids = ['boy', 'girl'].map((id) => ({ type: 'Patient', id, elements }));
    const [reads, { matches }] = [await store.read(ids), await store.search(all('Patient', { elements }))];
    const found = reads.filter((one) => one.status === 'found');
    return [...found, ...matches].map(({ resource }) => Object.keys(resource).sort().join());
  }
  const PART = 'birthDate,id,resourceType';
  const WHOLE = 'birthDate,gender,id,meta,resourceType';

  test('reach the store if no rule is decided from the resource', async () => {
    expect(await parts([{ resourceType: 'Patient' }])).toEqual([PART, PART, PART, PART]);
    expect(await parts([{ resourceType: 'Patient', hiddenFields: ['birthDate'] }])).toEqual(
      Array.from({ length: 4 }, () => 'id,resourceType'),
    );
  });

  test('do not reach the store if a read is decided from other elements', async () => {
    const boys = { resourceType: 'Patient', criteria: 'Patient?gender=male' };
    expect(await parts([boys])).toEqual([WHOLE, PART]);
    expect(await parts([boys, { resourceType: 'Patient' }])).toEqual([WHOLE, WHOLE, PART, PART]);
  });

  test('do not reach the store if other elements decide which fields a result has', async () => {
    const boys = { resourceType: 'Patient', criteria: 'Patient?gender=male', hiddenFields: ['address'] };
    const girls = { resourceType: 'Patient', criteria: 'Patient?gender=female', hiddenFields: ['birthDate'] };
    const others = 'gender,id,meta,resourceType';
    expect(await parts([boys, girls])).toEqual([WHOLE, others, WHOLE, others]);
  });
});
