import type { User } from '@medplum/fhirtypes';
import { expect, test } from 'vitest';
import { executeFhirGraphql, systemCaller } from '../../src/index.js';
import { codeOf, member, overStores, repositoryOf, signedIn, system } from './harness.js';

const SECRET = 'scrypt$topsecret';

overStores('the administrative types', (open) => {
  test('are out of reach of policies, even of those that name them', async () => {
    const store = open();
    const trusted = await system(store);
    const caller = await signedIn(store, {
      rules: ['*', 'User', 'Project', 'ProjectMembership', 'AccessPolicy'].map((resourceType) => ({ resourceType })),
    });
    const mine = repositoryOf(store, caller);
    const membership = await trusted.read('ProjectMembership', caller.membership);
    expect(await codeOf(mine.update({ ...membership, admin: true }))).toBe('forbidden');
    expect(await codeOf(mine.create({ resourceType: 'AccessPolicy' }))).toBe('forbidden');
    expect(await codeOf(mine.create({ resourceType: 'Project', name: 'x' }))).toBe('forbidden');
    expect(await codeOf(mine.update({ resourceType: 'Project', id: 'clinic', superAdmin: true }))).toBe('forbidden');
    // Except for the member's own resources.
    const seen = async (type: 'AccessPolicy' | 'Project' | 'ProjectMembership' | 'User'): Promise<readonly string[]> =>
      ((await mine.search(type)).entry ?? []).map(({ resource }) => `${type}/${resource!.id}`);
    expect(await seen('Project')).toEqual(['Project/clinic']);
    expect(await seen('ProjectMembership')).toEqual([`ProjectMembership/${caller.membership}`]);
    expect(await seen('User')).toEqual([caller.user]);
    expect(await seen('AccessPolicy')).toEqual([]);
  });

  test('are visible to administrators of the project, each with its own rules', async () => {
    const store = open();
    await system(store, 'other');
    const trusted = await system(store);
    const caller = await signedIn(store, { admin: true, rules: [] });
    const colleague = await signedIn(store);
    const stranger = await signedIn(store, { project: 'other' });
    const admin = repositoryOf(store, caller);
    const users = (await admin.search('User')).entry!.map(({ resource }) => `User/${resource!.id}`);
    expect(users.sort()).toEqual([caller.user, colleague.user].sort());
    expect(await codeOf(admin.read('User', stranger.user.slice('User/'.length)))).toBe('not-found');
    const user = await admin.read('User', colleague.user.slice('User/'.length));
    expect(await codeOf(admin.update({ ...user, firstName: 'Other' }))).toBe('forbidden');
    const membership = await admin.read('ProjectMembership', colleague.membership);
    expect(await codeOf(admin.update({ ...membership, admin: true }))).toBe('forbidden');
    expect(await codeOf(admin.delete('ProjectMembership', colleague.membership))).toBe('forbidden');
    const project = await admin.read('Project', 'clinic');
    expect(await admin.update({ ...project, name: 'New name' })).toMatchObject({ name: 'New name' });
    expect(await codeOf(admin.update({ ...project, superAdmin: true }))).toBe('forbidden');
    expect(await codeOf(admin.update({ ...project, strictMode: true }))).toBe('forbidden');
    expect(await codeOf(admin.read('Project', 'other'))).toBe('not-found');
    expect((await admin.search('Project')).entry).toHaveLength(1);
    const policy = await admin.create({ resourceType: 'AccessPolicy', resource: [{ resourceType: 'Patient' }] });
    expect(await trusted.read('AccessPolicy', policy.id)).toMatchObject({ resource: [{ resourceType: 'Patient' }] });
    const broken = {
      resourceType: 'AccessPolicy' as const,
      resource: [{ resourceType: 'Patient', criteria: 'Patient?colour=red' }],
    };
    expect(await codeOf(admin.create(broken))).toBe('policy-invalid');
  });

  test('let every person change the own User, but not its identity', async () => {
    const store = open();
    await system(store);
    const caller = await signedIn(store);
    const mine = repositoryOf(store, caller);
    const user = await mine.read('User', caller.user.slice('User/'.length));
    expect(await mine.update({ ...user, firstName: 'Renamed' })).toMatchObject({ firstName: 'Renamed' });
    expect(await codeOf(mine.update({ ...user, admin: true }))).toBe('forbidden');
    expect(await codeOf(mine.update({ ...user, emailVerified: true }))).toBe('forbidden');
    expect(await codeOf(mine.delete('User', user.id))).toBe('forbidden');
  });
});

overStores('secrets', (open) => {
  test('cannot be read on any path, and survive being written back', async () => {
    const store = open();
    const trusted = await system(store);
    const caller = await signedIn(store, { admin: true });
    const userId = caller.user.slice('User/'.length);
    const user = await trusted.read('User', userId);
    const client = { resourceType: 'ClientApplication', id: 'client', name: 'Lab', secret: SECRET } as const;
    // The answers to the write of a secret and to later calls do not contain it.
    const told: unknown[] = [
      await trusted.update(client),
      await trusted.update<User>({ ...user, passwordHash: SECRET }),
    ];
    const mine = repositoryOf(store, caller);
    for (const repository of [trusted, mine]) {
      for (const [type, id, field] of [
        ['ClientApplication', 'client', 'secret'],
        ['User', userId, 'passwordHash'],
      ] as const) {
        const seen = await repository.read(type, id);
        told.push(seen, await repository.search(type, `_id=${id}`), await repository.history(type, id));
        told.push(await repository.vread(type, id, seen.meta.versionId));
        const batch = { resourceType: 'Bundle', type: 'batch' } as const;
        const urls = [`${type}/${id}`, `${type}?_id=${id}`, `${type}/${id}/_history/${seen.meta.versionId}`];
        const entry = urls.map((url) => ({ request: { method: 'GET' as const, url } }));
        told.push(await repository.transaction({ ...batch, entry }));
        for (const value of [SECRET, 'wrong']) {
          const test = repository.patch(type, id, [{ op: 'test', path: `/${field}`, value }]);
          expect(await codeOf(test)).toBe('unprocessable');
        }
        const asking = repository === mine ? caller : systemCaller('clinic');
        const query = `{ ${type}(id: "${id}") { id ${field} } ${type}List(_id: "${id}") { ${field} } }`;
        told.push(await executeFhirGraphql(query, { store, caller: asking }));
      }
    }
    expect(JSON.stringify(told)).not.toContain('topsecret');

    await trusted.patch('ClientApplication', 'client', [{ op: 'replace', path: '/name', value: 'Laboratory' }]);
    await mine.update({ ...(await mine.read('User', userId)), firstName: 'Renamed' });
    const keys = [
      { project: 'clinic', type: 'ClientApplication', id: 'client' },
      { project: '', type: 'User', id: userId },
    ];
    const [storedClient, storedUser] = await store.read(keys);
    expect(storedClient).toMatchObject({ resource: { name: 'Laboratory', secret: SECRET } });
    expect(storedUser).toMatchObject({ resource: { firstName: 'Renamed', passwordHash: SECRET } });
  });

  test('can be written only by trusted code', async () => {
    const store = open();
    await system(store);
    const mine = await member(store);
    const client = { resourceType: 'ClientApplication', name: 'Lab', secret: SECRET } as const;
    expect(await codeOf(mine.create(client))).toBe('forbidden');
  });
});
