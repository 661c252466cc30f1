import { beforeAll, describe, expect, test } from 'vitest';
import type { AnyResource } from '../../../src/fhir/resource.js';
import { ALL, type Criteria } from '../../../src/search/criteria/criteria.js';
import { pglitePool } from '../../../src/stores/postgres/database/pglite-pool.js';
import { PostgresStore } from '../../../src/stores/postgres/store.js';
import { idsOf, putAll, queryOf, resourceOf } from '../../../src/testing/conformance-case.js';
import type { PlanNode } from '../plan-node.js';
import { explaining, nodesOf } from './explaining.js';
import { bareDatabase } from './pool.js';

const BASE = 'https://own.example/fhir';
const COUNT = 60;

/** Every second reference is absolute and below the base. */
function reference(type: string, number: number): { readonly reference: string } {
  const local = `${type}/${number % COUNT}`;
  return { reference: number % 2 === 0 ? local : `${BASE}/${local}` };
}

/** Response n is about observation n + 1. Observation n has response n + 1 as a member. The last third are of patient 0. */
function linked(): readonly AnyResource[] {
  return Array.from({ length: COUNT }, (_, n) => [
    resourceOf('QuestionnaireResponse', String(n), { status: 'completed', subject: reference('Observation', n + 1) }),
    resourceOf('Observation', String(n), {
      status: 'final',
      code: { text: 'x' },
      hasMember: [reference('QuestionnaireResponse', n + 1)],
      subject: reference('Patient', n < (COUNT * 2) / 3 ? n + 1 : COUNT),
    }),
  ]).flat();
}

const OTHERS: Criteria = {
  kind: 'match',
  parameter: 'subject',
  test: { kind: 'reference', types: ['Patient'], id: '0', negated: true },
};
/** Observation n if observation n - 2 is not of patient 0. */
const REVERSE: Criteria = {
  kind: 'has',
  type: 'QuestionnaireResponse',
  parameter: 'subject',
  of: { kind: 'has', type: 'Observation', parameter: 'has-member', of: OTHERS },
};
/** Observation n if observation n + 2 is not of patient 0. */
const FORWARD: Criteria = {
  kind: 'chain',
  parameter: 'has-member',
  type: 'QuestionnaireResponse',
  of: { kind: 'chain', parameter: 'subject', type: 'Observation', of: OTHERS },
};

const numbers = (test: (n: number) => boolean): readonly string[] =>
  Array.from({ length: COUNT }, (_, n) => n)
    .filter(test)
    .map(String)
    .sort();
const isOther = (n: number): boolean => (n + COUNT) % COUNT < (COUNT * 2) / 3;

describe('references by the URLs of the service cost a look-up for each resource', () => {
  const plans: PlanNode[] = [];
  let store: PostgresStore;

  beforeAll(async () => {
    store = new PostgresStore(explaining(pglitePool(await bareDatabase()), plans));
    await putAll(store, ...linked());
  });

  test.each<[string, Criteria, readonly string[]]>([
    ['to them', REVERSE, numbers((n) => isOther(n - 2))],
    ['not to them', { kind: 'not', of: REVERSE }, numbers((n) => !isOther(n - 2))],
    ['from them', FORWARD, numbers((n) => isOther(n + 2))],
    ['not from them', { kind: 'not', of: FORWARD }, numbers((n) => !isOther(n + 2))],
  ])('%s, without statistics', async (_, criteria, expected) => {
    plans.length = 0;
    expect(await idsOf(store, queryOf('Observation', criteria, { baseUrl: BASE, limit: COUNT }))).toEqual(expected);
    const nodes = plans.flatMap(nodesOf);
    expect(nodes.length).toBeGreaterThan(0);
    // A resource compared with each other one would be looked up thousands of times.
    expect(Math.max(...nodes.map((node) => node['Actual Loops']))).toBeLessThanOrEqual(2 * COUNT);
    expect(Math.max(...nodes.map((node) => node['Actual Rows'] * node['Actual Loops']))).toBeLessThanOrEqual(4 * COUNT);
  });

  test('a list of the resources that refer to each resource, without statistics', async () => {
    plans.length = 0;
    const targets = Array.from({ length: COUNT }, (_, n) => ({ type: 'QuestionnaireResponse', id: String(n) }));
    const query = queryOf('Observation', ALL, { baseUrl: BASE, limit: 10 });
    const pages = await store.searchByReference(query, 'has-member', targets);
    const ids = pages.map(({ matches }) => matches.map(({ resource }) => resource.id).join());
    expect(ids).toEqual(targets.map((_, n) => String((n + COUNT - 1) % COUNT)));
    const nodes = plans.flatMap(nodesOf);
    expect(nodes.length).toBeGreaterThan(0);
    expect(Math.max(...nodes.map((node) => node['Actual Rows'] * node['Actual Loops']))).toBeLessThanOrEqual(4 * COUNT);
  });
});
