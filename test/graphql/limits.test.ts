import { parse } from 'graphql';
import { beforeAll, describe, expect, test } from 'vitest';
import { DEFAULT_LIMITS, executeFhirGraphql, type HostFields, type Limits, MemoryStore } from '../../src/index.js';
import type { CallOptions } from '../../src/store.js';
import { caller, failures, messages, openClinic, type Clinic, type Sample } from './harness.js';
import { storeWith } from '../support/store-with.js';
import { executeBy, ManualClock } from './manual-clock.js';

const patients = ['1', '2', '3', '4'].map((id): Sample => ({ resourceType: 'Patient', id, active: true }));
const observations = ['1', '2', '3'].map((id): Sample => ({
  resourceType: 'Observation',
  id,
  subject: { reference: 'Patient/1' },
}));

const fields: HostFields = {
  Patient: { age: { type: 'Int', args: { at: 'Int' }, cost: 0, resolve: (all) => all.map(() => 1) } },
  Query: { ages: { type: '[Int]', args: { of: 'Int!' }, resolve: ({ of }) => new Array(of as number).fill(1) } },
};

let clinic: Clinic;
beforeAll(async () => {
  const opened = await openClinic([...patients, ...observations]);
  clinic = { ...opened, ask: (query, variables, more) => opened.ask(query, variables, { fields, ...more }) };
});

const lists = '{ a: PatientList { id } b: ObservationList { subject { resource { id } } } }';

const CASES: readonly (readonly [keyof Limits, string, number])[] = [
  ['queryLength', '{ PatientList { id } }', 22],
  ['tokens', '{ PatientList { id } }', 6],
  ['tokens', '{ PatientList(name: ["a", $b]) { id } }'.replace('$b', '"b"'), 14],
  ['depth', '{ PatientList { name { family } } }', 3],
  ['depth', '{ Patient(id: 1) { ...f } } fragment f on Patient { name { period { start } } }', 4],
  ['fields', '{ PatientList { id name { family } } }', 4],
  ['fields', '{ PatientList { ...f } } fragment f on Patient { id active }', 4],
  ['storeCalls', lists, 3],
  ['resolverCalls', '{ a: PatientList { age } b: PatientList { age id } c: PatientList { age(at: 1) } }', 2],
  ['listSize', '{ ages(of: 4) }', 4],
  ['listSize', '{ PatientList { id } }', 4],
  ['listSize', '{ PatientList(_count: 3) { id } }', 3],
  ['listSize', '{ Patient(id: 1) { ObservationList(_reference: subject) { id } } }', 3],
  ['rows', lists, 10],
  // Four patients with a name of two fields, one observation counts itself.
  ['values', '{ ages(of: 9) }', 10],
  ['values', '{ PatientList { id active } a: ObservationList { subject { reference } } }', 4 * 3 + 3 * (2 + 2)],
  // One list of four with one field each: 2 + 4 x 1.05 = 6.2.
  ['cost', '{ PatientList(_count: 4) { id } }', 7],
  // Two lists: 2 + 2 x 1.1. The references to the two patients are one call: 2 + 2 x 0.1, and twice 2 x 1.05; together 14.8.
  [
    'cost',
    '{ a: PatientList(_count: 2) { ...f } b: PatientList(_count: 2) { ...f } } fragment f on Patient { id ObservationList(_reference: subject, _count: 2) { id } }',
    15,
  ],
  ['fhirpathSteps', '{ PatientList(fhirpath: "active") { id } }', 20_000 + 40 * 'active'.length + 4 * 7],
  ['errors', '{ a: Patient(id: "x") { id } b: Patient(id: "y") { id } }', 2],
  ['writes', 'mutation { a: BasicUpdate(id: "a", res: {}) { id } b: BasicDelete(id: "a") }', 2],
  ['variablesSize', 'query ($a: String) { PatientList(name: $a) { id } }', 'a'.length + 100 + 'Hill'.length],
];

describe('each limit accepts the exact value and refuses one more', () => {
  test('and each limit has a case here, or (bytes, time, turns, subscriptions) elsewhere', () => {
    expect(new Set([...CASES.map(([limit]) => limit), 'bytes', 'timeout', 'concurrency', 'streams'])).toEqual(
      new Set(Object.keys(DEFAULT_LIMITS)),
    );
  });

  test.each(CASES)('%s: %s needs %i', async (limit, query, needed) => {
    const variables = { a: 'Hill' };
    const passed = await clinic.ask(query, variables, { limits: { [limit]: needed } });
    expect(failures(passed).filter((code) => !code.startsWith('not-found'))).toEqual([]);
    const refused = await clinic.ask(query, variables, { limits: { [limit]: needed - 1 } });
    expect(failures(refused)).toEqual(['too-costly']);
    expect(refused).not.toHaveProperty('data');
    expect(refused.errors![0]!.extensions.details).toMatchObject({ limit, max: needed - 1 });
    expect(refused.errors![0]!.message).toContain(String(needed - 1));
  });

  test('a query that passed under larger limits is refused under smaller limits', async () => {
    const query = '{ PatientList { gender } }';
    expect(failures(await clinic.ask(query))).toEqual([]);
    for (const limits of [{ tokens: 5 }, { depth: 1 }, { fields: 1 }, { queryLength: 5 }]) {
      expect(failures(await clinic.ask(query, {}, { limits }))).toEqual(['too-costly']);
    }
    const document = parse(query);
    const context = { store: clinic.store, caller };
    expect(failures(await executeFhirGraphql(document, context))).toEqual([]);
    expect(failures(await executeFhirGraphql(document, { ...context, limits: { tokens: 5 } }))).toEqual(['too-costly']);
  });

  test('depth also counts selections that are planned only for types found in the data', async () => {
    const { ask } = await openClinic([
      {
        resourceType: 'Patient',
        id: '1',
        meta: { extension: [{ url: 'urn:x', valueReference: { reference: 'Patient/1' } }] },
      },
    ]);
    const link = (next: string): string => `id meta { extension { valueReference { resource { ${next} } } } }`;
    const query = `{ Patient(id: 1) { ...f0 } }
      ${[0, 1, 2, 3].map((level) => `fragment f${level} on Resource { ${link(`...f${level + 1}`)} }`).join('\n')}
      fragment f4 on Resource { id }`;
    expect(failures(await ask(query, {}, { limits: { depth: 18 } }))).toEqual([]);
    expect(failures(await ask(query, {}, { limits: { depth: 17 } }))).toEqual(['too-costly']);
  });

  test('contained resources count as rows', async () => {
    const { ask } = await openClinic([
      {
        resourceType: 'Observation',
        id: '1',
        contained: [{ resourceType: 'Patient', id: 'p' }],
        subject: { reference: '#p' },
      },
    ]);
    const query = '{ Observation(id: 1) { subject { resource { id } } } }';
    expect(failures(await ask(query, {}, { limits: { rows: 2 } }))).toEqual([]);
    expect(failures(await ask(query, {}, { limits: { rows: 1 } }))).toEqual(['too-costly']);
  });

  test('more root fields than store calls are refused before the first call', async () => {
    let calls = 0;
    const store = storeWith(clinic.store, {
      search: (query, options) => {
        calls += 1;
        return clinic.store.search(query, options);
      },
    });
    const query = '{ a: PatientList { id } b: PatientList { id } c: PatientList { id } }';
    expect(failures(await clinic.ask(query, {}, { store, limits: { storeCalls: 2 } }))).toEqual(['too-costly']);
    expect(calls).toBe(0);
  });

  test.each([
    ['a text', (text: string) => ({ text: { status: 'generated', div: `<div>${text}</div>` } }), 'text { div }'],
    ['a text of a list', (text: string) => ({ name: [{ given: ['A', text] }] }), 'name { given }'],
    ['a text with a function of its own', (text: string) => ({ name: [{ family: text }] }), 'name { family }'],
  ])('long texts count by their length, each time they appear: %s', async (_, holding, selection) => {
    const { store } = await openClinic([
      { resourceType: 'Patient', id: 'long', ...holding('x'.repeat(100_000)) },
      { resourceType: 'Patient', id: 'short', ...holding('x'.repeat(900)) },
    ]);
    const aliases = Array.from({ length: 12 }, (__, index) => `a${index}: ${selection}`).join(' ');
    const ask = (id: string, values: number) =>
      clinic.ask(`{ Patient(id: "${id}") { ${aliases} } }`, {}, { store, limits: { values } });
    const refused = await ask('long', 11_000);
    expect(refused.errors?.[0]?.extensions).toMatchObject({
      code: 'too-costly',
      details: { limit: 'values', max: 11_000 },
    });
    expect(refused.data ?? null).toBe(null);
    expect(failures(await ask('long', 13_000))).toEqual([]);
    expect(failures(await ask('short', 200))).toEqual([]);
  });

  test('the defaults are those documented', () => {
    expect(DEFAULT_LIMITS).toEqual({
      queryLength: 200_000,
      tokens: 10_000,
      depth: 30,
      fields: 20_000,
      storeCalls: 200,
      resolverCalls: 200,
      listSize: 10_000,
      rows: 100_000,
      bytes: 134_217_728,
      values: 1_000_000,
      cost: 100_000,
      fhirpathSteps: 2_000_000,
      variablesSize: 5_000_000,
      errors: 10_000,
      writes: 100,
      timeout: 30_000,
      concurrency: { total: Infinity, project: Infinity, caller: Infinity, queue: 100 },
      streams: { caller: 100, project: 20_000, broad: 1_000 },
    });
  });

  test.each([
    [{ depht: 3 }, 'There is no limit called "depht"'],
    [{ depth: 0 }, 'Limit "depth" must be a number above 0'],
    [{ depth: NaN }, 'Limit "depth" must be a number above 0'],
  ])('an invalid limit is refused: %o', async (limits: object, message) => {
    expect(messages(await clinic.ask('{ PatientList { id } }', {}, { limits }))).toEqual([message]);
  });

  test('a limit left undefined is the default', async () => {
    expect(failures(await clinic.ask('{ PatientList { id } }', {}, { limits: { depth: undefined } }))).toEqual([]);
  });

  test.each([Infinity, Number.MAX_SAFE_INTEGER])('a time limit of %d ends nothing early', async (timeout) => {
    expect(failures(await clinic.ask('{ PatientList { id } }', {}, { limits: { timeout } }))).toEqual([]);
  });
});

describe('time', () => {
  const LIST = '{ PatientList { id } }';
  const REPEAT = '1.repeat(iif($this < 50, $this + 1, {})).count() = 50';

  test('a store that never answers ends with an error, and is aborted', async () => {
    const clock = new ManualClock();
    let signal: AbortSignal | undefined;
    const store = storeWith(new MemoryStore(), {
      search: (_, options?: CallOptions) => {
        signal = options?.signal;
        queueMicrotask(() => clock.advance(5));
        return new Promise(() => undefined);
      },
    });
    await expect(executeBy(clock, LIST, { store, caller, limits: { timeout: 5 } })).rejects.toMatchObject({
      code: 'too-costly',
      details: { limit: 'timeout', max: 5 },
    });
    expect(signal?.aborted).toBe(true);
    expect(clock.alarms).toBe(0);
  });

  test.each([
    ['in time', 5, undefined],
    ['a moment later', 5.01, 'too-costly'],
  ])('a store that blocks timers and answers %s', async (_, milliseconds, code) => {
    const clock = new ManualClock();
    const store = storeWith(clinic.store, {
      search: (query) => {
        clock.pass(milliseconds);
        return clinic.store.search(query);
      },
    });
    const outcome = executeBy(clock, LIST, { store, caller, limits: { timeout: 5 } });
    if (code === undefined) expect((await outcome).data).toEqual({ PatientList: patients.map(({ id }) => ({ id })) });
    else await expect(outcome).rejects.toMatchObject({ code, details: { limit: 'timeout', max: 5 } });
    expect(clock.alarms).toBe(0);
  });

  test.each([
    ['matches', `{ PatientList(fhirpath: "${REPEAT}") { id } }`],
    ['items', `{ PatientList { name(fhirpath: "${REPEAT}") { text } } }`],
  ])('FHIRPath over many %s ends with the time', async (_, query) => {
    const names = [{ text: 'a' }, { text: 'b' }];
    const { store } = await openClinic(
      Array.from({ length: 40 }, (_, index): Sample => ({ resourceType: 'Patient', id: String(index), name: names })),
    );
    const clock = new ManualClock(() => clock.pass(1));
    await expect(executeBy(clock, query, { store, caller, limits: { timeout: 20 } })).rejects.toMatchObject({
      code: 'too-costly',
      details: { limit: 'timeout' },
    });
    // Each look finds a millisecond gone.
    expect(clock.looks).toBeLessThan(60);
  });

  test('the signal of the host ends a loop of repeat() between two items, and no later item is evaluated', async () => {
    const { store } = await openClinic(
      Array.from({ length: 40 }, (_, index): Sample => ({ resourceType: 'Patient', id: String(index) })),
    );
    const host = new AbortController();
    const clock = new ManualClock(({ looks }) => {
      if (looks === 20) host.abort();
    });
    const query = `{ PatientList(fhirpath: "${REPEAT}") { id } }`;
    await expect(executeBy(clock, query, { store, caller, signal: host.signal })).rejects.toMatchObject({
      code: 'aborted',
    });
    expect(clock.looks).toBeLessThan(25);
  });

  test('a store that answers in time is not aborted', async () => {
    let signal: AbortSignal | undefined;
    const store = storeWith(clinic.store, {
      search: (query, options) => {
        signal = options?.signal;
        return clinic.store.search(query);
      },
    });
    await clinic.data('{ PatientList { id } }', {}, { store });
    expect(signal?.aborted).toBe(false);
  });
});

describe('the signal of the host', () => {
  test.each(['{ PatientList { id } }', '{ __typename }'])(
    'aborted before: no store call is made for %s',
    async (query) => {
      let calls = 0;
      const store = storeWith(clinic.store, {
        search: (...given) => {
          calls += 1;
          return clinic.store.search(...given);
        },
      });
      const result = await clinic.ask(query, {}, { store, signal: AbortSignal.abort(new Error('secret reason')) });
      expect(failures(result)).toEqual(['aborted']);
      expect(JSON.stringify(result)).not.toContain('secret');
      expect(result).not.toHaveProperty('data');
      expect(calls).toBe(0);
    },
  );

  test('aborted while a store does not answer: the answer does not wait for it', async () => {
    const controller = new AbortController();
    let seen: AbortSignal | undefined;
    const store = storeWith(clinic.store, {
      search: (_, options) => {
        seen = options?.signal;
        queueMicrotask(() => controller.abort());
        return new Promise(() => undefined);
      },
    });
    const result = await clinic.ask('{ PatientList { id } }', {}, { store, signal: controller.signal });
    expect(failures(result)).toEqual(['aborted']);
    expect(seen?.aborted).toBe(true);
  });

  test('aborted between levels: the next level does not begin', async () => {
    const controller = new AbortController();
    let reads = 0;
    const store = storeWith(clinic.store, {
      search: async (query) => {
        const page = await clinic.store.search(query);
        controller.abort();
        return page;
      },
      read: (keys) => {
        reads += 1;
        return clinic.store.read(keys);
      },
    });
    const query = '{ ObservationList { subject { resource { id } } } }';
    expect(failures(await clinic.ask(query, {}, { store, signal: controller.signal }))).toEqual(['aborted']);
    expect(reads).toBe(0);
  });

  test('a store that rejects because of its abort is not an internal error', async () => {
    const controller = new AbortController();
    const store = storeWith(clinic.store, {
      search: () => {
        controller.abort();
        return Promise.reject(new DOMException('stopped', 'AbortError'));
      },
    });
    expect(failures(await clinic.ask('{ PatientList { id } }', {}, { store, signal: controller.signal }))).toEqual([
      'aborted',
    ]);
  });

  test('a signal that is never aborted keeps no listener', async () => {
    const { signal } = new AbortController();
    let listeners = 0;
    const add = signal.addEventListener.bind(signal);
    const remove = signal.removeEventListener.bind(signal);
    signal.addEventListener = (...given: Parameters<typeof add>) => {
      listeners += 1;
      add(...given);
    };
    signal.removeEventListener = (...given: Parameters<typeof remove>) => {
      listeners -= 1;
      remove(...given);
    };
    await clinic.data('{ PatientList { id } }', {}, { signal });
    await clinic.ask('{ Patient(id: "none") { id } }', {}, { signal });
    await clinic.ask('{ Patient }', {}, { signal });
    expect(listeners).toBe(0);
  });
});
