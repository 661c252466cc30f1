import Database from 'better-sqlite3';
import { beforeAll, describe, expect, test } from 'vitest';
import { SqliteStore } from '../../../src/sqlite.js';
import type { Criteria, Prefix, SearchQuery, SortKey, ValueTest } from '../../../src/store.js';
import { createRandom, put, queryOf, randomResources, resourceOf } from '../../support/kit.js';
import { OF_TYPE as TYPE_HISTORY } from '../../../src/stores/sqlite/search/type-history.js';

/** Twice in a list of references to a parent: whether it has more than a thousand, and the way to them. */
const FROM_PARENT = 'SEARCH x USING COVERING INDEX reference_by_value (target=? AND parameter=?)';

const store = new SqliteStore(':memory:');

beforeAll(async () => {
  await store.commit(randomResources(createRandom(1)).map((resource) => put(resource)));
  await store.commit([
    put(resourceOf('Observation', 'far', { hasMember: [{ reference: 'https://a/Observation/o1' }] })),
  ]);
});

async function planOf(
  type: string,
  criteria: Criteria,
  sort?: readonly SortKey[],
  edge: Pick<SearchQuery, 'after' | 'before'> = {},
): Promise<readonly string[]> {
  const [page] = await store.explain({ kind: 'search', query: queryOf(type, criteria, { sort, limit: 10, ...edge }) });
  return page!.plan.map((line) => line.trim());
}

function match(parameter: string, one: ValueTest): Criteria {
  return { kind: 'match', parameter, test: one };
}

const TOKEN = match('code', { kind: 'token', code: '8480-6' });
const PREFIXES: readonly Prefix[] = ['eq', 'gt', 'lt', 'ge', 'le', 'sa', 'eb', 'ap', 'po'];

const INDEXED: readonly (readonly [string, string, Criteria])[] = [
  ['token', 'Observation', TOKEN],
  ['token of a system', 'Observation', match('code', { kind: 'token', system: 'http://loinc.org', code: '8480-6' })],
  ['several tokens', 'Observation', { kind: 'or', of: [TOKEN, match('code', { kind: 'token', code: 'x' })] }],
  ['string', 'Patient', match('family', { kind: 'string', comparator: 'starts-with', text: 'mu' })],
  ['exact string', 'Patient', match('family', { kind: 'string', comparator: 'exact', text: 'Müller' })],
  ['reference', 'Observation', match('subject', { kind: 'reference', types: ['Patient'], id: 'p1' })],
  [
    'reference of several types',
    'Observation',
    match('subject', { kind: 'reference', types: ['Patient', 'Group'], id: 'p1' }),
  ],
  ['reference of any type', 'Observation', match('subject', { kind: 'reference', id: 'p1' })],
  ['foreign reference', 'Observation', match('subject', { kind: 'reference', url: 'http://elsewhere/Patient/p1' })],
  ['uri', 'ValueSet', match('url', { kind: 'uri', comparator: 'equals', value: 'http://a/b' })],
  ['uri below', 'ValueSet', match('url', { kind: 'uri', comparator: 'below', value: 'http://a/b' })],
  ['ids', 'Patient', { kind: 'id', ids: ['p1', 'p2'] }],
  ['chain', 'Observation', { kind: 'chain', parameter: 'subject', type: 'Patient', of: { kind: 'id', ids: ['p1'] } }],
  ['has', 'Patient', { kind: 'has', type: 'Observation', parameter: 'subject', of: TOKEN }],
  ...PREFIXES.map((prefix): readonly [string, string, Criteria] => [
    `date ${prefix}`,
    'Observation',
    match('date', { kind: 'date', prefix, low: Date.UTC(2020, 1, 1), high: Date.UTC(2020, 2, 1) }),
  ]),
  ...PREFIXES.map((prefix): readonly [string, string, Criteria] => [
    `number ${prefix}`,
    'RiskAssessment',
    match('probability', { kind: 'number', prefix, low: 5, high: 5 }),
  ]),
];

describe('a search starts from an index', () => {
  test.each(INDEXED)('%s', async (_, type, criteria) => {
    const plan = await planOf(type, criteria);
    // json_each is a list of values, and CONSTANT ROW or SUBQUERY has rows that an index returned before.
    const scans = plan.filter((line) => line.startsWith('SCAN') && !/json_each|SUBQUERY|CONSTANT ROW/.test(line));
    expect(scans).toEqual([]);
    expect(plan[0]).toBe('SEARCH r0 USING INTEGER PRIMARY KEY (rowid=?)');
    expect(plan.join('\n')).toMatch(/_by_value|_by_end|sqlite_autoindex_resource/);
  });

  test.each(INDEXED)('%s, with a test that no index supports', async (_, type, criteria) => {
    const plan = await planOf(type, { kind: 'and', of: [{ kind: 'not', of: { kind: 'id', ids: ['z'] } }, criteria] });
    expect(plan[0]).toBe('SEARCH r0 USING INTEGER PRIMARY KEY (rowid=?)');
  });
});

describe('a row is tested by point look-ups', () => {
  test.each(INDEXED)('%s', async (_, type, criteria) => {
    const plan = await planOf(type, {
      kind: 'and',
      of: [{ kind: 'id', ids: ['p1', 'o1', 'v1'] }, criteria, { kind: 'not', of: criteria }],
    });
    expect(plan.filter((line) => line.startsWith('SCAN') && !/json_each|SUBQUERY|CONSTANT ROW/.test(line))).toEqual([]);
    for (const line of plan.filter((one) => /^SEARCH x\d? /.test(one))) {
      // Every look at an index table is under the resource, or under the value searched for.
      expect(line).toMatch(/resource=|code=|target=|value[=<>]|low[<>=]|high>|folded=|folded>/);
    }
  });
});

test('a search without an index reads only its own type', async () => {
  for (const criteria of [
    { kind: 'all' },
    { kind: 'not', of: TOKEN },
    { kind: 'missing', parameter: 'code', missing: true },
  ] as const) {
    const plan = await planOf('Observation', criteria);
    expect(plan.find((line) => line !== 'CO-ROUTINE r0')).toMatch(
      /^SEARCH (w|r0) USING (COVERING )?INDEX sqlite_autoindex_resource_1 \(collection=\?\)|^SEARCH r0 USING INTEGER/,
    );
  }
});

test('the default order of a type comes from its index', async () => {
  const plan = await planOf('Observation', { kind: 'all' });
  expect(plan.some((line) => line.includes('TEMP B-TREE'))).toBe(false);
});

test('a page after or before an id is a range of the index of ids, read in its order', async () => {
  const position = { values: [], id: 'o5' };
  for (const [edge, range] of [
    [{ after: position }, /^SEARCH r0 USING INDEX \w+ \(collection=\? AND id>\?\)$/],
    [{ before: position }, /^SEARCH r0 USING INDEX \w+ \(collection=\? AND id<\?\)$/],
  ] as const) {
    const plan = await planOf('Observation', { kind: 'all' }, undefined, edge);
    expect(plan[0]).toMatch(range);
    expect(plan.some((line) => line.includes('TEMP B-TREE'))).toBe(false);
  }
});

test('a search by time of change is a range of its index', async () => {
  const plan = await planOf(
    'Observation',
    { kind: 'last-updated', test: { kind: 'date', prefix: 'ge', low: 0, high: 1 } },
    [{ parameter: '_lastUpdated', descending: true }],
  );
  const range = /^SEARCH y USING COVERING INDEX resource_by_updated \(collection=\? AND updated>/;
  expect(plan).toContainEqual(expect.stringMatching(range));
});

/**
 * Looks at index tables that are not under a resource's key: each would walk the values of all resources. What gives the rows
 * in order is called `w`, and is walked once.
 */
function walks(plan: readonly string[]): readonly string[] {
  return plan.filter(
    (line) => /_by_(value|end|place)/.test(line) && !line.startsWith('SEARCH w ') && !line.includes('resource=?'),
  );
}

const SORTS: readonly (readonly [kind: string, type: string, parameter: string, value: string | number])[] = [
  ['token', 'Observation', 'code', '8480-6'],
  ['token of one value', 'Observation', 'status', 'final'],
  ['string', 'Patient', 'family', 'm'],
  ['date', 'Observation', 'date', 1],
  ['number', 'RiskAssessment', 'probability', 0.5],
  ['quantity', 'Observation', 'value-quantity', 5],
  ['reference', 'Observation', 'subject', 'Patient/p1'],
  ['uri', 'ValueSet', 'url', 'http://a/b'],
  ['time of change', 'Observation', '_lastUpdated', 1],
  ['id', 'Observation', '_id', 'o1'],
];

describe('no sort walks an index by value for each row', () => {
  const PARENTS: { readonly [type: string]: string } = {
    Observation: 'subject',
    RiskAssessment: 'subject',
    Patient: 'organization',
  };
  const SECOND: SortKey = { parameter: '_lastUpdated', descending: true };

  describe.each(SORTS)('%s', (_, type, parameter, value) => {
    test.each([false, true])('descending: %s', async (descending) => {
      const key: SortKey = { parameter, descending };
      const id = 'o5';
      for (const [sort, values] of [
        [[key], [value]],
        [
          [SECOND, key],
          [1, value],
        ],
        [[key], [null]],
      ] as const) {
        for (const edge of [{}, { after: { values, id } }, { before: { values, id } }]) {
          expect(walks(await planOf(type, { kind: 'all' }, sort, edge))).toEqual([]);
          const parameter = PARENTS[type];
          if (parameter === undefined) continue;
          const [reverse] = await store.explain({
            kind: 'search-by-reference',
            query: queryOf(type, { kind: 'all' }, { sort, limit: 10, ...edge }),
            parameter,
            targets: [{ type: type === 'Patient' ? 'Organization' : 'Patient', id: 'o1' }],
          });
          expect(walks(reverse!.plan.map((line) => line.trim()))).toEqual([FROM_PARENT, FROM_PARENT]);
        }
      }
    });
  });
});

describe('no test of a row reads more of an index by value than the row has', () => {
  const any = (parameter: string, tests: readonly ValueTest[]): Criteria => ({
    kind: 'or',
    of: tests.map((one) => match(parameter, one)),
  });
  const CODES: Criteria = any('code', [
    { kind: 'token', code: '8480-6' },
    { kind: 'token', code: 'x' },
    { kind: 'token', code: 'y' },
  ]);
  const OF_A_TYPE: Criteria = match('subject', { kind: 'reference', types: ['Patient'] });
  const TESTS: readonly (readonly [string, Criteria])[] = [
    ['several tokens', CODES],
    ['references to a type', OF_A_TYPE],
    ['references to one of several types', match('subject', { kind: 'reference', types: ['Patient', 'Group'] })],
    [
      'several references',
      any('subject', [
        { kind: 'reference', types: ['Patient'], id: 'p1' },
        { kind: 'reference', types: ['Patient'], id: 'p2' },
      ]),
    ],
    [
      'a composite',
      {
        kind: 'composite',
        parameter: 'code-value-quantity',
        tests: [
          { kind: 'token', code: '8480-6' },
          { kind: 'quantity', prefix: 'gt', low: 5, high: 5 },
        ],
      },
    ],
    ['a chain', { kind: 'chain', parameter: 'subject', type: 'Patient', of: { kind: 'all' } }],
    ['missing', { kind: 'missing', parameter: 'code', missing: true }],
    ['a date', match('date', { kind: 'date', prefix: 'eq', low: 1, high: 2 })],
    ['a quantity', match('value-quantity', { kind: 'quantity', prefix: 'gt', low: 1, high: 2 })],
  ];

  test.each(TESTS)('%s', async (_, criteria) => {
    expect(walks(await planOf('Observation', { kind: 'not', of: criteria }))).toEqual([]);
    const [reverse] = await store.explain({
      kind: 'search-by-reference',
      query: queryOf('Observation', criteria, { limit: 10 }),
      parameter: 'subject',
      targets: [{ type: 'Patient', id: 'p1' }],
    });
    expect(walks(reverse!.plan.map((line) => line.trim()))).toEqual([FROM_PARENT, FROM_PARENT]);
  });

  test.each(TESTS)('%s, at the other end of a reference', async (_, criteria) => {
    const plan = await planOf('Patient', {
      kind: 'not',
      of: { kind: 'has', type: 'Observation', parameter: 'subject', of: { kind: 'not', of: criteria } },
    });
    expect(walks(plan)).toEqual(['SEARCH x USING COVERING INDEX reference_by_value (target=? AND parameter=?)']);
  });
});

test.each([
  ['a token', 'Observation', TOKEN, 'token_by_value (parameter=? AND code=? AND resource=?)'],
  [
    'a token of a system',
    'Observation',
    match('code', { kind: 'token', system: 'http://loinc.org', code: '8480-6' }),
    'token_by_value (parameter=? AND code=? AND resource=? AND system=?)',
  ],
  [
    'a reference',
    'Observation',
    match('subject', { kind: 'reference', types: ['Patient'], id: 'p1' }),
    'reference_by_value (target=? AND parameter=? AND resource=?)',
  ],
  [
    'a string',
    'Patient',
    match('family', { kind: 'string', comparator: 'equals', text: 'm' }),
    'string_by_value (parameter=? AND folded=? AND resource=?)',
  ],
])('%s is tested by one look-up among the rows of its value', async (_, type, criteria, index) => {
  expect(await planOf(type, { kind: 'not', of: criteria })).toContain(`SEARCH x USING COVERING INDEX ${index}`);
});

describe('a count comes from the index alone', () => {
  const ALTERNATIVES: Criteria = { kind: 'or', of: [TOKEN, match('code', { kind: 'token', code: '8462-4' })] };
  const ABOUT: Criteria = match('subject', { kind: 'reference', types: ['Patient'], id: 'p1' });

  test.each([
    ['for one value', TOKEN],
    ['for any of several values, each resource once', ALTERNATIVES],
    ['for a reference', ABOUT],
  ])('%s', async (_, criteria) => {
    const query = queryOf('Observation', criteria, { limit: 0, total: true });
    const statements = await store.explain({ kind: 'search', query });
    const plan = statements.find(({ statement }) => statement.includes('count(*)'))!.plan.map((line) => line.trim());
    expect(plan.filter((line) => /\br0\b/.test(line))).toEqual([]);
    const { matches } = await store.search(queryOf('Observation', criteria));
    expect(matches.length).toBeGreaterThan(0);
    expect((await store.search(query)).total).toBe(matches.length);
  });
});

test('the history of a type is two ranges of indexes that end with the page', async () => {
  const database = new Database(':memory:');
  const own = new SqliteStore(database);
  await own.commit(randomResources(createRandom(1)).map((resource) => put(resource)));
  database.exec('ANALYZE');
  const plan = database.prepare(`EXPLAIN QUERY PLAN ${TYPE_HISTORY}`).all(...new Array<number>(11).fill(1));
  const steps = (plan as { detail: string }[]).map(({ detail }) => detail);
  expect(steps.filter((step) => /^(SEARCH|SCAN) (resource|past)/.test(step))).toEqual([
    'SEARCH resource USING COVERING INDEX resource_by_updated (collection=? AND updated>? AND (updated,content)<(?,?))',
    'SEARCH past USING PRIMARY KEY (collection=? AND updated>? AND (updated,version)<(?,?))',
  ]);
  expect(steps.filter((step) => step.includes('TEMP B-TREE'))).toEqual(['USE TEMP B-TREE FOR ORDER BY']);
  await own.close();
  database.close();
});
