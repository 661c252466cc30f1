import { afterEach, expect, test, vi } from 'vitest';
import { type AnyResource, type Caller, MemoryStore } from '../../src/index.js';
import { type FhirModel, R4, type StoredResource } from '../../src/store.js';
import { maskFound } from '../../src/access/evaluate/granting-rules.js';
import { hiddenByAll } from '../../src/access/fields/mask-resource.js';
import { guardStore } from '../../src/access/guarded-store.js';
import { unrestrictedRule, type AccessRule } from '../../src/access/rule.js';
import { RequestPace } from '../../src/graphql/execute/deadline.js';
import { PACE } from '../../src/platform/pace.js';
import { ManualClock, executeBy } from '../graphql/manual-clock.js';
import { countTurns } from '../support/count-turns.js';
import { caller as memberOf } from './decisions.js';

const { turnMs } = PACE;
afterEach(() => void (PACE.turnMs = turnMs));

/** Rules by code. The last one grants the resources of {@link observation}. */
function rulesByCode(count: number, ...hidden: string[]): readonly AccessRule[] {
  return Array.from({ length: count }, (_, index) => ({
    ...unrestrictedRule(`rule ${index}`, hidden),
    criteria: { kind: 'match', parameter: 'code', test: { kind: 'token', code: `${count - 1 - index}` } },
  }));
}

function observation(id: number): AnyResource {
  return { resourceType: 'Observation', id: `o${id}`, ...{ status: 'final', code: { coding: [{ code: '0' }] } } };
}

const under = (rules: readonly AccessRule[], model?: FhirModel): Caller => memberOf({ Observation: rules }, model);

const putOf = (resource: AnyResource) =>
  ({ kind: 'put', key: { type: 'Observation', id: resource.id! }, resource }) as const;

async function clinic(size: number, model: FhirModel = R4): Promise<MemoryStore> {
  const store = new MemoryStore({ model });
  const resources = Array.from({ length: size }, (_, index) => observation(index));
  await store.commit(resources.map((one) => ({ ...putOf(one), key: { ...putOf(one).key, project: 'clinic' } })));
  return store;
}

test('a resource is indexed equally often under two hundred rules and under two', async () => {
  const looksUnder = async (count: number): Promise<number> => {
    let looks = 0;
    const model: FhirModel = new Proxy(R4, {
      get: (target, name) => {
        if (name === 'withBaseUrl') return () => model;
        if (name === 'isResourceType') looks += 1;
        const value: unknown = Reflect.get(target, name);
        return typeof value === 'function' ? (value.bind(target) as unknown) : value;
      },
    });
    const store = await clinic(3, model);
    const guarded = guardStore(store, under(rulesByCode(count), model));
    // The second write finds what the first one wrote.
    const writes = [putOf(observation(1)), putOf(observation(1)), putOf(observation(2))];
    await guarded.commit(writes);
    looks = 0;
    await guarded.commit(writes);
    return looks;
  };
  expect(await looksUnder(200)).toBe(await looksUnder(2));
});

test('reads and writes of many resources under rules take turns', async () => {
  const store = await clinic(100);
  const guarded = guardStore(store, under(rulesByCode(3)));
  const keys = Array.from({ length: 100 }, (_, index) => ({ type: 'Observation', id: `o${index}` }));
  PACE.turnMs = 0;
  const read = await countTurns(() => guarded.read(keys));
  expect(read.result.every(({ status }) => status === 'found')).toBe(true);
  expect(read.turns).toBeGreaterThanOrEqual(100);
});

test('hidden fields are computed once for all resources that the rules grant, and removed in turns', async () => {
  let looks = 0;
  const rules = rulesByCode(50, 'status').map((rule) => ({
    ...rule,
    get hidden() {
      looks += 1;
      return rule.hidden;
    },
  }));
  expect(hiddenByAll(rules)).toEqual(['status']);
  expect(looks).toBeLessThanOrEqual(100);
  looks = 0;
  expect(hiddenByAll(rules)).toEqual(['status']);
  expect(looks).toBe(0);
  const store = await clinic(100);
  const rows = (await store.read(
    [...Array(100).keys()].map((id) => ({ project: 'clinic', type: 'Observation', id: `o${id}` })),
  )) as unknown as StoredResource[];
  PACE.turnMs = 0;
  const { result, turns } = await countTurns(() => maskFound(store, 'clinic', 'Observation', rules, undefined, rows));
  expect(result.every(({ resource }) => !('status' in resource))).toBe(true);
  expect(turns).toBeGreaterThanOrEqual(100);
});

test('the lists of a level begin in turns', async () => {
  const store = await clinic(1);
  // Each look at the clock finds that the turn is over.
  const ask = async (lists: number) => {
    const query = `{ ${Array.from({ length: lists }, (_, index) => `a${index}: ObservationList(code: "${index}") { id }`).join(' ')} }`;
    const clock = new ManualClock((one) => one.pass(5));
    const context = { store, caller: under(rulesByCode(3)), limits: { timeout: 1e9 } };
    const next = vi.spyOn(RequestPace.prototype, 'next');
    const result = await executeBy(clock, query, context);
    const waits = next.mock.calls.length;
    next.mockRestore();
    return { result, waits };
  };
  const [few, many] = [await ask(2), await ask(60)];
  expect(many.result.errors).toEqual([]);
  expect(many.result.data).toMatchObject({ a0: [{ id: 'o0' }], a59: [] });
  expect(many.waits - few.waits).toBeGreaterThanOrEqual(58);
});
