import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import {
  createRepository,
  executeFhirGraphql,
  MemoryStore,
  serverCaller,
  signIn,
  type ResourceStore,
} from '../../src/index.js';
import { SqliteStore } from '../../src/sqlite.js';
import { projectTerminology, withTerminology, type Concept, type Terminology } from '../../src/terminology.js';
import { codeOf, faultOf, member, signedIn } from '../repository/harness.js';
import { addLargeSet, CONCEPT_SEARCHES, EMPTY, fill, idsOf, MAMMALS } from './concept-cases.js';
import { SETS, SYSTEM } from './resources.js';

describe.each<[string, () => ResourceStore]>([
  ['memory', () => new MemoryStore({ maxResourceValues: 50_000 })],
  ['SQLite', () => new SqliteStore(':memory:', { maxResourceValues: 50_000 })],
])('searches by concepts over %s', (_, open) => {
  let store: ResourceStore;
  beforeAll(async () => {
    store = withTerminology(open(), projectTerminology());
    await fill(store);
  });
  afterAll(() => store.close());

  const found = (type: 'Observation' | 'Patient', query: string): Promise<unknown[]> => idsOf(store, type, query);

  test.each(CONCEPT_SEARCHES)('%s?%s', async (type, query, expected) => {
    expect(await found(type, query)).toEqual(expected);
  });

  test.each([
    [`code:in=${SETS}unknown`, 'invalid'],
    [`code:not-in=${SETS}unknown`, 'invalid'],
    ['code:in=no url', 'invalid'],
    [`code:below=dog`, 'invalid'],
    [`code:below=${SYSTEM}|unicorn`, 'invalid'],
    [`_id:in=${MAMMALS}`, 'invalid'],
    [`_filter=_id in ${MAMMALS}`, 'invalid'],
    [`subject:in=${MAMMALS}`, 'invalid'],
    [Array.from({ length: 11 }, (_, n) => `code:in=${SETS}set${n}`).join('&'), 'too-costly'],
  ])('Observation?%s is %s', async (query, code) => {
    expect(await codeOf(found('Observation', query))).toBe(code);
  });

  test('GraphQL has them in _filter, including reverse lists', async () => {
    const query = `query ($set: String!) {
      ObservationList(_filter: $set) { id }
      Patient(id: "cat") { ObservationList(_reference: subject, _filter: $set) { id } }
    }`;
    const answer = await executeFhirGraphql(query, {
      store,
      caller: serverCaller('clinic'),
      variables: { set: `code in ${MAMMALS}` },
    });
    expect(answer).toEqual({
      data: { ObservationList: [{ id: 'cat' }, { id: 'poodle' }], Patient: { ObservationList: [{ id: 'cat' }] } },
    });
  });

  test('conditional creates can use them', async () => {
    const repository = createRepository({ store, caller: serverCaller('clinic') });
    const created = await repository.create(
      { resourceType: 'Observation', status: 'final', code: { text: 'x' } },
      { ifNoneExist: `code:in=${MAMMALS}&subject=Patient/cat` },
    );
    expect(created.id).toBe('cat');
  });

  test('ten thousand codes are one list', async () => {
    await addLargeSet(store);
    expect(await found('Observation', `code:in=${SETS}large`)).toEqual(['bird']);
    expect(await found('Observation', `code:not-in=${SETS}large&subject:missing=false`)).toEqual(['cat', 'poodle']);
  });
});

describe('policies', () => {
  const rules = (criteria: string) => [{ resourceType: 'Observation', criteria }];

  test('decide by the concepts of their value sets, for reads, searches and writes', async () => {
    const store = withTerminology(new MemoryStore(), projectTerminology());
    await fill(store);
    const reader = await member(store, { rules: rules(`Observation?code:in=${MAMMALS}`) });
    const ids = async (query: string): Promise<unknown> =>
      (await reader.search('Observation', query)).entry?.map(({ resource }) => resource!.id);
    expect(await ids('')).toEqual(['cat', 'poodle']);
    expect(await codeOf(reader.read('Observation', 'bird'))).toBe('not-found');
    const made = (code: string) =>
      reader.create({ resourceType: 'Observation', status: 'final', code: { coding: [{ system: SYSTEM, code }] } });
    expect((await made('dog')).id).toBeDefined();
    expect(await codeOf(made('bird'))).toBe('forbidden');
    // The member cannot read value sets, so for its own searches they do not exist.
    expect(await codeOf(reader.search('Observation', `code:in=${MAMMALS}`))).toBe('invalid');
    const other = await member(store, {
      rules: [
        ...rules(`Observation?_filter=code sb ${SYSTEM}|flyer`),
        { resourceType: 'ValueSet', readonly: true },
        { resourceType: 'CodeSystem', readonly: true },
      ],
    });
    expect((await other.search('Observation', `code:in=${MAMMALS}`)).entry ?? []).toEqual([]);
    expect((await other.search('Observation', '')).entry!.map(({ resource }) => resource!.id)).toEqual(['bird']);
  });

  test('of every type (*) too, with parameters', async () => {
    const store = withTerminology(new MemoryStore(), projectTerminology());
    await fill(store);
    const reader = await member(store, {
      rules: [{ resourceType: '*', criteria: '*?code:in=%set' }],
      parameters: [{ name: 'set', valueString: MAMMALS }],
    });
    expect((await reader.search('Observation', '')).entry!.map(({ resource }) => resource!.id)).toEqual([
      'cat',
      'poodle',
    ]);
    expect((await reader.search('Condition', '')).entry ?? []).toEqual([]);
  });

  test('are refused without a terminology, when they are written and at sign-in', async () => {
    const store = new MemoryStore();
    await fill(store);
    const fault = await faultOf(signedIn(store, { rules: rules(`Observation?code:in=${MAMMALS}`) }));
    expect(fault.code).toBe('policy-invalid');
    expect(fault.message).toContain('needs a terminology');
    const served = withTerminology(store, projectTerminology());
    const { membership } = await signedIn(served, { rules: rules(`Observation?code:not-in=${MAMMALS}`) });
    expect(await codeOf(signIn(store, { membership }))).toBe('policy-invalid');
  });

  test('are refused if a value set is unknown, unreachable or too large; an empty value set grants nothing', async () => {
    const store = withTerminology(new MemoryStore(), projectTerminology());
    await fill(store);
    expect(await codeOf(signedIn(store, { rules: rules(`Observation?code:not-in=${SETS}unknown`) }))).toBe(
      'policy-invalid',
    );
    const nothing = await member(store, { rules: rules(`Observation?code:in=${EMPTY}`) });
    expect((await nothing.search('Observation', '')).entry ?? []).toEqual([]);
    const down = withTerminology(
      store,
      terminologyOf(() => Promise.reject(new Error('ECONNREFUSED'))),
    );
    for (const criteria of [`Observation?code:in=${MAMMALS}`, `Observation?code:not-in=${MAMMALS}`]) {
      expect(await codeOf(signedIn(down, { rules: rules(criteria) }))).toBe('unavailable');
    }
    // Policies without concepts do not ask.
    expect(await signedIn(down, { rules: rules('Observation?status=final') })).toBeDefined();
  });
});

describe('a terminology that fails', () => {
  const search = async (
    terminology: Terminology,
    query = `code:in=${MAMMALS}`,
    signal?: AbortSignal,
  ): Promise<unknown[]> => {
    const store = withTerminology(new MemoryStore(), terminology);
    await fill(store);
    const { entry = [] } = await createRepository({ store, caller: serverCaller('clinic'), signal }).search(
      'Observation',
      query,
    );
    return entry.map(({ resource }) => resource!.id);
  };

  test.each<[string, () => Promise<unknown>, string]>([
    ['throws', () => Promise.reject(new Error('secret')), 'unavailable'],
    ['answers nothing', () => Promise.resolve(undefined), 'unavailable'],
    ['answers no codes', () => Promise.resolve([{ system: SYSTEM }]), 'unavailable'],
    [
      'answers too many',
      () => Promise.resolve(Array.from({ length: 10_001 }, (_, n) => ({ code: `c${n}` }))),
      'too-costly',
    ],
  ])('that %s is an error of the search, for :in and :not-in', async (_, expand, code) => {
    for (const modifier of ['in', 'not-in']) {
      const fault = await faultOf(search(terminologyOf(expand), `code:${modifier}=${MAMMALS}`));
      expect(fault.code).toBe(code);
      expect(fault.message).not.toContain('secret');
    }
  });

  test('without a terminology the search is unsupported, also over an empty store', async () => {
    const repository = createRepository({ store: new MemoryStore(), caller: serverCaller('clinic') });
    for (const query of [`code:in=${MAMMALS}`, `code:below=${SYSTEM}|dog`, `_filter=code in ${MAMMALS}`]) {
      expect(await codeOf(repository.search('Observation', query))).toBe('unsupported');
    }
  });

  test('the signal of the request ends the wait, and reaches the terminology', async () => {
    const control = new AbortController();
    let heard = false;
    const terminology = terminologyOf((signal) => {
      signal!.addEventListener('abort', () => (heard = true));
      control.abort();
      return new Promise(() => undefined);
    });
    expect(await codeOf(search(terminology, undefined, control.signal))).toBe('aborted');
    expect(heard).toBe(true);
  });

  test('each value set is requested once per search', async () => {
    const asked: string[] = [];
    const terminology: Terminology = {
      ...terminologyOf(() => Promise.resolve([])),
      async expand(request): Promise<readonly Concept[]> {
        asked.push(JSON.stringify(request));
        return [{ system: SYSTEM, code: 'cat' }];
      },
    };
    expect(await search(terminology, `code:in=${MAMMALS}&_filter=code in ${MAMMALS} and code ni ${EMPTY}`)).toEqual([]);
    expect(asked).toHaveLength(2);
  });
});

function terminologyOf(expand: (signal: AbortSignal | undefined) => Promise<unknown>): Terminology {
  const none = () => Promise.reject(new Error('not asked'));
  return { expand: (_, { signal }) => expand(signal) as Promise<readonly Concept[]>, subsumes: none, lookup: none };
}
