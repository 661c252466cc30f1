import { afterEach, describe, expect, test, vi } from 'vitest';
import {
  AUDIT_LOG_PROJECT,
  createAuditLog,
  createRepository,
  deleteProject,
  eraseResource,
  FhirError,
  importBundle,
  initialize,
  MemoryStore,
  type ResourceStore,
  serverCaller,
  systemCaller,
  verifyAuditLog,
} from '../../src/index.js';
import { codeOf, overStores } from '../repository/harness.js';
import { postgresStore } from '../stores/postgres/store.js';
import { storeWith } from '../support/store-with.js';
import { readOf } from './audit-record.js';
import { eventsIn } from './events-in.js';
import { filled, tamper, testLog } from './log-suite.js';

overStores('the audit log', testLog);

// The whole suite over PostgreSQL is in test/long.
test('over PostgreSQL the log verifies, and a changed event is detected', async () => {
  const store = await postgresStore();
  const heads = await filled(store);
  expect(await verifyAuditLog({ store, heads })).toMatchObject({
    intact: true,
    events: 7,
    segments: [{ closed: true }],
  });
  const event = await tamper(store, 3, ({ entity, ...rest }) => ({ ...rest, entity: entity!.slice(1) }));
  expect((await verifyAuditLog({ store, heads })).problems).toEqual([{ kind: 'changed', event }]);
});

test('concurrent records are one commit, and all are kept', async () => {
  const inner = new MemoryStore();
  const commit = vi.fn<ResourceStore['commit']>((...args) => inner.commit(...args));
  const log = createAuditLog({ store: storeWith(inner, { commit }) });
  await Promise.all(Array.from({ length: 150 }, (_, index) => log.audit(readOf(`p${index}`))));
  // The project, the opening of the segment, one group.
  expect(commit).toHaveBeenCalledTimes(3);
  await log.close();
  expect((await verifyAuditLog({ store: inner })).events).toBe(152);
});

test('a single record does not wait for others', async () => {
  const store = new MemoryStore();
  const log = createAuditLog({ store, gather: 3_600_000 });
  await log.audit(readOf('a'));
  await log.close();
});

test('records of requests that end in consecutive turns are one commit', async () => {
  const inner = new MemoryStore();
  const commit = vi.fn<ResourceStore['commit']>((...args) => inner.commit(...args));
  const log = createAuditLog({ store: storeWith(inner, { commit }), gather: 3_600_000 });
  await log.audit(readOf('first'));
  await log.flush();
  commit.mockClear();
  const taken: Promise<void>[] = [];
  for (let turn = 0; turn < 5; turn += 1) {
    taken.push(log.audit(readOf(`p${turn}`)));
    await new Promise((resolve) => setImmediate(resolve));
  }
  await Promise.all(taken);
  expect(commit.mock.calls.map(([writes]) => writes.length)).toEqual([5]);
  await log.close();
});

describe('a store that fails', () => {
  const down = (): Promise<never> => Promise.reject(new FhirError('unavailable', 'down'));
  afterEach(() => void vi.restoreAllMocks());

  test('a commit that fails briefly is retried; a commit that keeps failing is reported to the interaction', async () => {
    const inner = new MemoryStore();
    let failures = 0;
    const commit: ResourceStore['commit'] = (...args) => (failures-- > 0 ? down() : inner.commit(...args));
    const log = createAuditLog({ store: storeWith(inner, { commit }), gather: 0 });
    await log.audit(readOf('a'));
    failures = 2;
    await log.audit(readOf('b'));
    failures = 1000;
    await expect(log.audit(readOf('c'))).rejects.toMatchObject({ code: 'unavailable' });
    failures = 0;
    await log.audit(readOf('d'));
    await log.close();
    expect((await verifyAuditLog({ store: inner })).intact).toBe(true);
    expect((await eventsIn(inner)).flatMap(({ entity = [] }) => entity[0]?.what?.reference ?? [])).toEqual([
      'Patient/a',
      'Patient/b',
      'Patient/d',
    ]);
  });

  test('a commit in doubt that succeeded is not repeated', async () => {
    const inner = new MemoryStore();
    let doubt = false;
    const commit: ResourceStore['commit'] = async (...args) => {
      const results = await inner.commit(...args);
      if (doubt) throw new FhirError('unavailable', 'lost', { details: { unknown: true } });
      return results;
    };
    const log = createAuditLog({ store: storeWith(inner, { commit }), gather: 0 });
    await log.audit(readOf('a'));
    doubt = true;
    await log.audit(readOf('b'));
    doubt = false;
    await log.audit(readOf('c'));
    await log.close();
    expect(await verifyAuditLog({ store: inner })).toMatchObject({ intact: true, events: 5 });
  });
});

test('memory is bounded: work waits while half of the queue is used, and a record that does not fit is lost and counted', async () => {
  const inner = new MemoryStore();
  let release = (): void => undefined;
  const gate = new Promise<void>((resolve) => (release = resolve));
  const commit: ResourceStore['commit'] = async (...args) => {
    await gate;
    return inner.commit(...args);
  };
  const log = createAuditLog({ store: storeWith(inner, { commit }), gather: 0, maxQueued: 12 });
  expect(log.audit.ready?.()).toBeUndefined();
  // Each counts four entries.
  const taken = [log.audit(readOf('a')), log.audit(readOf('b'))];
  const ready = log.audit.ready?.();
  expect(ready).toBeInstanceOf(Promise);
  taken.push(log.audit(readOf('c')));
  await expect(log.audit(readOf('d'))).rejects.toMatchObject({ code: 'unavailable' });
  release();
  await ready;
  await Promise.all(taken);
  await log.close();
  const lost = (await eventsIn(inner)).filter(({ subtype }) => subtype?.[0]?.display === 'records-lost');
  expect(lost.map(({ entity }) => entity?.[0]?.detail)).toEqual([[{ type: 'count', valueString: '1' }]]);
});

test('closing commits waiting records and ends the segment; later records are refused', async () => {
  const store = new MemoryStore();
  const log = createAuditLog({ store, gather: 1000 });
  const waiting = log.audit(readOf('a'));
  const closed = log.close();
  await Promise.all([waiting, closed, log.close()]);
  await expect(log.audit(readOf('b'))).rejects.toMatchObject({ code: 'unavailable' });
  expect((await verifyAuditLog({ store })).segments).toMatchObject([{ events: 3, closed: true }]);
});

test('no caller can change the log: members, super administrators, trusted code, imports', async () => {
  const store = new MemoryStore();
  await filled(store);
  const { caller: superAdmin } = await initialize(store);
  const before = await eventsIn(store);
  const event = before[2]!;
  for (const caller of [systemCaller(AUDIT_LOG_PROJECT), serverCaller(AUDIT_LOG_PROJECT), superAdmin]) {
    const repository = createRepository({ store, caller });
    const attempts = [
      repository.update({ ...event, outcome: '8' }),
      repository.delete('AuditEvent', event.id!),
      repository.patch('AuditEvent', event.id!, [{ op: 'replace', path: '/outcome', value: '8' }]),
      importBundle(
        {
          resourceType: 'Bundle',
          type: 'transaction',
          entry: [{ resource: { ...event, outcome: '8' }, request: { method: 'PUT', url: `AuditEvent/${event.id}` } }],
        },
        { store, caller },
      ),
    ];
    // A super administrator works in a project of its own, in which an AuditEvent of that id is another resource.
    const results = await Promise.allSettled(attempts);
    if (caller !== superAdmin) expect(results.map(({ status }) => status)).not.toContain('fulfilled');
    if (caller !== superAdmin) {
      const erasure = { store, caller, reason: 'other' as const };
      expect(await codeOf(eraseResource('AuditEvent', event.id!, erasure))).toBe('forbidden');
    }
    expect(await codeOf(deleteProject(AUDIT_LOG_PROJECT, { name: 'Audit log' }, { store, caller: superAdmin }))).toBe(
      'forbidden',
    );
    await createRepository({ store, caller: serverCaller() })
      .delete('Project', AUDIT_LOG_PROJECT)
      .catch(({ code }: FhirError) => expect(code).toBe('forbidden'));
  }
  expect(await eventsIn(store)).toEqual(before);
  expect((await verifyAuditLog({ store })).intact).toBe(true);
});
