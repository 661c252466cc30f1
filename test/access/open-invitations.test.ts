import { expect, test } from 'vitest';
import {
  endInvitation,
  invitationIn,
  invitationKey,
  putInvitation,
} from '../../src/access/write/membership-records.js';

const INVITATION = { project: 'clinic', hash: 'abc', expires: '2030-01-08T00:00:00.000Z', failures: 3 };
const KEY = { project: '/invitations', type: 'UserSecurityRequest', id: 'm' };

test('an open invitation is a record outside all projects, with the data for its acceptance', () => {
  const write = putInvitation('m', INVITATION, { version: '2' });
  expect(write).toEqual({
    kind: 'put',
    key: KEY,
    resource: {
      resourceType: 'UserSecurityRequest',
      id: 'm',
      type: 'invite',
      project: { reference: 'Project/clinic' },
      secret: 'abc',
      expiresAt: '2030-01-08T00:00:00.000Z',
      failures: 3,
    },
    expect: { version: '2' },
  });
  expect(invitationIn(write.resource)).toEqual(INVITATION);
  expect(putInvitation('m', INVITATION).expect).toBeUndefined();
});

test('it ends by its deletion, of any version or of a given version', () => {
  expect(invitationKey('m')).toEqual(KEY);
  expect(endInvitation('m')).toEqual({ kind: 'delete', key: KEY });
  expect(endInvitation('m', { version: '2' })).toEqual({ kind: 'delete', key: KEY, expect: { version: '2' } });
});

test.each<[string, object]>([
  ['a project', { project: undefined }],
  ['the id of a project', { project: { reference: 'Patient/clinic' } }],
  ['a reference', { project: { reference: 7 } }],
  ['a hash', { secret: undefined }],
  ['a hash that is a text', { secret: 7 }],
  ['an end', { expiresAt: undefined }],
  ['an end that is a text', { expiresAt: 7 }],
])('a record without %s is not an invitation', (_, changes) => {
  const { resource } = putInvitation('m', INVITATION);
  expect(invitationIn({ ...resource, ...changes })).toBeUndefined();
});
