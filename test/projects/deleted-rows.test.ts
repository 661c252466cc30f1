import Database from 'better-sqlite3';
import { expect, test } from 'vitest';
import {
  acceptInvitation,
  createClient,
  createRepository,
  deleteProject,
  eraseResource,
  invite,
  type InviteResult,
  removeMember,
  revokeSessions,
  serverCaller,
  signIn,
  systemCaller,
} from '../../src/index.js';
import { SqliteStore } from '../../src/sqlite.js';
import { temporaryFolder } from '../stores/temporary-folder.js';
import { keepingMailer, openClinic, person } from './harness.js';

const fileNamed = temporaryFolder();

/**
 * All rows of all tables that say one of the words, without tombstones: an erased resource keeps its id, and the list of
 * types the id of the project, so that neither is used again.
 */
function rowsSaying(file: string, words: readonly string[]): readonly string[] {
  const database = new Database(file, { readonly: true });
  const names = database.prepare("SELECT name FROM sqlite_schema WHERE type = 'table'").pluck().all() as string[];
  const found: string[] = [];
  for (const name of names) {
    for (const row of database.prepare(`SELECT * FROM "${name}"`).all() as Record<string, unknown>[]) {
      if (name === 'resource' && row['erased'] !== null) continue;
      if (name === 'collection') delete row['project'];
      const text = JSON.stringify(row);
      const said = words.filter((word) => text.toLowerCase().includes(word.toLowerCase()));
      if (said.length > 0) found.push(`${name}: ${text}`);
    }
  }
  database.close();
  return found;
}

test('after a deletion no row of any table contains data of the project, whatever was done in it', async () => {
  const file = fileNamed('deleted.db');
  const store = new SqliteStore(file);
  const { project, superAdmin, admin, first } = await openClinic(store);
  const context = { store, caller: admin };
  const mailer = keepingMailer();
  const acceptance = { url: 'https://app.example/accept?token={token}' };
  const invited = (name: string, type: 'Patient' | 'Practitioner' = 'Practitioner'): Promise<InviteResult> =>
    invite(project, person(type, name, { scope: 'project' }), { ...context, mailer, acceptance });

  // Invitations that are open, accepted, and of a member who was removed.
  const open = await invited('Olgazzo');
  const accepted = await invited('Abelzzo');
  const token = new URL(mailer.sent[1]!.acceptance!.url).searchParams.get('token')!;
  await acceptInvitation(
    token,
    { externalId: 'idp|abelzzo', email: 'abelzzo@example.org', emailVerified: true },
    { store },
  );
  const removed = await invited('Ritazzo', 'Patient');
  await removeMember(removed.membership.id, context);
  // Sessions that were revoked, of a member and of Users.
  await revokeSessions({ membership: `ProjectMembership/${accepted.membership.id}` }, context);
  for (const { user } of [accepted, removed])
    await revokeSessions({ user: `User/${user.id}` }, { store, caller: serverCaller() });
  await signIn(store, { membership: first.membership.id });
  const client = await createClient(project, { name: 'App' }, context);
  // Resources that were changed, deleted and erased.
  const trusted = createRepository({ store, caller: systemCaller(project) });
  const patient = await trusted.create({ resourceType: 'Patient', name: [{ family: 'Okapison' }] });
  await trusted.update({ ...patient, active: true });
  const deleted = await trusted.create({
    resourceType: 'Basic',
    code: { coding: [{ system: 'urn:okapison', code: 'x' }] },
  });
  await trusted.delete('Basic', deleted.id);
  const erased = await trusted.create({ resourceType: 'Basic', code: { text: 'Okapison' } });
  await eraseResource('Basic', erased.id, { store, caller: systemCaller(project), reason: 'other' });

  const users = [open, accepted, removed];
  const words = [
    ...[project, 'Okapison', 'olgazzo', 'abelzzo', 'ritazzo', client.client.id, patient.id, deleted.id, erased.id],
    ...[...users, first].map(({ membership }) => membership.id),
    ...users.flatMap(({ user, profile }) => [user.id, profile.id]),
  ];
  expect(rowsSaying(file, words).length).toBeGreaterThan(40);
  await deleteProject(project, { name: 'Clinic' }, { store, caller: superAdmin });
  expect(rowsSaying(file, words)).toEqual([]);
  await store.close();
});
