import { expect, test } from 'vitest';
import { systemCaller } from '../../src/access/caller.js';
import type { GuardedStore } from '../../src/access/contract.js';
import { talliedStore, type Tally } from '../../src/access/tallied-store.js';
import { ALL } from '../../src/search/criteria/criteria.js';

/** Answers each call with the name of its method and its arguments. */
const echo = new Proxy({ caller: systemCaller('clinic') } as unknown as GuardedStore, {
  get: (target, name) => (name === 'caller' ? target.caller : (...args: unknown[]) => [name, ...args]),
});

test('each call is counted with its types, and passed on unchanged', () => {
  const tally: Tally = { calls: 0, types: new Set() };
  const store = talliedStore(echo, tally);
  const query = (type: string) => ({ type, criteria: ALL });
  const key = (type: string) => ({ type, id: '1' });
  const options = { signal: new AbortController().signal };
  const page = { offset: 0, limit: 1 };
  const writes = [
    { kind: 'put', key: key('Patient'), resource: { resourceType: 'Patient' } },
    { kind: 'delete', key: key('Bot') },
    { kind: 'assert-no-match', query: query('Group') },
  ] as const;
  const calls = [
    ['read', [[key('Patient'), key('Device')], options], ['Patient', 'Device']],
    ['search', [query('Encounter'), options], ['Encounter']],
    ['searchByReference', [query('Observation'), 'subject', [key('Patient')], options], ['Observation']],
    ['commit', [writes, options], ['Patient', 'Bot', 'Group']],
    ['history', [key('List'), page, options], ['List']],
    ['typeHistory', [{ type: 'Basic', limit: 1 }, options], ['Basic']],
  ] as const;
  for (const [index, [method, args, types]] of calls.entries()) {
    expect((store[method] as (...args: readonly unknown[]) => unknown)(...args)).toEqual([method, ...args]);
    expect(tally.calls).toBe(index + 1);
    expect([...tally.types]).toEqual(types);
    tally.types.clear();
  }
  expect(store.caller).toBe(echo.caller);
});
