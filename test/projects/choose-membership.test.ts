import type { ProjectMembership, User } from '@medplum/fhirtypes';
import { expect, test } from 'vitest';
import { FhirError, type Stored } from '../../src/index.js';
import type { InviteRequest } from '../../src/projects/body/invite-body.js';
import { chooseMembership, type Candidates } from '../../src/projects/people/find-invited.js';

const membership = (id: string, more: Partial<ProjectMembership> = {}): Stored<ProjectMembership> =>
  ({
    resourceType: 'ProjectMembership',
    id,
    user: { reference: 'User/u' },
    profile: { reference: `Practitioner/${id}` },
    ...more,
  }) as Stored<ProjectMembership>;

/** The id of the membership to update, `new`, or the code and the memberships of the refusal. */
function outcome(
  mode: InviteRequest['mode'],
  invited: Partial<Candidates>,
  asked: Partial<InviteRequest> = {},
): unknown {
  const user = { resourceType: 'User', id: 'u' } as Stored<User>;
  const nobody = { user, otherScopeUser: undefined, memberships: [], otherScopeMemberships: [], externalIdHolder: undefined, foundUsers: [] }; // prettier-ignore
  try {
    return chooseMembership({ ...nobody, ...invited }, { mode, ...asked } as InviteRequest)?.id ?? 'new';
  } catch (error) {
    if (!(error instanceof FhirError)) throw error;
    return [error.code, ...(error.details as { memberships: string[] }).memberships];
  }
}

const [a, b] = [membership('a'), membership('b', { externalId: 'B' })];

test.each([
  ['new', 'new', ['conflict', 'ProjectMembership/a'], ['conflict', 'ProjectMembership/a', 'ProjectMembership/b']],
  ['upsert', 'new', 'a', ['conflict', 'ProjectMembership/a', 'ProjectMembership/b']],
  ['another', 'new', 'new', 'new'],
] as const)('%s with no membership, one and several', (mode, none, one, several) => {
  expect(outcome(mode, {})).toEqual(none);
  expect(outcome(mode, { memberships: [a] })).toEqual(one);
  expect(outcome(mode, { memberships: [a, b] })).toEqual(several);
});

test('an upsert selects the membership that is named by profile or external id', () => {
  const memberships = [a, b];
  expect(outcome('upsert', { memberships }, { profile: 'Practitioner/a' })).toBe('a');
  expect(outcome('upsert', { memberships, externalIdHolder: b }, { externalId: 'B' })).toBe('b');
  const neither = outcome('upsert', { memberships }, { profile: 'Practitioner/c' });
  expect(neither).toEqual(['conflict', 'ProjectMembership/a', 'ProjectMembership/b']);
});

test('a member with a User of the other scope is a member', () => {
  for (const mode of ['new', 'upsert'] as const) {
    expect(outcome(mode, { otherScopeMemberships: [b] })).toEqual(['conflict', 'ProjectMembership/b']);
  }
  expect(outcome('another', { otherScopeMemberships: [b] })).toBe('new');
});

test('an external id names one member of a project', () => {
  const held = { externalIdHolder: b, memberships: [a] };
  for (const mode of ['new', 'upsert', 'another'] as const) {
    expect(outcome(mode, held, { externalId: 'B' })).toEqual(['conflict', 'ProjectMembership/b']);
  }
  expect(outcome('another', { ...held, memberships: [a, b] })).toEqual(['conflict', 'ProjectMembership/b']);
  expect(outcome('upsert', { externalIdHolder: b, memberships: [b] }, { externalId: 'B' })).toBe('b');
});
