import type { ResourceType } from '@medplum/fhirtypes';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import {
  type AnyResource,
  createRepository,
  executeFhirGraphql,
  FhirError,
  type MemberCaller,
  MemoryStore,
  type ResourceStore,
} from '../../src/index.js';
import { PostgresStore } from '../../src/postgres.js';
import { SqliteStore } from '../../src/sqlite.js';
import { R4, type ReadResult, type StoredResource } from '../../src/store.js';
import type { GuardedStore } from '../../src/access/contract.js';
import { guardStore } from '../../src/access/guarded-store.js';
import { parseSearch } from '../../src/search/parse/parse-search.js';
import { postgresPool } from '../stores/postgres/pool.js';
import { cases, IS_LONG, IS_WHOLE, SEED, someOf } from '../support/chance.js';
import { tallyOf } from '../support/long-report.js';
import { sparingStore } from '../support/sparing-store.js';
import { answerOf, FRAGMENTS } from './expected-answers.js';
import { Oracle } from './oracle.js';
import { enrol, member, type MemberSetup } from './policies.js';
import { QUESTIONS, SORTS, type Question } from './questions.js';
import { ALL_KEYS, fill, projectContent, SAMPLE_TYPES, type Json, type SampleType } from './world.js';

const tally = tallyOf('Policies, by every path against an oracle');

/** Cases per store. */
const CASES = IS_LONG ? 250 : IS_WHOLE ? 10 : 3;

interface Case {
  readonly setup: MemberSetup;
  /** Earlier resources. Newer resources of the same ids replace them. */
  readonly older: readonly AnyResource[];
  readonly content: readonly AnyResource[];
  readonly elsewhere: readonly AnyResource[];
  readonly questions: readonly Question[];
}

const CASE: fc.Arbitrary<Case> = fc.record({
  setup: member({ writes: false }),
  older: projectContent,
  content: projectContent,
  elsewhere: projectContent,
  questions: fc.subarray([...QUESTIONS], { minLength: 3, maxLength: 6 }),
});

/** The stores, each with cases of its own. */
describe.each(
  someOf(
    [
      ['memory', SEED, CASES, () => sparingStore(new MemoryStore())],
      ['SQLite', SEED + 1, CASES, () => new SqliteStore(':memory:')],
      // A tenth of the speed, in this process.
      ['PostgreSQL', SEED + 2, Math.ceil(CASES / 20), async () => new PostgresStore(await postgresPool())],
    ] as const,
    2,
  ),
)('any policy on a %s store', (_, seed, runs, open) => {
  const holds = (check: (one: Opened) => Promise<void>) => () =>
    fc.assert(
      fc.asyncProperty(CASE, (drawn) =>
        tally.trial(async () => {
          const store = await open();
          try {
            await check(await prepare(store, drawn));
          } finally {
            await store.close();
          }
        }),
      ),
      { numRuns: cases(runs), seed },
    );

  test(
    'shows by every path the same resources as one decision per resource',
    holds(async (one) => {
      await readsAreThose(one);
      await searchesAreThose(one);
      await repositoryAgrees(one);
      await graphqlIsThat(one);
    }),
  );
});

interface Opened extends Case {
  readonly store: ResourceStore;
  readonly caller: MemberCaller;
  readonly guard: GuardedStore;
  readonly oracle: Oracle;
}

async function prepare(store: ResourceStore, drawn: Case): Promise<Opened> {
  await fill(store, 'beta', drawn.elsewhere);
  await fill(store, 'alpha', drawn.older);
  await fill(store, 'alpha', drawn.content);
  const gone = drawn.older.filter((one) => !drawn.content.some((other) => nameOf(other) === nameOf(one)));
  await store.commit(
    gone.map(({ resourceType: type, id }) => ({ kind: 'delete', key: { project: 'alpha', type, id: id! } })),
  );
  const caller = await enrol(store, 'alpha', drawn.setup);
  const oracle = new Oracle(drawn.content, drawn.setup);
  return { ...drawn, store, caller, guard: guardStore(store, caller), oracle };
}

/** Reads of current and old versions, and histories. */
async function readsAreThose({ store, guard, oracle, content, older }: Opened): Promise<void> {
  const versioned = older.map(({ resourceType: type, id }) => ({ type, id: id!, version: '1' }));
  // All in one call, because the decision about one key must not affect another.
  const results = await guard.read([...versioned, ...ALL_KEYS, ...versioned]);
  const seen = results.map((result) => (result.status === 'found' ? bare(result.resource) : result.status));
  const versions = older.map((version) => {
    const current = content.find((one) => nameOf(one) === nameOf(version));
    return current === undefined
      ? seenWhenDeleted(oracle, 'vread', version)
      : (oracle.seeVersion('vread', version, current) ?? 'missing');
  });
  const currents = ALL_KEYS.map(({ type, id }) => {
    const deleted = older.some((one) => nameOf(one) === `${type}/${id}`) && !has(content, type, id);
    if (deleted) return oracle.opens('read', type) ? 'gone' : 'missing';
    return oracle.see('read', type, id) ?? 'missing';
  });
  expect(seen).toEqual([...versions, ...currents, ...versions]);

  for (const { type, id } of ALL_KEYS) {
    const { entries, total } = await guard.history({ type, id }, { offset: 0, limit: 10 });
    const told = await store.history({ project: 'alpha', type, id }, { offset: 0, limit: 10 });
    const current = content.find((one) => nameOf(one) === `${type}/${id}`);
    const expected = told.entries.flatMap((entry): unknown[] => {
      if (entry.kind === 'delete') return oracle.opens('history', type) ? ['deleted'] : [];
      const version = bare(entry.resource);
      if (current === undefined)
        return [seenWhenDeleted(oracle, 'history', version)].filter((one) => one !== 'missing');
      return [oracle.seeVersion('history', version, current)].filter((one) => one !== undefined);
    });
    expect(entries.map((entry) => (entry.kind === 'put' ? bare(entry.resource) : 'deleted'))).toEqual(expected);
    expect(total).toBe(expected.length);
    const second = await guard.history({ type, id }, { offset: 1, limit: 1 });
    expect(second.entries).toEqual(entries.slice(1, 2));
    expect(second.total).toBe(total);
  }
}

/** Searches with every kind of question, their order, pages and totals, and searches by reference. */
async function searchesAreThose({ guard, oracle, questions }: Opened): Promise<void> {
  for (const { type, rest } of questions) {
    const { criteria } = parseSearch(R4, type, rest);
    const expected = oracle.search(type, criteria);
    const page = await guard.search({ type, criteria, total: true });
    expect([rest, page.matches.map(({ resource }) => resource.id)]).toEqual([rest, expected]);
    expect(page.total).toBe(expected.length);
    expect(page.matches.map(({ resource }) => bare(resource))).toEqual(
      expected.map((id) => oracle.see('search', type, id)),
    );
    const count = await guard.search({ type, criteria, limit: 0, total: true });
    expect(count).toEqual({ matches: [], total: expected.length });
  }
  for (const type of SAMPLE_TYPES) {
    for (const text of SORTS[type]) {
      const { criteria, sort } = parseSearch(R4, type, `_sort=${text}`);
      const page = await guard.search({ type, criteria, sort, offset: 1, limit: 2 });
      expect([text, page.matches.map(({ resource }) => resource.id)]).toEqual([
        text,
        oracle.search(type, criteria, sort).slice(1, 3),
      ]);
    }
  }
  const targets = ['p1', 'p2', 'p3'].map((id) => ({ type: 'Patient', id }));
  const { criteria } = parseSearch(R4, 'Observation', 'status:not=amended');
  const pages = await guard.searchByReference({ type: 'Observation', criteria, total: true }, 'subject', targets);
  const allowed = targets.map(({ id }) =>
    oracle.search('Observation', parseSearch(R4, 'Observation', `status:not=amended&subject=Patient/${id}`).criteria),
  );
  expect(pages.map(({ matches }) => matches.map(({ resource }) => resource.id))).toEqual(allowed);
  expect(pages.map(({ total }) => total)).toEqual(allowed.map(({ length }) => length));
}

/** The repository shows the resources of the guarded store. */
async function repositoryAgrees({ store, caller, guard, oracle, older, questions }: Opened): Promise<void> {
  const repository = createRepository({ store, caller });
  const told = async (call: Promise<object>): Promise<unknown> =>
    call.then(
      (resource) => bare(resource as AnyResource),
      (error: unknown) => (error instanceof FhirError ? error.code : error),
    );
  const codes = { found: undefined, missing: 'not-found', gone: 'gone' } as const;
  const shown = (result: ReadResult): unknown => codes[result.status] ?? bare((result as StoredResource).resource);
  const versioned = older.map(({ resourceType, id }) => ({ type: resourceType as ResourceType, id: id! }));
  const reads = await guard.read([...ALL_KEYS, ...versioned.map((key) => ({ ...key, version: '1' }))]);
  const answers = await Promise.all([
    ...ALL_KEYS.map(({ type, id }) => told(repository.read(type, id))),
    ...versioned.map(({ type, id }) => told(repository.vread(type, id, '1'))),
  ]);
  expect(answers).toEqual(reads.map(shown));
  for (const { type, id } of ALL_KEYS) {
    const { total, entries } = await guard.history({ type, id }, { offset: 0, limit: 10 });
    const versions =
      total === 0 ? 'not-found' : entries.map((one) => (one.kind === 'put' ? bare(one.resource) : 'gone'));
    const bundle = await repository.history(type, id).catch((error: unknown) => (error as FhirError).code);
    expect(
      typeof bundle === 'string'
        ? bundle
        : bundle.entry?.map(({ resource }) => (resource === undefined ? 'gone' : bare(resource))),
    ).toEqual(versions);
  }
  for (const { type, rest } of questions) {
    const expected = oracle.search(type, parseSearch(R4, type, rest).criteria);
    const bundle = await repository.search(type, `${rest}&_total=accurate`);
    expect([rest, bundle.total, ...(bundle.entry ?? []).map(({ resource }) => bare(resource!))]).toEqual([
      rest,
      expected.length,
      ...expected.map((id) => oracle.see('search', type, id)),
    ]);
  }
}

/** One GraphQL query with every path that leads to a resource. */
async function graphqlIsThat({ store, caller, oracle, content, older, questions }: Opened): Promise<void> {
  const fields: string[] = [];
  const expected: { [key: string]: unknown } = {};
  const absent: string[] = [];
  for (const [index, { type, id }] of ALL_KEYS.entries()) {
    const seen = oracle.see('read', type, id);
    fields.push(`r${index}: ${type}(id: "${id}") { ...${type} }`);
    expected[`r${index}`] = seen === undefined ? null : answerOf(oracle, seen);
    if (seen !== undefined) continue;
    const deleted = older.some((one) => nameOf(one) === `${type}/${id}`) && !has(content, type, id);
    absent.push(deleted && oracle.opens('read', type) ? `gone ${type}/${id} was deleted` : `not-found ${type}/${id} was not found`); // prettier-ignore
  }
  for (const [index, { type, rest, graphql }] of questions.entries()) {
    if (graphql === undefined) continue;
    const found = oracle.search(type, parseSearch(R4, type, asRest(graphql, rest)).criteria);
    const rows = found.map((id) => oracle.see('search', type, id)!);
    fields.push(`l${index}: ${type}List${args(graphql)} { ...${type} }`);
    expected[`l${index}`] = rows.map((seen) => answerOf(oracle, seen));
    fields.push(`c${index}: ${type}Connection${args(graphql, '_count: 1')} { count edges { resource { id } } }`);
    expected[`c${index}`] = { count: rows.length, edges: found.slice(0, 1).map((id) => ({ resource: { id } })) };
  }
  fields.push('born: PatientList(fhirpath: "birthDate.exists() or name.given.exists()") { id }');
  expected['born'] = oracle
    .search('Patient', { kind: 'all' })
    .filter((id) => {
      const seen = oracle.see('search', 'Patient', id) as unknown as {
        birthDate?: string;
        name?: { given?: unknown }[];
      };
      return seen.birthDate !== undefined || seen.name?.some(({ given }) => given !== undefined) === true;
    })
    .map((id) => ({ id }));
  fields.push('sorted: PatientList(_sort: "-birthdate,family") { id }');
  expected['sorted'] = oracle
    .search('Patient', { kind: 'all' }, parseSearch(R4, 'Patient', '_sort=-birthdate,family').sort)
    .map((id) => ({ id }));
  const { data, errors = [] } = await executeFhirGraphql(`{ ${fields.join('\n')} } ${FRAGMENTS}`, { store, caller });
  expect(data).toEqual(expected);
  // In this order too: the order of errors would reveal which resources took another store call.
  expect(errors.map(({ message, extensions }) => `${extensions.code} ${message}`)).toEqual(absent);
}

function seenWhenDeleted(oracle: Oracle, interaction: 'vread' | 'history', version: AnyResource): unknown {
  return oracle.seeOpenly(interaction, version) ?? 'missing';
}

/** `_filter` in GraphQL can differ from the REST search next to it; the oracle gets the same search. */
function asRest(graphql: string, rest: string): string {
  const filter = /^_filter: (".*")$/.exec(graphql);
  return filter === null ? rest : `_filter=${encodeURIComponent(JSON.parse(filter[1]!) as string)}`;
}

function args(...parts: readonly string[]): string {
  const given = parts.filter((part) => part !== '');
  return given.length === 0 ? '' : `(${given.join(', ')})`;
}

/** As written, without the elements that stores and the library set. */
function bare(resource: object): AnyResource {
  const { meta: _, ...rest } = resource as Json;
  return rest as unknown as AnyResource;
}

function nameOf({ resourceType, id }: AnyResource): string {
  return `${resourceType}/${id!}`;
}

function has(content: readonly AnyResource[], type: SampleType, id: string): boolean {
  return content.some((one) => nameOf(one) === `${type}/${id}`);
}
