import { expect, test } from 'vitest';
import { SqliteStore } from '../../../src/sqlite.js';
import type { Criteria, ValueTest } from '../../../src/store.js';
import { PROJECT, put, putAll, queryOf, resourceOf } from '../../support/kit.js';

const HOSTILE = [
  "' OR 1=1 --",
  '"; DROP TABLE resource; --',
  "x') UNION SELECT text FROM version --",
  '%',
  '_',
  '*',
  '\\',
  '?',
  '?1',
  ':x',
  '$[0]',
  '[]',
  '{"a":1}',
  'a\0b',
  "'||(SELECT text FROM version)||'",
  '__proto__',
  'constructor',
  '\ud800',
  '💉',
];

test.each(HOSTILE)('a search for %j finds only that text', async (text) => {
  const store = new SqliteStore(':memory:');
  await putAll(
    store,
    resourceOf('Patient', 'plain', { name: [{ family: 'Smith' }], identifier: [{ system: 's', value: 'v' }] }),
    resourceOf('ValueSet', 'plain', { url: 'http://a' }),
    resourceOf('Observation', 'plain', { subject: { reference: 'Patient/plain' } }),
  );
  const tests: readonly [string, string, ValueTest][] = [
    ['Patient', 'family', { kind: 'string', comparator: 'exact', text }],
    ['Patient', 'family', { kind: 'string', comparator: 'equals', text }],
    ['Patient', 'family', { kind: 'string', comparator: 'starts-with', text }],
    ['Patient', 'family', { kind: 'string', comparator: 'ends-with', text }],
    ['Patient', 'family', { kind: 'string', comparator: 'contains', text }],
    ['Patient', 'identifier', { kind: 'token', code: text }],
    ['Patient', 'identifier', { kind: 'token', system: text }],
    ['Patient', 'identifier', { kind: 'token', system: text, code: text }],
    ['Patient', 'identifier', { kind: 'text', text }],
    ['ValueSet', 'url', { kind: 'uri', comparator: 'equals', value: text }],
    ['ValueSet', 'url', { kind: 'uri', comparator: 'below', value: text }],
    ['ValueSet', 'url', { kind: 'uri', comparator: 'above', value: text }],
    ['Observation', 'subject', { kind: 'reference', id: text }],
    ['Observation', 'subject', { kind: 'reference', types: [text], id: text }],
    ['Observation', 'subject', { kind: 'reference', url: text }],
    ['Observation', text, { kind: 'token', code: text }],
  ];
  for (const [type, parameter, one] of tests) {
    const criteria: Criteria = { kind: 'match', parameter, test: one };
    expect(await store.search(queryOf(type, criteria, { total: true })), JSON.stringify(one)).toEqual({
      matches: [],
      total: 0,
    });
    const or: Criteria = { kind: 'or', of: [criteria, { ...criteria }, { kind: 'id', ids: [text, `${text}x`] }] };
    expect((await store.search(queryOf(type, or))).matches, JSON.stringify(one)).toEqual([]);
    const not: Criteria = {
      kind: 'and',
      of: [
        { kind: 'not', of: criteria },
        { kind: 'not', of: or },
      ],
    };
    expect((await store.search(queryOf(type, not))).matches.length, JSON.stringify(one)).toBe(1);
  }
});

test.each(HOSTILE)('%j is not a name of anything', async (text) => {
  const store = new SqliteStore(':memory:');
  await putAll(store, resourceOf('Patient', 'plain'));
  expect(await store.read([{ project: text, type: text, id: text }])).toEqual([{ status: 'missing' }]);
  const keys = [text, 'plain', text].map((id) => ({ project: PROJECT, type: 'Patient', id }));
  expect((await store.read(keys)).map(({ status }) => status)).toEqual(['missing', 'found', 'missing']);
  expect(await store.read([{ project: PROJECT, type: 'Patient', id: 'plain', version: text }])).toEqual([
    { status: 'missing' },
  ]);
  expect((await store.search({ ...queryOf(text), project: text })).matches).toEqual([]);
  expect(await store.searchByReference(queryOf('Patient'), text, [{ type: text, id: text }])).toEqual([
    { matches: [] },
  ]);
  const sort = [{ parameter: text, descending: true }];
  expect((await store.search(queryOf('Patient', undefined, { sort }))).matches.length).toBe(1);
  const chain: Criteria = { kind: 'chain', parameter: text, type: text, of: { kind: 'all' } };
  const has: Criteria = { kind: 'has', parameter: text, type: text, of: { kind: 'all' } };
  for (const criteria of [chain, has]) expect((await store.search(queryOf('Patient', criteria))).matches).toEqual([]);
  expect(
    (await store.search(queryOf('Patient', { kind: 'missing', parameter: text, missing: true }))).matches.length,
  ).toBe(1);
});

test.each(HOSTILE.filter((text) => text !== '\ud800'))('%j is stored and found as data', async (text) => {
  const store = new SqliteStore(':memory:');
  const patient = resourceOf('Patient', 'a', {
    identifier: [{ system: text, value: text }],
    name: [{ family: text }],
    language: text,
  });
  await store.commit([put(patient, { unique: [text] })]);
  const token: Criteria = { kind: 'match', parameter: 'identifier', test: { kind: 'token', system: text, code: text } };
  const exact: Criteria = { kind: 'match', parameter: 'family', test: { kind: 'string', comparator: 'exact', text } };
  for (const criteria of [token, exact, { kind: 'or', of: [token, token] } as const]) {
    const { matches } = await store.search(queryOf('Patient', criteria));
    expect(matches.map(({ resource }) => resource)).toMatchObject([{ language: text }]);
  }
  await expect(store.commit([put(resourceOf('Patient', 'b'), { unique: [text] })])).rejects.toMatchObject({
    code: 'conflict',
  });
});
