import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import type { AnyResource } from '../../../src/fhir/resource.js';
import type { Criteria } from '../../../src/search/criteria/criteria.js';
import type { ValueTest } from '../../../src/search/criteria/value-test.js';
import type { PostgresPool } from '../../../src/stores/postgres/database/driver.js';
import { TUNING } from '../../../src/stores/postgres/scans/tuning.js';
import { SKIP_TUNING } from '../../../src/stores/postgres/rows/skip-row.js';
import { PostgresStore } from '../../../src/stores/postgres/store.js';
import { keyOf, PROJECT } from '../../../src/testing/conformance-case.js';
import { createRandom, oneOf } from '../../../src/testing/random.js';
import { ReferenceSearch } from '../../../src/testing/reference-search.js';
import { assertSearches } from '../../../src/testing/suites/random-searches.js';
import { cases, IS_WHOLE, SEED, someOf } from '../../support/chance.js';
import { linkedIdOf as idOf, linkedResources } from '../linked-resources.js';
import { noting, postgresPool } from './pool.js';
import { buildSkips } from './skip-build.js';
import { by, match, write } from '../skip-cases.js';

const [DEFAULTS, SKIPS] = [{ ...TUNING }, { ...SKIP_TUNING }];
// Few resources are many granules.
beforeAll(() => void Object.assign(SKIP_TUNING, { granule: 8, minGranules: 4, minHolders: 2 }));
afterEach(() => void Object.assign(TUNING, DEFAULTS));

/** The types that have skip indexes. */
async function typesOf(pool: PostgresPool): Promise<readonly unknown[]> {
  const client = await pool.connect();
  const text = `SELECT DISTINCT type FROM fhirgraph_skip ORDER BY 1`;
  const { rows } = await client.query({ text, values: [], rowMode: 'array' });
  client.release();
  return rows.map(([type]) => type);
}

/** Makes the skip indexes of some types, whatever was written since. */
async function build(pool: PostgresPool, types: readonly string[]): Promise<void> {
  Object.assign(SKIP_TUNING, { maxFresh: -1 });
  await buildSkips(pool, types);
  Object.assign(SKIP_TUNING, { maxFresh: SKIPS.maxFresh });
}

const LINKED = ['Observation', 'Encounter', 'Patient'];
/** The service's own URLs: no reference has the first, some have the second. */
const BASES = ['https://none.example/fhir', 'https://other.example/fhir'];

/** A store with skip indexes of linked types. */
async function indexedStore(resources: readonly AnyResource[]): Promise<IndexedStore> {
  const pool = await postgresPool();
  const statements: string[] = [];
  const store = new PostgresStore(noting(pool, statements));
  const all = await write(store, resources);
  await build(pool, LINKED);
  return { statements, store, reference: new ReferenceSearch(store.model, all) };
}

interface IndexedStore {
  /** The statements that the server received. */
  readonly statements: string[];
  readonly store: PostgresStore;
  /** The same resources. */
  readonly reference: ReferenceSearch;
}

describe('skip indexes find conditions on other resources', () => {
  const ways: readonly (readonly [string, Partial<typeof TUNING>, readonly string[], number])[] = [
    ['of all types, part by part', { fewTogether: -1, firstBatch: 0, maxBatch: 1 }, LINKED, 256],
    ['of all types, sorted at once', { fewTogether: Infinity }, LINKED, 0],
    ['of one type, sorted at once', { fewTogether: Infinity }, ['Observation'], 2],
    [
      'of other types, after some rows',
      { walkedFirst: 2, stretch: 2, fewTogether: 4, maxTested: 4 },
      ['Encounter', 'Patient'],
      2,
    ],
  ];

  test.each(someOf(ways, 2))(
    '%s, after writes to each type, and after they are rebuilt',
    async (_, tuning, types, maxNumbered) => {
      const random = createRandom(SEED);
      const pool = await postgresPool();
      const store = new PostgresStore(pool);
      const current = new Map<string, AnyResource>();
      const add = async (some: readonly AnyResource[]): Promise<void> => {
        for (const one of await write(store, some)) current.set(`${one.resourceType}/${one.id}`, one);
      };
      await add(linkedResources(IS_WHOLE ? 120 : 99, random));
      await build(pool, types);
      expect(await typesOf(pool)).toEqual([...types].sort());
      for (let round = 0; round < (IS_WHOLE ? 3 : 2); round++) {
        for (let gone = 0; gone < 6; gone++) {
          const { resourceType, id } = oneOf([...current.values()], random);
          await store.commit([{ kind: 'delete', key: keyOf(resourceType, id!) }]);
          current.delete(`${resourceType}/${id!}`);
        }
        await add([...linkedResources(6, random), ...linkedResources(3, random, `n${round}`)]);
        if (round === 1) await build(pool, types);
        Object.assign(TUNING, { walkedFirst: 0, mostShare: 2, looks: [Infinity], ...tuning });
        Object.assign(SKIP_TUNING, { maxNumbered });
        await assertSearches(store, PROJECT, [...current.values()], random, cases(100, 10));
        for (const base of BASES) {
          await assertSearches(store, PROJECT, [...current.values()], random, cases(30, 5), base);
        }
        expect((await store.verify()).problems).toEqual([]);
        Object.assign(TUNING, DEFAULTS);
        Object.assign(SKIP_TUNING, { maxNumbered: SKIPS.maxNumbered });
      }
      await store.close();
    },
  );
});

test('with exact sets no referring resource is tested, in pages and in counts of alternatives', async () => {
  const { statements, store, reference } = await indexedStore(linkedResources(150, createRandom(SEED)));
  const has: Criteria = { kind: 'has', type: 'Observation', parameter: 'subject', of: match('status', 'final') };
  const family: ValueTest = { kind: 'string', comparator: 'contains', text: 'a' };
  const others: readonly Criteria[] = [
    { kind: 'not', of: match('gender', 'female') },
    { kind: 'match', parameter: 'family', test: family },
  ];
  for (const other of others) {
    statements.length = 0;
    const criteria: Criteria = { kind: 'or', of: [has, other] };
    const query = { project: PROJECT, type: 'Patient', criteria, sort: [by('birthdate')], limit: 3, total: true };
    const { matches, total } = await store.search(query);
    const expected = reference.search(query);
    expect([matches.map(({ resource }) => resource.id), total]).toEqual([expected.ids, expected.total]);
    expect(statements.filter((one) => one.includes('FROM reference x JOIN resource'))).toEqual([]);
    Object.assign(TUNING, { looks: [Infinity] });
    statements.length = 0;
    expect((await store.search({ ...query, limit: 0 })).total).toBe(total);
    // The sets have the number.
    expect(statements.some((one) => one.startsWith('SELECT 0 WHERE'))).toBe(true);
    Object.assign(TUNING, DEFAULTS);
  }
  await store.close();
});

describe('of small types', () => {
  const granule = 32;
  const few: readonly AnyResource[] = Array.from({ length: granule }, (_, number) => {
    return { resourceType: 'Patient', id: `p${number}`, gender: number % 3 === 0 ? 'male' : 'female' };
  });
  beforeAll(() => void Object.assign(SKIP_TUNING, { granule, minGranules: SKIPS.minGranules }));
  afterAll(() => void Object.assign(SKIP_TUNING, { granule: 8, minGranules: 4 }));

  test('with the resources of one granule, sets find the resources that refer to them and their targets', async () => {
    const pool = await postgresPool();
    const statements: string[] = [];
    const store = new PostgresStore(noting(pool, statements));
    const visits: readonly AnyResource[] = Array.from({ length: 50 }, (_, number) => {
      const subject = { reference: `Patient/p${number % 25}` };
      return {
        resourceType: 'Encounter',
        id: `e${number}`,
        status: number % 9 === 0 ? 'planned' : 'finished',
        subject,
      };
    });
    const all = await write(store, [...few, ...visits]);
    await build(pool, ['Patient', 'Encounter']);
    expect(await typesOf(pool)).toEqual(['Encounter', 'Patient']);
    const reference = new ReferenceSearch(store.model, all);
    const planned = match('status', 'planned');
    const male = match('gender', 'male');
    const absent: Criteria = { kind: 'missing', parameter: 'reason-code', missing: false };
    const questions: readonly (readonly [string, Criteria])[] = [
      ['Patient', { kind: 'has', type: 'Encounter', parameter: 'subject', of: planned }],
      ['Patient', { kind: 'has', type: 'Encounter', parameter: 'subject', of: absent }],
      ['Encounter', { kind: 'chain', parameter: 'subject', type: 'Patient', of: male, reach: 'outside' }],
    ];
    for (const [type, of] of questions) {
      const criteria: Criteria = { kind: 'not', of };
      statements.length = 0;
      const sort = [by(type === 'Patient' ? 'gender' : 'status')];
      const query = { project: PROJECT, type, criteria, sort, limit: 5, total: true };
      const { matches, total } = await store.search(query);
      const expected = reference.search(query);
      expect([matches.map(({ resource }) => resource.id), total]).toEqual([expected.ids, expected.total]);
      // The page and the count each read the states of both types, and the first statement for an order by code, concurrently.
      expect(statements.filter((one) => one.includes('fhirgraph_skip_written'))).toHaveLength(2);
      // The count reads no reference.
      expect(statements.filter((one) => one.includes('count(') && one.includes('reference x'))).toEqual([]);
    }
    await store.close();
  });

  test('with fewer resources there is nothing to save', async () => {
    const pool = await postgresPool();
    const store = new PostgresStore(pool);
    await write(store, few.slice(1));
    await build(pool, ['Patient']);
    expect(await typesOf(pool)).toEqual([]);
    await store.close();
  });
});

test('the first statement reads no scan that first has to find all resources at the other end, or all values', async () => {
  const { statements, store, reference } = await indexedStore(linkedResources(150, createRandom(SEED)));
  const without: Criteria = { kind: 'missing', parameter: 'date', missing: true };
  const has: Criteria = { kind: 'has', type: 'Observation', parameter: 'subject', of: without };
  const text: ValueTest = { kind: 'string', comparator: 'contains', text: 'a' };
  const family: Criteria = { kind: 'match', parameter: 'family', test: text };
  const value: ValueTest = { kind: 'quantity', prefix: 'gt', low: 12, high: 12 };
  const pair: Criteria = {
    kind: 'composite',
    parameter: 'code-value-quantity',
    tests: [{ kind: 'token', code: 'c1' }, value],
  };
  const hasPair: Criteria = { kind: 'has', type: 'Observation', parameter: 'subject', of: pair };
  for (const criteria of [has, hasPair, family, { kind: 'and', of: [has, family] } as const]) {
    statements.length = 0;
    const query = { project: PROJECT, type: 'Patient', criteria, sort: [by('birthdate')], limit: 5 };
    const ids = (await store.search(query)).matches.map(({ resource }) => resource.id);
    expect(ids).toEqual(reference.search(query).ids);
    const looks = statements.filter((one) =>
      one.startsWith('WITH s0 (key) AS MATERIALIZED (SELECT * FROM (SELECT r0.key'),
    );
    // It is of all resources of the type, of which it reads few. Conditions on others would take long to plan.
    expect(looks.length).toBe(criteria === family ? 1 : 0);
    expect(statements.filter((one) => /^WITH s0 .* IN \(/.test(one))).toEqual([]);
  }
  await store.close();
});

test('a count tests references on few rows, and uses sets for more', async () => {
  const { statements, store, reference } = await indexedStore(linkedResources(150, createRandom(SEED)));
  const has: Criteria = { kind: 'has', type: 'Observation', parameter: 'subject', of: match('status', 'final') };
  const criteria: Criteria = { kind: 'and', of: [match('gender', 'female'), has] };
  for (const [look, isSnapshot] of [
    [400, false],
    [120, true],
  ] as const) {
    Object.assign(TUNING, { looks: [look, ...DEFAULTS.looks.slice(1)] });
    statements.length = 0;
    const query = { project: PROJECT, type: 'Patient', criteria, limit: 0, total: true } as const;
    expect((await store.search(query)).total).toBe(reference.search(query).total);
    // The women are more than an eighth of the second look.
    expect([look, statements.some((text) => text.startsWith('BEGIN'))]).toEqual([look, isSnapshot]);
  }
  await store.close();
});

test('chains search contained resources if some resource of the type has one', async () => {
  const pool = await postgresPool();
  const statements: string[] = [];
  const store = new PostgresStore(noting(pool, statements));
  const all = await write(store, linkedResources(150, createRandom(SEED)));
  await build(pool, LINKED);
  const criteria: Criteria = { kind: 'chain', parameter: 'subject', type: 'Patient', of: match('gender', 'male') };
  const query = { project: PROJECT, type: 'Observation', criteria, sort: [by('_id')], limit: 200, total: true };
  const looksInside = async (): Promise<boolean> => {
    Object.assign(TUNING, { walkedFirst: 0, mostShare: 2, looks: [Infinity] });
    statements.length = 0;
    const { matches, total } = await store.search(query);
    const found = { ids: matches.map(({ resource }) => resource.id!), total };
    expect(found).toEqual(new ReferenceSearch(store.model, all).search(query));
    return statements.some((one) => one.includes('FROM quantity k0 JOIN resource'));
  };
  const holding = (id: string): AnyResource => {
    const contained = [{ resourceType: 'Patient', id: 'p', gender: 'male' }];
    return { resourceType: 'Observation', id, status: 'final', contained, subject: { reference: '#p' } } as AnyResource;
  };
  expect(await looksInside()).toBe(false);
  const written = all as AnyResource[];
  written.push(...(await write(store, [holding('inside')])));
  // Later writes are tested.
  expect(await looksInside()).toBe(false);
  await build(pool, LINKED);
  expect(await looksInside()).toBe(true);
  await store.close();
});

test('changed resources refer, and are referred to, in their current state', async () => {
  const pool = await postgresPool();
  const store = new PostgresStore(pool);
  const all = (await write(store, linkedResources(150, createRandom(SEED)))) as readonly Changing[];
  await build(pool, LINKED);
  expect(await typesOf(pool)).toEqual([...LINKED].sort());
  const changed = all
    .filter((_, index) => index % 3 === 0)
    .map((one) => ({
      ...one,
      ...(one.resourceType === 'Patient' ? { gender: one.gender === 'male' ? 'female' : 'male' } : {}),
      ...(one.resourceType === 'Observation' ? { status: one.status === 'final' ? 'amended' : 'final' } : {}),
    }));
  const now = new Map(all.map((one) => [`${one.resourceType}/${one.id!}`, one]));
  for (const one of await write(store, changed)) now.set(`${one.resourceType}/${one.id!}`, one);
  const reference = new ReferenceSearch(store.model, [...now.values()]);
  Object.assign(TUNING, { walkedFirst: 0, mostShare: 2, looks: [Infinity] });
  for (const of of ['final', 'amended', 'male', 'female'].map((code, n) => match(n < 2 ? 'status' : 'gender', code))) {
    const isHas = of.kind === 'match' && of.parameter === 'status';
    const criteria: Criteria = isHas
      ? { kind: 'has', type: 'Observation', parameter: 'subject', of }
      : { kind: 'chain', parameter: 'subject', type: 'Patient', of, reach: 'outside' };
    const type = isHas ? 'Patient' : 'Observation';
    const query = { project: PROJECT, type, criteria, sort: [by('_id')], limit: 200, total: true };
    const { matches, total } = await store.search(query);
    const found = { ids: matches.map(({ resource }) => resource.id!), total };
    expect(found).toEqual(reference.search(query));
    expect(total).toBeGreaterThan(5);
  }
  await store.close();
});

interface Changing extends AnyResource {
  readonly status?: string;
  readonly gender?: string;
}

describe('without a test of a resource', () => {
  const all: AnyResource[] = [];
  const statements: string[] = [];
  let store: PostgresStore;

  beforeAll(async () => {
    const pool = await postgresPool();
    store = new PostgresStore(noting(pool, statements));
    all.push(...(await write(store, linkedResources(300, createRandom(3)))));
    await build(pool, LINKED);
    expect(await typesOf(pool)).toEqual([...LINKED].sort());
  });

  /** The page and the count, and the statements that looked at the other end of a reference. */
  async function answer(
    type: string,
    criteria: Criteria,
    baseUrl?: string,
  ): Promise<{ readonly total: number; readonly tests: readonly string[] }> {
    Object.assign(TUNING, { walkedFirst: 0, mostShare: 2, looks: [Infinity] });
    statements.length = 0;
    const query = { project: PROJECT, type, criteria, sort: [by('_id', true)], limit: 5, total: true, baseUrl };
    const { total, matches } = await store.search(query);
    expect(matches).toHaveLength(Math.min(5, total!));
    return { total: total!, tests: statements.filter((text) => /FROM reference/.test(text)) };
  }

  const observations = (): readonly (AnyResource & Record<string, unknown>)[] =>
    all.filter(({ resourceType }) => resourceType === 'Observation') as never;

  test('targets that very many resources refer to', async () => {
    const criteria: Criteria = {
      kind: 'has',
      type: 'Observation',
      parameter: 'encounter',
      of: match('status', 'final'),
    };
    const final = observations().filter(({ status }) => status === 'final');
    const named = new Set(final.map(({ encounter }) => idOf(encounter)));
    const expected = all.filter(({ resourceType, id }) => resourceType === 'Encounter' && named.has(id));
    expect(named.size).toBeGreaterThan(40);
    expect(await answer('Encounter', criteria)).toEqual({ total: expected.length, tests: [] });
    // No reference is below this base.
    expect(await answer('Encounter', criteria, BASES[0])).toEqual({ total: expected.length, tests: [] });
  });

  test('resources with very many targets', async () => {
    const of = match('gender', 'female');
    const criteria: Criteria = { kind: 'chain', parameter: 'subject', type: 'Patient', of, reach: 'outside' };
    const isFemale = ({ gender }: Record<string, unknown>): boolean => gender === 'female';
    const women = new Set(all.filter((one) => isFemale(one as never)).map(({ id }) => id));
    const expected = observations().filter(
      ({ subject }) => women.has(idOf(subject)) && !/Group|http/.test(JSON.stringify(subject)),
    );
    expect(expected.length).toBeGreaterThan(70);
    expect(await answer('Observation', criteria)).toEqual({ total: expected.length, tests: [] });
    expect(await answer('Observation', criteria, BASES[0])).toEqual({ total: expected.length, tests: [] });
  });
});

test('few rows of a long scan are found by sets first', async () => {
  const statements: string[] = [];
  const pool = await postgresPool();
  const store = new PostgresStore(noting(pool, statements));
  const all = await write(store, linkedResources(300, createRandom(4)));
  await build(pool, ['Observation']);
  const value: ValueTest = { kind: 'quantity', prefix: 'gt', low: 12, high: 12 };
  const [codeOf, unitOf] = [{ kind: 'token', code: 'c1' } as const, { ...value, code: 'mg' }];
  const asked: readonly (readonly [Criteria, RegExp, scan: RegExp])[] = [
    [
      { kind: 'composite', parameter: 'code-value-quantity', tests: [codeOf, value] },
      /"c1"/,
      /x0\.resource FROM token x0/,
    ],
    [
      { kind: 'match', parameter: 'value-quantity', test: unitOf },
      /"mg"/,
      /x\.resource FROM quantity x WHERE .*x\.unit =/,
    ],
  ];
  Object.assign(TUNING, { walkedFirst: 0, mostShare: 2 });
  const answer = async (criteria: Criteria): Promise<readonly unknown[]> => {
    statements.length = 0;
    const query = {
      project: PROJECT,
      type: 'Observation',
      criteria,
      sort: [by('value-quantity')],
      limit: 5,
      total: true,
    };
    const { matches, total } = await store.search(query);
    return [total, matches.map(({ resource }) => resource.id)];
  };
  for (const [criteria, has, scan] of asked) {
    const found = await answer(criteria);
    expect(statements.filter((text) => scan.test(text))).toEqual([]);
    const matches = all.filter(
      (one) => has.test(JSON.stringify(one)) && Number((one as Valued).valueQuantity?.value) > 12,
    );
    expect([found[0], matches.length > 4]).toEqual([matches.length, true]);
    Object.assign(SKIP_TUNING, { maxPending: -1 });
    expect(await answer(criteria)).toEqual(found);
    // The test would see it.
    expect(statements.filter((text) => scan.test(text))).not.toEqual([]);
    Object.assign(SKIP_TUNING, { maxPending: SKIPS.maxPending });
  }
  await store.close();
});

interface Valued {
  readonly valueQuantity?: { readonly value: number };
}

test('a part that alternatives share is read once', async () => {
  const { statements, store } = await indexedStore(linkedResources(IS_WHOLE ? 300 : 150, createRandom(SEED)));
  // Equal criteria are different objects, as those of the rules of a policy. No code is frequent enough for a set.
  const having = (): Criteria => ({ kind: 'has', type: 'Observation', parameter: 'encounter', of: match('code', 'x') });
  const both = (code: string): Criteria => ({ kind: 'and', of: [match('status', code), having()] });
  Object.assign(TUNING, { looks: [Infinity] });
  const scanned = async (criteria: Criteria): Promise<number> => {
    statements.length = 0;
    await store.search({ project: PROJECT, type: 'Encounter', criteria, limit: 0, total: true });
    return statements.filter((text) => text.includes('k0 (key)')).length;
  };
  const once = await scanned(both('a'));
  expect(once).toBe(2);
  expect(await scanned({ kind: 'or', of: [both('a'), both('b')] })).toBe(once);
  await store.close();
});
