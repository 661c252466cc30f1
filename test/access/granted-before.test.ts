import { expect, test } from 'vitest';
import { type AnyResource, type MemberCaller, MemoryStore } from '../../src/index.js';
import { type Criteria, SERVER_SCOPE } from '../../src/store.js';
import { grantedBefore } from '../../src/access/evaluate/granting-rules.js';
import { MEMBER_USERS } from '../../src/access/policy/default-rules.js';
import { unrestrictedRule, type AccessRule } from '../../src/access/rule.js';

const KEYS = ['ann', 'bob'].map((id) => ({ project: SERVER_SCOPE, type: 'User', id }));

/** For each User with a grant, the rules that grant it. */
async function granted(
  rules: readonly AccessRule[],
  memberUsers: Criteria | undefined,
): Promise<Record<string, readonly AccessRule[]>> {
  const store = new MemoryStore();
  const user = { reference: 'User/bob' };
  await store.commit([
    ...KEYS.map((key) => ({
      kind: 'put' as const,
      key,
      resource: { resourceType: 'User', id: key.id, active: key.id === 'ann' } as unknown as AnyResource,
    })),
    // The server scope has a copy of every membership: here, of a membership in another project.
    {
      kind: 'put',
      key: { project: SERVER_SCOPE, type: 'ProjectMembership', id: 'other' },
      resource: { resourceType: 'ProjectMembership', id: 'other', user } as AnyResource,
    },
  ]);
  const caller = { kind: 'member', project: 'clinic', rules: { rulesFor: () => rules } } as unknown as MemberCaller;
  const before = await grantedBefore({ store, caller }, KEYS, await store.read(KEYS), memberUsers, undefined);
  return Object.fromEntries([...before].map(([reference, row]) => [reference, [...row.rules]]));
}

test('rules about the members of the project grant writes to those members, and to no others', async () => {
  const members: AccessRule = { ...unrestrictedRule('members'), criteria: MEMBER_USERS };
  const named: AccessRule = { ...unrestrictedRule('named'), criteria: { kind: 'id', ids: ['bob'] } };
  const before = await granted([members, named], { kind: 'id', ids: ['ann'] });
  expect(before['User/ann']).toEqual([members]);
  expect(before['User/bob']).toEqual([named]);
  // The rules themselves, not those with the members filled in.
  expect(before['User/ann']![0]).toBe(members);
});

test('rules that do not mention members need no members', async () => {
  const rule = unrestrictedRule('everything');
  expect(await granted([rule], undefined)).toEqual({ 'User/ann': [rule], 'User/bob': [rule] });
});
