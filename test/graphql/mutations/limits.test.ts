import { describe, expect, test } from 'vitest';
import { parse } from 'graphql';
import { getOperationType } from '../../../src/http.js';
import { FhirError, MemoryStore } from '../../../src/index.js';
import { type CallOptions, inDoubt } from '../../../src/store.js';
import { caller, failures } from '../harness.js';
import { storeWith } from '../../support/store-with.js';
import { executeBy, ManualClock } from '../manual-clock.js';
import { openClinic } from './harness.js';

const UPDATE = 'mutation { PatientUpdate(id: "p", res: { active: true }) { id } }';

describe('limits of mutations', () => {
  test('allow the given number of writes, and refuse one more', async () => {
    const clinic = await openClinic(new MemoryStore());
    const mutation = (count: number) =>
      `mutation { ${Array.from({ length: count }, (_, index) => `w${index}: PatientCreate(res: {}) { id }`).join(' ')} }`;
    const refused = await clinic.ask(mutation(101));
    expect(failures(refused)).toEqual(['too-costly']);
    expect(refused.errors![0]!.extensions.details).toEqual({ limit: 'writes', max: 100, value: 101 });
    expect(await clinic.ids('Patient')).toEqual([]);
    await clinic.data(mutation(100));
    expect(await clinic.ids('Patient')).toHaveLength(100);
    expect(failures(await clinic.ask(mutation(3), {}, { limits: { writes: 2 } }))).toEqual(['too-costly']);
  });

  test('call the store once for all writes, and once for all patched resources', async () => {
    const clinic = await openClinic(new MemoryStore());
    const calls: string[] = [];
    const { store } = clinic;
    const watched = storeWith(store, {
      read: (keys, options) => {
        calls.push(`read ${keys.map(({ type, id }) => `${type}/${id}`).join(' ')}`);
        return store.read(keys, options);
      },
      commit: (writes, options) => {
        calls.push(`commit ${writes.length}`);
        return store.commit(writes, options);
      },
    });
    const patch = 'patch: { op: add, path: "/active", value: true }';
    for (const id of ['a', 'b']) await clinic.trusted.update({ resourceType: 'Patient', id });
    await clinic.data(
      `mutation { a: PatientPatch(id: "a", ${patch}) { id } b: PatientPatch(id: "b", ${patch}) { id } c: PatientCreate(res: {}) { id } }`,
      {},
      { store: watched },
    );
    expect(calls).toEqual(['read Patient/a Patient/b', 'read Project/clinic', 'commit 3']);
  });

  test('let a mutation that is too costly to plan write nothing', async () => {
    const clinic = await openClinic(new MemoryStore());
    const mutation = 'mutation { PatientUpdate(id: "p", res: {}) { generalPractitioner { resource { id } } } }';
    expect(failures(await clinic.ask(mutation, {}, { limits: { depth: 2 } }))).toEqual(['too-costly']);
    expect(await clinic.ids('Patient')).toEqual([]);
  });

  test.each([
    'PatientCreate(res: {}) { id }',
    'PatientCreate(ifNoneExist: "_id=none", res: {}) { id name { family } }',
    'PatientUpdate(id: "p", res: {}) { id ObservationList(_reference: subject, _count: 2) { id } }',
    'a: PatientUpdate(id: "p", res: {}) { id } b: PatientPatch(id: "p", patch: []) { id } c: PatientDelete(id: "p")',
  ])('costs no more than the estimate: %s', async (fields) => {
    const clinic = await openClinic(new MemoryStore());
    const { data, extensions } = await clinic.ask(`mutation { ${fields} }`, {}, { reportCost: true });
    expect(data).toBeDefined();
    expect(extensions!.cost!.actual).toBeGreaterThan(2);
    expect(extensions!.cost!.estimated).toBeGreaterThanOrEqual(extensions!.cost!.actual);
  });

  test('an answer that costs too much after the commit reports that it was written', async () => {
    const clinic = await openClinic(new MemoryStore());
    const mutation = 'mutation { PatientUpdate(id: "p", res: {}) { ObservationList(_reference: subject) { id } } }';
    const result = await clinic.ask(mutation, {}, { limits: { storeCalls: 1 } });
    expect(failures(result)).toEqual(['too-costly']);
    expect(result.errors![0]!.extensions.details).toEqual({ limit: 'storeCalls', max: 1, written: true });
    expect(await clinic.ids('Patient')).toEqual(['p']);
  });
});

describe('a mutation that is aborted', () => {
  test('before the commit writes nothing', async () => {
    const clinic = await openClinic(new MemoryStore());
    const result = await clinic.ask(UPDATE, {}, { signal: AbortSignal.abort() });
    expect(failures(result)).toEqual(['aborted']);
    expect(result.errors![0]!.extensions.details ?? {}).not.toHaveProperty('written');
    expect(await clinic.ids('Patient')).toEqual([]);
  });

  test('during a commit that stops reports that nothing was written', async () => {
    const clinic = await openClinic(new MemoryStore());
    const controller = new AbortController();
    const store = storeWith(clinic.store, {
      commit: (_, options) =>
        new Promise((_resolve, reject) => {
          options!.signal!.addEventListener('abort', () => reject(options!.signal!.reason as Error));
          controller.abort();
        }),
    });
    const result = await clinic.ask(UPDATE, {}, { store, signal: controller.signal });
    expect(failures(result)).toEqual(['aborted']);
    expect(result.errors![0]!.extensions.details ?? {}).not.toHaveProperty('written');
  });

  test('during a commit that succeeds anyway reports that it was written', async () => {
    const clinic = await openClinic(new MemoryStore());
    const controller = new AbortController();
    const store = storeWith(clinic.store, {
      async commit(writes) {
        controller.abort();
        await Promise.resolve();
        return clinic.store.commit(writes);
      },
    });
    const mutation = 'mutation { PatientUpdate(id: "p", res: {}) { ObservationList(_reference: subject) { id } } }';
    const result = await clinic.ask(mutation, {}, { store, signal: controller.signal });
    expect(failures(result)).toEqual(['aborted']);
    expect(result.errors![0]!.extensions.details).toEqual({ written: true });
    expect(await clinic.ids('Patient')).toEqual(['p']);
  });

  test('during a commit that never ends reports an unknown result, but before the commit that nothing was written', async () => {
    const clinic = await openClinic(new MemoryStore());
    const commits: unknown[] = [];
    /** A store with a method that never answers. The request times out at 20 ms, and a second later nothing waits for it. */
    const hanging = (name: 'commit' | 'read'): Promise<unknown> => {
      const clock = new ManualClock();
      const hang = (_: unknown, options?: CallOptions): Promise<never> => {
        // Before the commit, no call waits that long.
        if (name === 'commit') {
          options!.signal!.addEventListener('abort', () => setImmediate(() => clock.advance(1_000)));
        }
        queueMicrotask(() => clock.advance(20));
        return new Promise<never>(() => undefined);
      };
      const record = (writes: readonly unknown[]): Promise<never> =>
        Promise.reject(new Error(`${commits.push(writes)}`));
      const store = storeWith(clinic.store, { commit: record, [name]: hang });
      return executeBy(clock, UPDATE, { store, caller, limits: { timeout: 20 } }).catch((error: unknown) => {
        expect(clock.alarms).toBe(0);
        return error;
      });
    };
    const limit = { limit: 'timeout', max: 20 };
    expect(await hanging('commit')).toMatchObject({ code: 'too-costly', details: { ...limit, unknown: true } });
    const nothing = (await hanging('read')) as FhirError;
    expect([nothing.code, nothing.details, commits]).toEqual(['too-costly', limit, []]);
  });

  test('during a decision before a commit prevents the store from writing later', async () => {
    const clinic = await openClinic(new MemoryStore());
    const controller = new AbortController();
    const store = storeWith(clinic.store, {
      read(keys) {
        controller.abort();
        return clinic.store.read(keys);
      },
      commit: (writes) => clinic.store.commit(writes),
    });
    const result = await clinic.ask(UPDATE, {}, { store, signal: controller.signal });
    expect(failures(result)).toEqual(['aborted']);
    expect(result.errors![0]!.extensions).not.toHaveProperty('details');
    expect(await clinic.ids('Patient')).toEqual([]);
  });

  test('during a commit that the store abandons in doubt reports an unknown result', async () => {
    const clinic = await openClinic(new MemoryStore());
    const controller = new AbortController();
    const store = storeWith(clinic.store, {
      commit() {
        controller.abort();
        return Promise.reject(inDoubt(new FhirError('aborted', 'Given up')));
      },
    });
    const result = await clinic.ask(UPDATE, {}, { store, signal: controller.signal });
    expect(failures(result)).toEqual(['aborted']);
    expect(result.errors![0]!.extensions.details).toEqual({ unknown: true });
  });
});

describe('the planned writes of a request', () => {
  const both = 'query Q { PatientList { id } } mutation M { PatientDelete(id: 1) }';
  test.each([
    ['{ PatientList { id } }', undefined, 'query'],
    [UPDATE, undefined, 'mutation'],
    [UPDATE, '', 'mutation'],
    [UPDATE, null, 'mutation'],
    ['subscription { x }', undefined, 'subscription'],
    [both, 'Q', 'query'],
    [both, 'M', 'mutation'],
    [both, undefined, undefined],
    [both, 'N', undefined],
    ['# mutation\n{ mutation: PatientList { id } }', undefined, 'query'],
    ['mutation {', undefined, undefined],
    ['', undefined, undefined],
    ['{ a }'.padEnd(200_001), undefined, undefined],
    ['{a'.repeat(50_000), undefined, undefined],
  ] as const)('%.40s of %s: %s', (query, name, kind) => {
    expect(getOperationType(query, name)).toBe(kind);
  });

  test('of a parsed document', () => {
    expect(getOperationType(parse(both), 'M')).toBe('mutation');
  });
});
