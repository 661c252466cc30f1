import type { AuditEvent } from '@medplum/fhirtypes';
import { expect, test } from 'vitest';
import {
  type AnyResource,
  AUDIT_LOG_PROJECT,
  type AuditHead,
  createAuditLog,
  FhirError,
  type ResourceStore,
  verifyAuditLog,
} from '../../src/index.js';
import { SqliteAuditJournal } from '../../src/sqlite.js';
import { R4, type Write } from '../../src/store.js';
import { validateResource } from '../../src/fhir/validate-resource.js';
import { temporaryFolder } from '../stores/temporary-folder.js';
import { storeWith } from '../support/store-with.js';
import { readOf } from './audit-record.js';
import { eventsIn } from './events-in.js';

const journalNamed = temporaryFolder();
let journals = 0;

/** A closed log of five records, with its heads. */
export async function filled(store: ResourceStore): Promise<AuditHead[]> {
  const heads: AuditHead[] = [];
  const log = createAuditLog({ store, gather: 0, onHead: (head) => void heads.push(head) });
  for (const id of ['a', 'b', 'c', 'd', 'e']) await log.audit(readOf(id));
  await log.close();
  return heads;
}

/** Writes to the database without the library, as an attacker would. */
export async function tamper(
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

/** Promises of the log over any store. */
export function testLog(open: () => ResourceStore | Promise<ResourceStore>): void {
  test('stores records as valid AuditEvents in a project of its own, chained and verified', async () => {
    const store = await open();
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
    [
      'an extension that was added beside the chain',
      3,
      (event: AuditEvent) => ({ ...event, extension: [...event.extension!, { url: 'urn:x', valueString: 'Nobody' }] }),
      'changed',
    ],
    [
      'an addition inside the chain',
      3,
      ({ extension: [chain] = [], ...event }: AuditEvent) => ({
        ...event,
        extension: [
          { ...chain, url: chain!.url, extension: [...chain!.extension!, { url: 'by', valueString: 'Nobody' }] },
        ],
      }),
      'changed',
    ],
    [
      'a member that was added to a part of the chain',
      3,
      ({ extension: [chain] = [], ...event }: AuditEvent) => ({
        ...event,
        extension: [{ url: chain!.url, extension: chain!.extension!.map((part) => ({ ...part, id: 'x' })) }],
      }),
      'changed',
    ],
    [
      'a label that was added',
      3,
      (event: AuditEvent) => ({ ...event, meta: { ...event.meta, security: [{ code: 'R' }] } }),
      'changed',
    ],
    ['a chain that was taken off', 3, ({ extension: _, ...event }: AuditEvent) => event, 'foreign'],
  ] as const)('verification detects %s', async (_, index, change, kind) => {
    const store = await open();
    await filled(store);
    await tamper(store, index, change);
    const { intact, problems } = await verifyAuditLog({ store });
    expect(intact).toBe(false);
    expect(problems[0]?.kind).toBe(kind);
  });

  test('the heads that the host kept reveal an end that was cut off, and a chain that was recomputed', async () => {
    const store = await open();
    const heads = await filled(store);
    const last = await tamper(store, 6);
    expect((await verifyAuditLog({ store })).intact).toBe(true);
    expect((await verifyAuditLog({ store, heads })).problems).toEqual([{ kind: 'cut', event: last }]);
    const forged = { ...heads[2]!, hash: 'f'.repeat(64) };
    expect((await verifyAuditLog({ store, heads: [forged] })).problems).toMatchObject([{ kind: 'changed' }]);
  });

  test('a missing segment is detected by the segment that followed it', async () => {
    const store = await open();
    const clock = (): Date => new Date('2026-01-01T00:00:00Z');
    const first = createAuditLog({ store, gather: 0, clock });
    await first.audit(readOf('a'));
    await first.close();
    const gone = await eventsIn(store);
    const second = createAuditLog({ store, gather: 0 });
    await second.audit(readOf('b'));
    await second.close();
    expect((await verifyAuditLog({ store })).segments.map(({ events, closed }) => [events, closed])).toEqual([
      [3, true],
      [3, true],
    ]);
    const keys = gone.map(({ id }) => ({ project: AUDIT_LOG_PROJECT, type: 'AuditEvent', id: id! }));
    await store.commit(keys.map((key) => ({ kind: 'delete', key })));
    expect((await verifyAuditLog({ store })).problems).toEqual([{ kind: 'cut', event: gone.at(-1)!.id }]);
  });

  test('with a journal: every record once, in order, even if the commit of some was in doubt', async () => {
    const store = await open();
    const journal = new SqliteAuditJournal(journalNamed(`${(journals += 1)}.db`), { synchronous: 'normal' });
    let isLost = false;
    const commit: ResourceStore['commit'] = async (...args) => {
      const results = await store.commit(...args);
      if (isLost) throw new FhirError('unavailable', 'lost', { details: { unknown: true } });
      return results;
    };
    const log = createAuditLog({ store: storeWith(store, { commit }), journal });
    const ids = ['a', 'b', 'c', 'd', 'e', 'f'];
    for (const [index, id] of ids.entries()) {
      await log.audit(readOf(id));
      isLost = index % 2 === 1;
      await log.flush();
    }
    isLost = false;
    await log.close();
    journal.close();
    const patients = (await eventsIn(store)).flatMap(({ entity = [] }) => entity[0]?.what?.reference ?? []);
    expect(patients).toEqual(ids.map((id) => `Patient/${id}`));
    expect(await verifyAuditLog({ store })).toMatchObject({ intact: true, segments: [{ closed: true }] });
  });
}
