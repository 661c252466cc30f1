import type { ClientApplication, User } from '@medplum/fhirtypes';
import { expect, test } from 'vitest';
import { type AnyResource, createRepository, serverCaller, signIn } from '../../src/index.js';
import { SERVER_SCOPE } from '../../src/store.js';
import { codeOf, overStores } from '../repository/harness.js';

const user: User = { resourceType: 'User', id: 'u', firstName: 'Ann', lastName: 'Lee', email: 'ann@example.org' };
const client: ClientApplication = { resourceType: 'ClientApplication', id: 'c', name: 'Feed' };

overStores('a sign-in', (open) => {
  test.each([
    ['User/u', 'Practitioner/p', user, { project: 'clinic', user: 'User/u' }],
    ['ClientApplication/c', 'ClientApplication/c', client, { project: 'clinic', client: 'c' }],
  ] as const)(
    'of %s fails while its status is off, and works before and after',
    async (name, profile, who, identity) => {
      const store = open();
      const trusted = createRepository({ store, caller: serverCaller('clinic') });
      await trusted.update({ resourceType: 'Project', id: 'clinic', name: 'Clinic' });
      await trusted.update({ resourceType: 'Practitioner', id: 'p' });
      await trusted.update(who);
      await trusted.update({
        resourceType: 'ProjectMembership',
        id: 'm',
        project: { reference: 'Project/clinic' },
        user: { reference: name },
        profile: { reference: profile },
      });
      // Written into the store as it is: Medplum's User has had a status only in some versions.
      const set = (status?: string): Promise<unknown> => {
        const project = who.resourceType === 'User' ? SERVER_SCOPE : 'clinic';
        const resource = { ...who, ...(status === undefined ? {} : { status }) } as AnyResource;
        return store.commit([{ kind: 'put', key: { project, type: who.resourceType, id: who.id! }, resource }]);
      };
      for (const how of [identity, { membership: 'm' }]) {
        await set('active');
        expect((await signIn(store, how)).membership).toBe('m');
        await set('off');
        expect(await codeOf(signIn(store, how))).toBe('membership-inactive');
        await trusted.update(who);
        expect((await signIn(store, how)).membership).toBe('m');
      }
    },
  );
});
