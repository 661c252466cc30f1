import type { Resource } from '@medplum/fhirtypes';
import { describe, expect, test } from 'vitest';
import {
  createBot,
  createClient,
  createProject,
  initialize,
  invite,
  resendInvitation,
  searchMembers,
  updateBot,
  updateClient,
  updateMember,
} from '../../src/index.js';
import { type Clinic, keepingMailer, memoryStore, openClinic, person } from './harness.js';

/** Every resource that the operations on members return, in their results and to the mailer. */
async function givenAway(clinic: Clinic, extendedMeta: boolean | undefined): Promise<readonly [string, Resource][]> {
  const { project, store, admin: caller } = clinic;
  const mailer = keepingMailer();
  const context = { store, caller, mailer, extendedMeta };
  const body = person('Practitioner', 'Bob', { sendEmail: true });
  const { user, profile, membership } = await invite(project, body, context);
  const again = await invite(project, { ...body, upsert: true, sendEmail: false }, context);
  const trial = await invite(project, { ...body, upsert: true, dryRun: true }, context);
  await resendInvitation(membership.id, context);
  const { client, membership: clientMembership } = await createClient(project, { name: 'App' }, context);
  const { bot, membership: botMembership } = await createBot(project, { name: 'Bot' }, context);
  const members = await searchMembers(project, {}, context);
  const mails = mailer.sent.flatMap((mail): [string, Resource][] => [
    ['user of the mail', mail.user],
    ['profile of the mail', mail.profile],
    ['membership of the mail', mail.membership],
  ]);
  expect(mails).toHaveLength(6);
  expect(members.entry!.length).toBeGreaterThan(2);
  return [
    ...mails,
    ['user', user],
    ['profile', profile],
    ['membership', membership],
    ['profile invited again', again.profile],
    ['membership invited again', again.membership],
    ['user of a dry run', trial.user],
    ['profile of a dry run', trial.profile],
    ['membership of a dry run', trial.membership],
    ['changed membership', await updateMember(membership.id, { admin: true }, context)],
    ['unchanged membership', await updateMember(membership.id, { admin: true }, context)],
    ['client', client],
    ['membership of the client', clientMembership],
    ['changed client', await updateClient({ project, client: client.id }, { description: 'x' }, context)],
    ['unchanged client', await updateClient({ project, client: client.id }, { description: 'x' }, context)],
    ['bot', bot],
    ['membership of the bot', botMembership],
    ['changed bot', await updateBot({ project, bot: bot.id }, { description: 'x' }, context)],
    ...members.entry!.map((entry): [string, Resource] => ['member', entry.resource!]),
  ];
}

describe("Medplum's meta.project and meta.author in the results of operations on members", () => {
  test.each([undefined, false])('are absent with extendedMeta: %s', async (extendedMeta) => {
    const clinic = await openClinic(memoryStore());
    for (const [what, { meta }] of await givenAway(clinic, extendedMeta)) {
      expect(Object.keys(meta!).sort(), what).toEqual(['lastUpdated', 'versionId']);
    }
  });

  test('are present with extendedMeta: true', async () => {
    const clinic = await openClinic(memoryStore());
    const given = await givenAway(clinic, true);
    const author = { reference: clinic.first.membership.profile.reference };
    for (const [what, resource] of given) {
      // A User is above the projects, and the first member was invited from another project.
      const stamp = resource.resourceType === 'User' ? {} : { project: clinic.project };
      expect(resource.meta, what).toMatchObject(stamp);
    }
    const written = given.filter(([what]) => /^(changed|client|bot|profile|membership)/.test(what));
    expect(written.length).toBeGreaterThan(8);
    for (const [what, { meta }] of written) expect(meta, what).toMatchObject({ author });
  });

  test('a dry run shows planned resources without meta', async () => {
    const { project, store, admin: caller } = await openClinic(memoryStore());
    const trial = await invite(project, { ...person('Patient', 'Pat'), dryRun: true }, { store, caller });
    for (const resource of [trial.user, trial.profile, trial.membership]) expect(resource).not.toHaveProperty('meta');
  });

  test('are absent from the first resources of a new store and a new project', async () => {
    const store = memoryStore();
    const first = await initialize(store);
    const project = await createProject({ resourceType: 'Project', name: 'Clinic' }, { store, caller: first.caller });
    for (const { meta } of [first.project, first.client, first.membership, project]) {
      expect(Object.keys(meta).sort()).toEqual(['lastUpdated', 'versionId']);
    }
  });
});
