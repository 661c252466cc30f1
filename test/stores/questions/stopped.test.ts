import Database from 'better-sqlite3';
import { afterAll, afterEach, beforeAll, describe, expect, test, vi } from 'vitest';
import { SqliteStore } from '../../../src/sqlite.js';
import type { Criteria, SearchQuery, ValueTest } from '../../../src/store.js';
import { createRandom, PROJECT, queryOf, resourceOf } from '../../support/kit.js';
import { ReferenceSearch } from '../../../src/testing/reference-search.js';
import { SEED } from '../../support/chance.js';
import { by, match, write } from '../queries.js';
import { indexSqlite, useEveryPart, useSmallIndexes, useUsualWay } from './index-work.js';

const CODES = Array.from({ length: 40 }, (_, index) => `c${index}`);
const database = new Database(':memory:');
const store = new SqliteStore(database);
let reference: ReferenceSearch;

beforeAll(async () => {
  const requests = Array.from({ length: 1_200 }, (_, index) =>
    resourceOf('ServiceRequest', `s${index}`, {
      status: index % 2 === 0 ? 'active' : 'draft',
      code: { coding: [{ code: CODES[index % 40] }] },
      category: [{ coding: [{ code: 'a' }] }, { coding: [{ code: index % 3 === 0 ? 'a' : 'b' }] }],
      subject: { reference: `Patient/p${index % 200}` },
      authoredOn: `2020-01-${String(1 + (index % 28)).padStart(2, '0')}T00:00:${String(index % 60).padStart(2, '0')}Z`,
    }),
  );
  const patients = Array.from({ length: 200 }, (_, index) =>
    resourceOf('Patient', `p${index}`, { gender: index % 2 === 0 ? 'male' : 'female' }),
  );
  useSmallIndexes(createRandom(SEED));
  reference = new ReferenceSearch(store.model, await write(store, [...patients, ...requests]));
  await indexSqlite(database);
  useEveryPart();
});
afterEach(() => vi.restoreAllMocks());
afterAll(useUsualWay);

const since: ValueTest = { kind: 'date', prefix: 'ge', low: Date.UTC(2020, 0, 5), high: Date.UTC(2020, 0, 6) };
const oneOfCodes = (count: number): Criteria => ({
  kind: 'or',
  of: CODES.slice(0, count).map((code) => match('code', code)),
});

const QUESTIONS: readonly (readonly [string, Criteria])[] = [
  ['one of many codes', oneOfCodes(39)],
  ['none of many codes', { kind: 'not', of: oneOfCodes(30) }],
  ['another code', { kind: 'match', parameter: 'category', test: { kind: 'token', code: 'a', negated: true } }],
  // A resource may have a code in two forms and no other code.
  [
    'another code in two forms',
    { kind: 'match', parameter: 'category', test: { kind: 'token', code: 'a', folded: 'A', negated: true } },
  ],
  ['a range', { kind: 'match', parameter: 'authored', test: since }],
  ['a chain', { kind: 'chain', parameter: 'subject', type: 'Patient', reach: 'outside', of: match('gender', 'male') }],
  ['no value', { kind: 'missing', parameter: 'code', missing: true }],
];

/** From now on a millisecond passes whenever somebody looks at the clock. @returns the number of looks */
function slowClock(): () => number {
  let looks = 0;
  const start = performance.now();
  vi.spyOn(performance, 'now').mockImplementation(() => start + ++looks);
  return () => looks;
}

describe.each(QUESTIONS)('a question for %s', (_, criteria) => {
  test.each([0, 50])('stops at its deadline at any moment, and leaves nothing (page of %i)', async (limit) => {
    const query: SearchQuery = {
      ...queryOf('ServiceRequest', { kind: 'and', of: [criteria, match('status', 'active')] }),
      ...{ project: PROJECT, limit, total: limit === 0, sort: [by('authored')] },
    };
    const { ids, total } = reference.search(query);
    const expected = [limit === 0 ? [] : ids, limit === 0 ? total : undefined];
    const ask = async (deadline?: number): Promise<unknown> => {
      const found = await store.search(query, { deadline });
      return [found.matches.map(({ resource }) => resource.id), found.total];
    };
    expect(await ask()).toEqual(expected);
    const looks = slowClock();
    expect(await ask(performance.now() + 1e9)).toEqual(expected);
    const most = looks();
    const ends: unknown[] = [];
    for (let last = 1; last < most; last += Math.ceil(most / 40)) {
      const [before, deadline] = [looks(), performance.now() + last];
      const end = await ask(deadline).catch((error: unknown) => error);
      if (Array.isArray(end)) expect(end).toEqual(expected);
      else {
        expect(end).toMatchObject({ code: 'aborted', details: { deadline: true } });
        // It ends with the next looks.
        expect(looks() - before).toBeLessThan(last + 12);
      }
      ends.push(Array.isArray(end));
      expect(await ask()).toEqual(expected);
    }
    expect(ends).toContain(false);
  });
});
