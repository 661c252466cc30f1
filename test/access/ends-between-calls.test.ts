import { afterEach, describe, expect, test } from 'vitest';
import {
  createRepository,
  executeFhirGraphql,
  type FhirError,
  importBundle,
  MemoryStore,
  signIn,
  systemCaller,
} from '../../src/index.js';
import { type Terminology, withTerminology } from '../../src/terminology.js';
import { PACE } from '../../src/platform/pace.js';
import { faultOf, signedIn, system } from '../repository/harness.js';
import { stopClock } from '../support/stop-clock.js';
import { storeWith } from '../support/store-with.js';

const { turnMs } = PACE;
afterEach(() => void (PACE.turnMs = turnMs));

const caller = systemCaller('clinic');
const limits = { timeout: 50 };
const TOO_LATE = { code: 'too-costly', details: { limit: 'timeout', max: 50 } };

const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));
const never = (): Promise<never> => new Promise<never>(() => undefined);

/** The rejection of work that begins now, which comes with the deadline and not before. */
async function lateness(work: () => Promise<unknown>): Promise<FhirError> {
  const clock = stopClock();
  let hasEnded = false;
  const fault = faultOf(work().finally(() => (hasEnded = true)));
  await clock.pass(49);
  for (let turns = 0; turns < 5; turns += 1) await turn();
  expect(hasEnded).toBe(false);
  await clock.pass(1);
  return fault;
}

describe('limits.timeout ends the wait for a terminology that does not answer:', () => {
  const terminology: Terminology = { expand: never, subsumes: never, lookup: never };

  test('a search by a value set', async () => {
    const repository = createRepository({ store: withTerminology(new MemoryStore(), terminology), caller, limits });
    expect(await lateness(() => repository.search('Observation', 'code:in=urn:set'))).toMatchObject(TOO_LATE);
  });

  test('a conditional create', async () => {
    const store = withTerminology(new MemoryStore(), terminology);
    const repository = createRepository({ store, caller, limits });
    const create = () => repository.create({ resourceType: 'Basic', code: {} }, { ifNoneExist: 'code:in=urn:set' });
    expect(await lateness(create)).toMatchObject(TOO_LATE);
  });

  test('a sign-in under a policy with a value set', async () => {
    const plain = new MemoryStore();
    await system(plain);
    const codes: Terminology = { ...terminology, expand: () => Promise.resolve([{ code: 'x' }]) };
    const rules = [{ resourceType: 'Observation', criteria: 'Observation?code:in=urn:set' }];
    const { membership } = await signedIn(withTerminology(plain, codes), { rules });
    const store = withTerminology(plain, terminology);
    expect(await lateness(() => signIn(store, { membership }, { limits }))).toMatchObject(TOO_LATE);
  });
});

describe('limits.timeout of a query', () => {
  const store = new MemoryStore();

  test('ends the wait for a document that the host does not find', async () => {
    const documents = { find: never };
    const clock = stopClock();
    const result = executeFhirGraphql({ documentId: 'a' }, { store, caller, documents, limits });
    await clock.pass(50);
    expect(await result).toMatchObject({ errors: [{ extensions: TOO_LATE }] });
  });

  test('counts that wait', async () => {
    const deadlines: unknown[] = [];
    const noting = storeWith(store, {
      search: (query, options) => {
        deadlines.push(options?.deadline);
        return store.search(query, options);
      },
    });
    const clock = stopClock();
    const start = performance.now();
    const documents = { find: () => clock.pass(30).then(() => '{ PatientList { id } }') };
    const result = await executeFhirGraphql({ documentId: 'a' }, { store: noting, caller, documents, limits });
    expect(result.errors).toBeUndefined();
    expect(deadlines).toEqual([start + 50]);
  });
});

describe('limits.timeout ends a Bundle', () => {
  const SIZE = 100;

  function transaction(reference: (index: number) => string): object {
    const entry = Array.from({ length: SIZE }, (_, index) => ({
      resource: { resourceType: 'Patient', id: `p${index}`, managingOrganization: { reference: reference(index) } },
      request: { method: 'PUT', url: `Patient/p${index}` },
    }));
    return { resourceType: 'Bundle', type: 'transaction', entry };
  }

  test.each<[string, (index: number) => string, number]>([
    ['while its entries are read, identified, linked, validated and decided', (index) => `Organization/${index}`, 5],
    ['while its conditional references are looked for', (index) => `Organization?_id=${index}`, 5],
  ])('%s', async (_, reference, stages) => {
    PACE.turnMs = 0;
    for (let stage = 0; stage < stages; stage += 1) {
      const store = new MemoryStore();
      const clock = stopClock();
      let hasEnded = false;
      const imported = importBundle(transaction(reference), { store, caller, limits });
      const fault = faultOf(imported.finally(() => (hasEnded = true)));
      for (let turns = 0; turns < stage * SIZE + SIZE / 2; turns += 1) await turn();
      expect(hasEnded).toBe(false);
      await clock.pass(50);
      // Several turns may be over before the clock is back.
      for (let turns = 0; turns < SIZE / 4; turns += 1) await turn();
      expect(hasEnded).toBe(true);
      expect(await fault).toMatchObject(TOO_LATE);
      clock.start();
      const { matches } = await store.search({ project: 'clinic', type: 'Patient', criteria: { kind: 'all' } });
      expect(matches).toEqual([]);
    }
  });
});
