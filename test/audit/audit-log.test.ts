import type { AuditEvent } from '@medplum/fhirtypes';
import { afterEach, describe, expect, test, vi } from 'vitest';
import { serverCaller, systemCaller } from '../../src/access/caller.js';
import type { AuditRecord } from '../../src/audit/audit-record.js';
import { AUDIT_LOG_PROJECT } from '../../src/audit/log/audit-project.js';
import type { AuditHead } from '../../src/audit/log/chain.js';
import { createAuditLog } from '../../src/audit/log/create-audit-log.js';
import { verifyAuditLog } from '../../src/audit/log/verify-audit-log.js';
import { FhirError } from '../../src/fhir/error.js';
import { R4 } from '../../src/fhir/r4.js';
import type { AnyResource } from '../../src/fhir/resource.js';
import { validateResource } from '../../src/fhir/validate-resource.js';
import { importBundle } from '../../src/import/bundle/import-bundle.js';
import { initialize } from '../../src/projects/clients/initialize.js';
import { eraseResource } from '../../src/projects/erasure/erase-resource.js';
import { deleteProject } from '../../src/projects/project/delete-project.js';
import { createRepository } from '../../src/repository/create-repository.js';
import type { ResourceStore, Write } from '../../src/store/store.js';
import { MemoryStore } from '../../src/stores/memory/store.js';
import { codeOf, overStores } from '../repository/harness.js';
import { storeWith } from '../support/store-with.js';

function record(id: string, more: Partial<AuditRecord> = {}): AuditRecord {
  return {
    interaction: 'read',
    who: { kind: 'system', project: 'clinic' },
    targets: [{ type: 'Patient', id, versionId: '1' }],
    returned: { total: 1, resources: [{ type: 'Patient', id, versionId: '1' }] },
    patients: { total: 1, ids: [id] },
    outcome: { success: true },
    started: '2026-01-02T03:04:05.000Z',
    duration: 1.5,
    ...more,
  };
}

async function eventsIn(store: ResourceStore): Promise<readonly AuditEvent[]> {
  const { matches } = await store.search({
    project: AUDIT_LOG_PROJECT,
    type: 'AuditEvent',
    criteria: { kind: 'all' },
  });
  return matches.map(({ resource }) => resource as unknown as AuditEvent);
}

/** A closed log of five records, with its heads. */
async function filled(store: ResourceStore): Promise<AuditHead[]> {
  const heads: AuditHead[] = [];
  const log = createAuditLog({ store, gather: 0, onHead: (head) => void heads.push(head) });
  for (const id of ['a', 'b', 'c', 'd', 'e']) await log.audit(record(id));
  await log.close();
  return heads;
}

/** Writes past the library, as somebody with the database does. */
async function tamper(
  store: ResourceStore,
  index: number,
  change?: (event: AuditEvent) => AuditEvent,
): Promise<string> {
  const event = (await eventsIn(store))[index]!;
  const key = { project: AUDIT_LOG_PROJECT, type: 'AuditEvent', id: event.id! };
  const write: Write =
    change === undefined
      ? { kind: 'delete', key }
      : { kind: 'put', key, resource: change(event) as unknown as AnyResource };
  await store.commit([write]);
  return event.id!;
}

overStores('the audit log', (open) => {
  test('keeps records as valid AuditEvents of a project of its own, chained and verified', async () => {
    const store = open();
    const heads = await filled(store);
    const events = await eventsIn(store);
    expect(events.map(({ subtype }) => subtype?.[0]?.display ?? subtype?.[0]?.code)).toEqual([
      'segment-opened',
      ...['read', 'read', 'read', 'read', 'read'],
      'segment-closed',
    ]);
    for (const event of events) expect(validateResource(R4, event)).toEqual([]);
    const report = await verifyAuditLog({ store, heads });
    expect(report).toEqual({
      intact: true,
      events: 7,
      problems: [],
      segments: [{ segment: heads[0]!.segment, events: 7, head: heads.at(-1), closed: true }],
    });
  });

  test.each([
    ['an event that was removed', 3, undefined, 'gap'],
    ['an event that was changed', 3, (event: AuditEvent) => ({ ...event, outcome: '8' as const }), 'changed'],
    [
      'a patient that was taken out',
      3,
      ({ entity, ...event }: AuditEvent) => ({ ...event, entity: entity!.slice(1) }),
      'changed',
    ],
    ['a chain that was taken off', 3, ({ extension: _, ...event }: AuditEvent) => event, 'foreign'],
  ] as const)('verification finds %s', async (_, index, change, kind) => {
    const store = open();
    await filled(store);
    await tamper(store, index, change);
    const { intact, problems } = await verifyAuditLog({ store });
    expect(intact).toBe(false);
    expect(problems[0]?.kind).toBe(kind);
  });
});

test('the heads that the host kept show an end that was cut off, and a chain that was computed anew', async () => {
  const store = new MemoryStore();
  const heads = await filled(store);
  const last = await tamper(store, 6);
  expect((await verifyAuditLog({ store })).intact).toBe(true);
  expect((await verifyAuditLog({ store, heads })).problems).toEqual([{ kind: 'cut', event: last }]);
  const forged = { ...heads[2]!, hash: 'f'.repeat(64) };
  expect((await verifyAuditLog({ store, heads: [forged] })).problems).toMatchObject([{ kind: 'changed' }]);
});

test('a segment that vanishes is missed by the one that followed it', async () => {
  const store = new MemoryStore();
  const clock = (): Date => new Date('2026-01-01T00:00:00Z');
  const first = createAuditLog({ store, gather: 0, clock });
  await first.audit(record('a'));
  await first.close();
  const gone = await eventsIn(store);
  const second = createAuditLog({ store, gather: 0 });
  await second.audit(record('b'));
  await second.close();
  expect((await verifyAuditLog({ store })).segments.map(({ events, closed }) => [events, closed])).toEqual([
    [3, true],
    [3, true],
  ]);
  const keys = gone.map(({ id }) => ({ project: AUDIT_LOG_PROJECT, type: 'AuditEvent', id: id! }));
  await store.commit(keys.map((key) => ({ kind: 'delete', key })));
  expect((await verifyAuditLog({ store })).problems).toEqual([{ kind: 'cut', event: gone.at(-1)!.id }]);
});

test('records that come together are one commit, and all are kept', async () => {
  const inner = new MemoryStore();
  const commit = vi.fn<ResourceStore['commit']>((...args) => inner.commit(...args));
  const log = createAuditLog({ store: storeWith(inner, { commit }) });
  await Promise.all(Array.from({ length: 150 }, (_, index) => log.audit(record(`p${index}`))));
  // The project, the opening of the segment, one group.
  expect(commit).toHaveBeenCalledTimes(3);
  await log.close();
  expect((await verifyAuditLog({ store: inner })).events).toBe(152);
});

describe('a store that fails', () => {
  const down = (): Promise<never> => Promise.reject(new FhirError('unavailable', 'down'));
  afterEach(() => void vi.restoreAllMocks());

  test('a commit that fails for a moment is tried again; one that fails on is told to the interaction', async () => {
    const inner = new MemoryStore();
    let failures = 0;
    const commit: ResourceStore['commit'] = (...args) => (failures-- > 0 ? down() : inner.commit(...args));
    const log = createAuditLog({ store: storeWith(inner, { commit }), gather: 0 });
    await log.audit(record('a'));
    failures = 2;
    await log.audit(record('b'));
    failures = 1000;
    await expect(log.audit(record('c'))).rejects.toMatchObject({ code: 'unavailable' });
    failures = 0;
    await log.audit(record('d'));
    await log.close();
    expect((await verifyAuditLog({ store: inner })).intact).toBe(true);
    expect((await eventsIn(inner)).flatMap(({ entity = [] }) => entity[0]?.what?.reference ?? [])).toEqual([
      'Patient/a',
      'Patient/b',
      'Patient/d',
    ]);
  });

  test('a commit in doubt that was made is not made twice', async () => {
    const inner = new MemoryStore();
    let doubt = false;
    const commit: ResourceStore['commit'] = async (...args) => {
      const results = await inner.commit(...args);
      if (doubt) throw new FhirError('unavailable', 'lost', { details: { unknown: true } });
      return results;
    };
    const log = createAuditLog({ store: storeWith(inner, { commit }), gather: 0 });
    await log.audit(record('a'));
    doubt = true;
    await log.audit(record('b'));
    doubt = false;
    await log.audit(record('c'));
    await log.close();
    expect(await verifyAuditLog({ store: inner })).toMatchObject({ intact: true, events: 5 });
  });
});

test('memory is bounded: work waits while half of the queue is used, a record without room is lost and counted', async () => {
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
  const taken = [log.audit(record('a')), log.audit(record('b'))];
  const ready = log.audit.ready?.();
  expect(ready).toBeInstanceOf(Promise);
  taken.push(log.audit(record('c')));
  await expect(log.audit(record('d'))).rejects.toMatchObject({ code: 'unavailable' });
  release();
  await ready;
  await Promise.all(taken);
  await log.close();
  const lost = (await eventsIn(inner)).filter(({ subtype }) => subtype?.[0]?.display === 'records-lost');
  expect(lost.map(({ entity }) => entity?.[0]?.detail)).toEqual([[{ type: 'count', valueString: '1' }]]);
});

test('closing commits what waits, and ends the segment; later records are not taken', async () => {
  const store = new MemoryStore();
  const log = createAuditLog({ store, gather: 1000 });
  const waiting = log.audit(record('a'));
  const closed = log.close();
  await Promise.all([waiting, closed, log.close()]);
  await expect(log.audit(record('b'))).rejects.toMatchObject({ code: 'unavailable' });
  expect((await verifyAuditLog({ store })).segments).toMatchObject([{ events: 3, closed: true }]);
});

test('no caller changes the log: members, super administrators, trusted code, imports', async () => {
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
    // A super administrator works in a project of its own, where an AuditEvent of that id is another resource.
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
