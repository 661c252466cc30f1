import { expect, test } from 'vitest';
import {
  type AuditRecord,
  breakGlass,
  type BreakGlassOptions,
  type MemberCaller,
  MemoryStore,
  narrowCaller,
  serverCaller,
  systemCaller,
} from '../../src/index.js';
import type { CallOptions } from '../../src/store.js';
import { OWN_EXTENSIONS } from '../../src/fhir/own-extensions.js';
import { repositoryOf, signedIn, system } from '../repository/harness.js';
import { storeWith } from '../support/store-with.js';
import { warningsOf } from '../support/warnings.js';

const NOW = new Date('2026-01-02T03:00:00Z');

async function clinic(): Promise<{ caller: MemberCaller; records: AuditRecord[]; options: BreakGlassOptions }> {
  const store = new MemoryStore();
  await system(store);
  const caller = await signedIn(store, { rules: [{ resourceType: 'Patient' }] });
  const trusted = repositoryOf(store, serverCaller('clinic'));
  const membership = await trusted.read('ProjectMembership', caller.membership);
  const id = membership.access![0]!.policy.reference!.slice('AccessPolicy/'.length);
  const extension = [{ url: OWN_EXTENSIONS.emergencyAccess, valueBoolean: true }];
  await trusted.update({
    resourceType: 'AccessPolicy',
    id,
    extension,
    resource: [{ resourceType: 'Patient' }],
  } as never);
  const records: AuditRecord[] = [];
  const audit = (record: AuditRecord): void => void records.push(record);
  return { caller, records, options: { store, reason: 'x', until: '2026-01-02T04:00:00Z', audit, clock: () => NOW } };
}

const REASON = 'breakGlass needs a reason of 1 to 1000 characters';
const UNTIL = 'breakGlass needs until: a time in the next 24 hours';
test.each<[string, object]>([
  [REASON, { reason: undefined }],
  [REASON, { reason: 7 }],
  [REASON, { reason: '\n' }],
  [REASON, { reason: 'x'.repeat(1001) }],
  [UNTIL, { until: '2026-01-03T03:00:00.001Z' }],
  [UNTIL, { until: NOW }],
  [UNTIL, { until: 'soon' }],
  ['breakGlass needs audit: emergency access is always recorded', { audit: undefined }],
  ['breakGlass needs audit: emergency access is always recorded', { audit: 'yes' }],
])('emergency access is refused: %s (%#)', async (message, more) => {
  const { caller, options } = await clinic();
  await expect(breakGlass(caller, { ...options, ...more })).rejects.toMatchObject({ code: 'invalid', message });
});

test.each<[string, object]>([
  ['a thousand characters', { reason: ` ${'x'.repeat(1000)} ` }],
  ['a day', { until: '2026-01-03T03:00:00Z' }],
])('emergency access is granted for %s', async (_, more) => {
  const { caller, options } = await clinic();
  expect(await breakGlass(caller, { ...options, ...more })).toMatchObject({ membership: caller.membership });
});

test('emergency access is refused to callers that signIn did not create, with the reason in words', async () => {
  const { caller, options, records } = await clinic();
  await expect(breakGlass({ ...caller }, options)).rejects.toThrow('Not a caller');
  await expect(breakGlass(systemCaller('clinic'), options)).rejects.toThrow('Only members have emergency access');
  const narrowed = narrowCaller(caller, { patient: 'ann' });
  await expect(breakGlass(narrowed, options)).rejects.toThrow(
    'A narrowed caller has no emergency access; narrow the caller of breakGlass',
  );
  expect(records.at(-1)?.targets).toEqual([{ type: 'ProjectMembership', id: caller.membership }]);
});

test('emergency access reads with the signal of the call', async () => {
  const { caller, options } = await clinic();
  const given: (CallOptions | undefined)[] = [];
  const { store } = options;
  const seen = storeWith(store, {
    read(keys, more) {
      given.push(more);
      return store.read(keys, more);
    },
  });
  const { signal } = new AbortController();
  await breakGlass(caller, { ...options, store: seen, signal });
  expect(given.length).toBeGreaterThan(0);
  expect(given.every((one) => one?.signal === signal)).toBe(true);
});

test('emergency access warns of a failed pager, and of no other problem', async () => {
  const { caller, options } = await clinic();
  expect(await warningsOf(() => breakGlass(caller, options))).toEqual([]);
  const onEmergency = (): Promise<void> => Promise.reject(new Error('down'));
  expect(await warningsOf(() => breakGlass(caller, { ...options, onEmergency }))).toMatchObject([
    { code: 'FHIRGRAPH_EMERGENCY', message: 'down' },
  ]);
});
