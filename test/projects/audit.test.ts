import { expect, test } from 'vitest';
import {
  type AuditRecord,
  createBot,
  createClient,
  createProject,
  invite,
  removeMember,
  resendInvitation,
  rotateClientSecret,
  searchMembers,
  signIn,
  updateMember,
} from '../../src/index.js';
import { openClinic, person, rejection } from './harness.js';

test('every operation calls the audit hook once, without personal content', async () => {
  const clinic = await openClinic();
  const records: AuditRecord[] = [];
  const audit = (record: AuditRecord): void => void records.push(record);
  const context = { store: clinic.store, caller: clinic.admin, audit };

  const project = await createProject(
    { resourceType: 'Project', name: 'Hushname' },
    { ...context, caller: clinic.superAdmin },
  );
  const hush = person('Patient', 'Hushname', { externalId: 'hushid' });
  const { membership, user, profile } = await invite(clinic.project, hush, context);
  await rejection(invite(clinic.project, hush, context));
  await rejection(invite(clinic.project, { ...hush, email: 'hush' }, context));
  await searchMembers(
    clinic.project,
    'name=Hushname&email=hushname@example.org&profile-type=Patient&_count=5',
    context,
  );
  await rejection(searchMembers(clinic.project, 'hushname=1', context));
  await updateMember(membership.id, { userName: 'hushname' }, context);
  await resendInvitation(membership.id, context);
  await removeMember(membership.id, context);
  const { client, membership: ofClient } = await createClient(clinic.project, { name: 'Hushname' }, context);
  await createBot(clinic.project, { name: 'Hushname' }, context);
  await rotateClientSecret({ project: clinic.project, client: client.id }, context);
  const nobody = await signIn(clinic.store, { membership: ofClient.id });
  await rejection(removeMember(membership.id, { ...context, caller: nobody }));

  const named = (type: string, { id, meta }: { id?: string; meta?: { versionId?: string } }): object => ({
    type,
    id,
    versionId: meta!.versionId,
  });
  const success = { success: true };
  expect(records.map(({ interaction, outcome }) => [interaction, outcome])).toEqual([
    ['create-project', success],
    ['invite', success],
    ['invite', { success: false, code: 'conflict' }],
    ['invite', { success: false, code: 'invalid' }],
    ['search-members', success],
    ['search-members', { success: false, code: 'invalid' }],
    ['update-member', success],
    ['invite', success],
    ['remove-member', success],
    ['create-client', success],
    ['create-bot', success],
    ['rotate-secret', success],
    ['remove-member', { success: false, code: 'forbidden' }],
  ]);
  expect(records[0]!.targets).toEqual([named('Project', project)]);
  expect(records[1]).toMatchObject({
    who: { kind: 'member', project: clinic.project, membership: `ProjectMembership/${clinic.first.membership.id}` },
    targets: [named('User', user), named('Patient', profile), named('ProjectMembership', membership)],
  });
  expect(records[4]).toMatchObject({ parameters: ['name', 'email', 'profile-type', '_count'], results: 1 });
  expect(records[5]!.parameters).toEqual([]);
  expect(records[6]!.targets).toEqual([{ type: 'ProjectMembership', id: membership.id, versionId: '2' }]);
  expect(JSON.stringify(records).toLowerCase()).not.toContain('hush');
});
