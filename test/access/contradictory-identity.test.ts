import { expect, test } from 'vitest';
import { MemoryStore, serverCaller, signIn } from '../../src/index.js';
import { codeOf, repositoryOf, signedIn, system } from '../repository/harness.js';

test('an identity whose names belong to two members is refused, in every combination', async () => {
  const store = new MemoryStore();
  for (const project of ['clinic', 'elsewhere']) await system(store, project);
  const members = [];
  for (const project of ['clinic', 'clinic', 'elsewhere']) {
    const { membership: id, user } = await signedIn(store, { project });
    const trusted = repositoryOf(store, serverCaller(project));
    const externalId = `idp|${id}`;
    await trusted.update({ ...(await trusted.read('ProjectMembership', id)), externalId });
    members.push({ membership: `ProjectMembership/${id}`, project: `Project/${project}`, user, externalId });
  }
  const [one, two, three] = members as [(typeof members)[0], (typeof members)[0], (typeof members)[0]];
  // All names of one member are fine, as listMemberships and acceptInvitation give them.
  for (const member of members) {
    expect(`ProjectMembership/${(await signIn(store, member)).membership}`).toBe(member.membership);
  }
  for (const other of [two, three]) {
    for (const name of ['membership', 'user', 'externalId'] as const) {
      expect([name, await codeOf(signIn(store, { ...one, [name]: other[name] }))]).toEqual([
        name,
        'membership-missing',
      ]);
    }
  }
  expect(await codeOf(signIn(store, { ...one, project: three.project }))).toBe('membership-missing');
  expect(await codeOf(signIn(store, { ...one, client: 'ClientApplication/app' }))).toBe('membership-missing');
  const { membership, project, user } = one;
  for (const pair of [
    { membership, user: two.user },
    { membership, project: three.project },
    { membership, externalId: two.externalId },
    { project, user, externalId: two.externalId },
    { project, user, client: 'ClientApplication/app' },
    { externalId: one.externalId, user: two.user, project },
  ]) {
    expect(await codeOf(signIn(store, pair as never))).toBe('membership-missing');
  }
});
