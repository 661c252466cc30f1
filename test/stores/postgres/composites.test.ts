import { afterEach, beforeAll, expect, test } from 'vitest';
import type { AnyResource } from '../../../src/fhir/resource.js';
import type { Criteria } from '../../../src/search/criteria/criteria.js';
import { MemoryStore } from '../../../src/stores/memory/store.js';
import { SKIP_TUNING } from '../../../src/stores/postgres/rows/skip-row.js';
import { TUNING } from '../../../src/stores/postgres/scans/tuning.js';
import { PostgresStore } from '../../../src/stores/postgres/store.js';
import { keyOf, queryOf } from '../../../src/testing/conformance-case.js';
import { below, createRandom, oneOf } from '../../../src/testing/random.js';
import { cases, SEED } from '../../support/chance.js';
import { answerOf, by, match, write } from '../skip-cases.js';
import { noting, postgresPool } from './pool.js';
import { buildSkips } from './skip-build.js';

const TUNED = { ...TUNING };
// Few resources are many granules, and few writes a layer.
beforeAll(() => void Object.assign(SKIP_TUNING, { granule: 8, minGranules: 3, minHolders: 2, maxFresh: 10 }));
afterEach(() => void Object.assign(TUNING, TUNED));

function valued(parameter: string, code: string, value: number): Criteria {
  return {
    kind: 'composite',
    parameter,
    tests: [
      { kind: 'token', code },
      { kind: 'quantity', prefix: 'gt', low: value, high: value },
    ],
  };
}

function both(first: string, second: string, parameter: string): Criteria {
  const tests = [first, second].map((code) => ({ kind: 'token', code }) as const);
  return { kind: 'composite', parameter, tests };
}

function observation(index: number, content: object): AnyResource {
  const id = `o${String(index).padStart(3, '0')}`;
  return { resourceType: 'Observation', id, status: 'final', ...content } as unknown as AnyResource;
}

const coded = (...codes: readonly string[]): object => ({ coding: codes.map((code) => ({ code })) });

test(`composites find the same as a memory store, also in layers and after writes, seed ${SEED}`, async () => {
  const random = createRandom(SEED);
  const [pool, memory] = [await postgresPool(), new MemoryStore()];
  const store = new PostgresStore(pool);
  const any = (): object => {
    const code = coded(oneOf(['a', 'a', 'b', 'c'], random));
    const quantity = { value: below(20, random), unit: 'mg' };
    const kind = random();
    if (kind < 0.2) return { code };
    if (kind < 0.4) return { code, valueCodeableConcept: { ...coded('p', oneOf(['p', 'q'], random)), text: 'pain' } };
    if (kind < 0.5) return { code, valueString: oneOf(['pain', 'fever'], random) };
    return kind < 0.65 ? { code, valueSampledData: { origin: quantity } } : { code, valueQuantity: quantity };
  };
  const some = (): object => ({ ...any(), component: Array.from({ length: below(4, random) }, any) });
  const resources = Array.from({ length: 200 }, (_, index) => observation(index, some()));
  for (const one of [store, memory]) await write(one, resources);
  const composite = (): Criteria => {
    const [code, kind] = [oneOf(['a', 'b', 'x'], random), random()];
    const named = oneOf(['combo-code-value', 'component-code-value', 'code-value'], random);
    if (kind < 0.6) return valued(`${named}-quantity`, code, below(20, random));
    if (kind < 0.8) return both(code, oneOf(['p', 'q', 'x'], random), `${named}-concept`);
    const text = { kind: 'string', comparator: 'starts-with', text: oneOf(['pain', 'fev'], random) } as const;
    return { kind: 'composite', parameter: 'code-value-string', tests: [{ kind: 'token', code }, text] };
  };
  for (let step = 0; step < 4; step++) {
    // Every second time the index says nothing of the writes.
    if (step !== 2) await buildSkips(pool, ['Observation']);
    expect((await store.verify()).problems).toEqual([]);
    for (let trial = 0; trial < cases(80, 20); trial++) {
      const looks = oneOf([[Infinity], TUNED.looks], random);
      Object.assign(TUNING, { looks, walkedFirst: 0, mostShare: 2, fewTogether: oneOf([-1, 256], random) });
      const one = composite();
      const not: Criteria = { kind: 'not', of: one };
      const other: Criteria = { kind: 'and', of: [one, match('code', 'a')] };
      const criteria = oneOf<Criteria>([one, one, not, other, { kind: 'or', of: [match('code', 'b'), not] }], random);
      const sort = random() < 0.5 ? undefined : [by('value-quantity', random() < 0.5)];
      const query = queryOf('Observation', criteria, { sort, limit: 10, total: true });
      expect(await answerOf(store, query)).toEqual(await answerOf(memory, query));
    }
    const later = Array.from({ length: 15 }, (_, index) => observation(190 + step * 10 + index, some()));
    for (const one of [store, memory]) {
      await write(one, later);
      await one.commit([{ kind: 'delete', key: keyOf('Observation', `o${String(step).padStart(3, '0')}`) }]);
    }
  }
  await store.close();
});

/** Counts what criteria match among resources, without a look at short scans. */
async function counted(
  criteria: Criteria,
  resources: readonly AnyResource[],
): Promise<{ readonly total: number | undefined; readonly statements: readonly string[] }> {
  const statements: string[] = [];
  const pool = await postgresPool();
  const store = new PostgresStore(noting(pool, statements));
  await write(store, resources);
  await buildSkips(pool, ['Observation']);
  Object.assign(TUNING, { looks: [Infinity] });
  statements.length = 0;
  const { total } = await store.search(queryOf('Observation', criteria, { limit: 0, total: true }));
  await store.close();
  return { total, statements };
}

test('a count of a composite of the resource itself tests nothing', async () => {
  const resources = Array.from({ length: 400 }, (_, index) =>
    observation(index, {
      code: coded(index % 2 === 0 ? 'a' : 'b'),
      valueCodeableConcept: coded(index % 5 === 0 ? 'p' : 'q'),
    }),
  );
  const { total, statements } = await counted(both('a', 'p', 'code-value-concept'), resources);
  expect(total).toBe(40);
  expect(statements.filter((text) => /\btoken\b/.test(text))).toEqual([]);
});

test('values of another type count neither as matches nor as values to test', async () => {
  const resources = Array.from({ length: 400 }, (_, index) => {
    const quantity = { value: index, unit: 'mg' };
    return observation(index, {
      code: coded(index % 2 === 0 ? 'a' : 'b'),
      ...(index % 3 === 0 ? { valueSampledData: { origin: quantity } } : { valueQuantity: quantity }),
    });
  });
  const { total, statements } = await counted(valued('code-value-quantity', 'a', 299), resources);
  expect(total).toBe(33);
  expect(statements.filter((text) => /\btoken\b/.test(text))).toEqual([]);
});

test('a count of a combination with the negation of a composite tests the possible matches of the composite', async () => {
  const resources = Array.from({ length: 400 }, (_, index) =>
    observation(index, {
      code: coded(index % 2 === 0 ? 'a' : 'b'),
      component: [{ code: coded('a'), valueQuantity: { value: index < 390 ? 1 : 9 } }],
    }),
  );
  const not: Criteria = { kind: 'not', of: valued('component-code-value-quantity', 'a', 5) };
  const { total, statements } = await counted({ kind: 'or', of: [match('code', 'b'), not] }, resources);
  expect(total).toBe(395);
  // The keys of the tested resources come from the skip index.
  const tests = statements.filter((text) => /\btoken\b/.test(text));
  expect(tests).toHaveLength(1);
  expect(tests[0]).toContain('fhirgraph_skip_key');
});

test('a composite of components is counted by the resources in sets, for any number of them, because no scan reads fewer', async () => {
  const resources = Array.from({ length: 400 }, (_, index) =>
    observation(index, {
      code: coded(index % 20 === 0 ? 'a' : 'b'),
      component: [{ code: coded('a'), valueQuantity: { value: index } }],
    }),
  );
  const one = valued('component-code-value-quantity', 'a', 99);
  const { maxLookedUp } = TUNED;
  for (const [most, isTested] of [
    [10, false],
    [maxLookedUp, true],
  ] as const) {
    Object.assign(TUNING, { maxTested: 10, maxLookedUp: most });
    const { total, statements } = await counted({ kind: 'and', of: [one, match('code', 'a')] }, resources);
    expect(total).toBe(15);
    const tests = statements.filter((text) => /\btoken\b/.test(text) && text.includes('fhirgraph_skip_key'));
    expect(tests.length > 0).toBe(isTested);
  }
});
