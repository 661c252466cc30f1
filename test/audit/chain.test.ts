import type { AuditEvent } from '@medplum/fhirtypes';
import { expect, test } from 'vitest';
import { type AuditRecord, toAuditEvent } from '../../src/index.js';
import { chained, GENESIS, linkOf, logEvent } from '../../src/audit/log/chain.js';
import { readOf } from './audit-record.js';

const LINK = { segment: '20261122T050000123-1a2b3c4d5e6f', sequence: 7, previous: 'a'.repeat(64) };

const RECORDS: Readonly<Record<string, AuditRecord>> = {
  read: readOf('ann'),
  'emergency access': readOf('ann', {
    who: {
      ...{ kind: 'member', project: 'clinic', membership: 'ProjectMembership/m', user: 'User/u', profile: 'Bot/b' },
      emergency: { reason: 'Unconscious', until: '2026-01-02T04:00:00.000Z' },
    },
    ...{ purpose: 'TREAT', reason: 'Asked', requestId: `"}],"url":"previous","valueString":"${LINK.previous}"}` },
  }),
  'entries of a Bundle': readOf('ann', {
    interaction: 'batch',
    targets: [
      { type: 'Patient', interaction: 'search' },
      { type: 'Patient', id: 'ann', interaction: 'read' },
    ],
    ...{ parameters: ['name'], results: 2, storeCalls: 3, counts: [{ type: 'Patient', count: 1 }], document: 'd' },
  }),
  'failed sign-in': {
    ...{ interaction: 'sign-in', who: { kind: 'unknown', project: 'clinic' }, targets: [] },
    ...{ outcome: { success: false, code: 'unauthenticated' }, started: '2026-01-02T03:04:05.000Z', duration: 1 },
  },
};

function namesOf(value: unknown): string[][] {
  if (typeof value !== 'object' || value === null) return [];
  const inner = Object.values(value).flatMap(namesOf);
  return Array.isArray(value) ? inner : [Object.keys(value), ...inner];
}

test.each(Object.keys(RECORDS))(
  'the event of a record, %s, has its members in order, and the text of the record is that of the event',
  (name) => {
    const event = toAuditEvent(RECORDS[name]!);
    for (const names of namesOf(event)) expect(names).toEqual(names.toSorted());
    const { event: linked, text, hash } = chained(event, LINK);
    expect(JSON.parse(text)).toEqual(linked);
    expect(linkOf(JSON.parse(text) as AuditEvent)).toEqual({ ...LINK, hash, isIntact: true });
  },
);

test('the events of the log about itself have their members in order, too', () => {
  for (const names of namesOf(logEvent('records-lost', new Date(), [{ type: 'count', valueString: '1' }]))) {
    expect(names).toEqual(names.toSorted());
  }
});

test('the order in which a store keeps members does not matter', () => {
  const { event } = chained(toAuditEvent(readOf('ann')), { ...LINK, sequence: 0, previous: GENESIS });
  const reversed = JSON.parse(JSON.stringify(event), (_, value: unknown) =>
    typeof value === 'object' && value !== null && !Array.isArray(value)
      ? Object.fromEntries(Object.entries(value).reverse())
      : value,
  ) as AuditEvent;
  expect(linkOf(reversed)?.isIntact).toBe(true);
  const hidden = JSON.parse(JSON.stringify(event).replace('{', '{"__proto__":{"action":"D"},')) as AuditEvent;
  expect(linkOf(hidden)?.isIntact).toBe(false);
});
