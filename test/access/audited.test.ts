import { expect, test, vi } from 'vitest';
import { audited } from '../../src/access/operation.js';
import { type AuditRecord, MemoryStore, serverCaller, systemCaller } from '../../src/index.js';
import { signedIn, system } from '../repository/harness.js';

test('the record of an interaction names its caller, and "unknown" for an invalid caller', async () => {
  const store = new MemoryStore();
  await system(store);
  const member = await signedIn(store);
  const { project, membership, user, profile } = member;
  for (const [caller, who] of [
    [systemCaller('clinic'), { kind: 'system', project: 'clinic' }],
    [serverCaller('clinic'), { kind: 'server', project: 'clinic' }],
    [serverCaller(), { kind: 'server' }],
    [member, { kind: 'member', project, membership: `ProjectMembership/${membership}`, user, profile }],
    [{ ...systemCaller('clinic') }, { kind: 'unknown' }],
    [undefined, { kind: 'unknown' }],
  ] as const) {
    const records: AuditRecord[] = [];
    const audit = (record: AuditRecord): void => void records.push(record);
    expect(await audited({ store, caller, audit }, 'read', () => Promise.resolve('done'))).toBe('done');
    expect(records.map((record) => record.who)).toStrictEqual([who]);
  }
});

test('an interaction without an audit hook runs silently', async () => {
  const warned = vi.spyOn(process, 'emitWarning').mockImplementation(() => undefined);
  try {
    const context = { store: new MemoryStore(), caller: systemCaller('clinic') };
    expect(await audited(context, 'read', () => Promise.resolve('done'))).toBe('done');
    expect(warned).not.toHaveBeenCalled();
  } finally {
    warned.mockRestore();
  }
});

test('an object that only looks like a caller states no purpose', async () => {
  const records: AuditRecord[] = [];
  const audit = (record: AuditRecord): void => void records.push(record);
  const caller = { kind: 'member', purpose: 'TREAT', requestId: 'r1' } as never;
  await audited({ store: new MemoryStore(), caller, audit }, 'read', () => Promise.resolve());
  expect(records[0]).not.toHaveProperty('purpose');
  expect(records[0]).not.toHaveProperty('requestId');
});

test('requireAudit needs an audit hook', async () => {
  const work = vi.fn();
  const asked = audited({ store: new MemoryStore(), caller: serverCaller(), requireAudit: true }, 'read', work);
  await expect(asked).rejects.toMatchObject({ code: 'invalid', message: 'requireAudit needs audit' });
  expect(work).not.toHaveBeenCalled();
});
