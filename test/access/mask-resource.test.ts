import { expect, test } from 'vitest';
import { type AnyResource, createRepository } from '../../src/index.js';
import { overStores, signedIn, system } from '../repository/harness.js';

const client = (more: object = {}): object => ({
  resourceType: 'ClientApplication',
  id: 'inner',
  name: 'Feed',
  secret: 'hash-1',
  retiringSecret: 'hash-2',
  ...more,
});
const shown = { resourceType: 'ClientApplication', id: 'inner', name: 'Feed' };
const user = { resourceType: 'User', id: 'who', passwordHash: 'hash-3', mfaSecret: 'hash-4', firstName: 'Ann' };
const shownUser = { resourceType: 'User', id: 'who', firstName: 'Ann' };

/** Values at positions of resources inside others, and the form that a reader sees. */
const INSIDE: readonly (readonly [where: string, type: string, stored: object, seen: object])[] = [
  ['contained', 'Patient', { contained: [client(), user] }, { contained: [shown, shownUser] }],
  [
    'contained in a contained resource',
    'Patient',
    { contained: [{ resourceType: 'Basic', id: 'b', contained: [client()] }] },
    { contained: [{ resourceType: 'Basic', id: 'b', contained: [shown] }] },
  ],
  [
    'an entry of a Bundle',
    'Bundle',
    { type: 'batch', entry: [{ resource: client() }, { response: { status: '200', outcome: client() } }] },
    { type: 'batch', entry: [{ resource: shown }, { response: { status: '200', outcome: shown } }] },
  ],
  [
    'a part of Parameters',
    'Parameters',
    { parameter: [{ name: 'a', part: [{ name: 'b', resource: client({ contained: [client()] }) }] }] },
    { parameter: [{ name: 'a', part: [{ name: 'b', resource: { ...shown, contained: [shown] } }] }] },
  ],
];

overStores('secrets inside other resources', (openStore) => {
  test.each(INSIDE)('are masked: %s, for a member without a rule for their type', async (_, type, stored, seen) => {
    const store = openStore();
    await system(store);
    const resource = { resourceType: type, id: 'x', ...stored } as AnyResource;
    await store.commit([{ kind: 'put', key: { project: 'clinic', type, id: 'x' }, resource }]);
    const callers = [
      await signedIn(store, { rules: [{ resourceType: type }] }),
      await signedIn(store, { rules: [{ resourceType: '*' }] }),
      await signedIn(store),
      await signedIn(store, { admin: true }),
    ];
    for (const caller of callers) {
      const read = await createRepository({ store, caller }).read(type as 'Patient', 'x');
      expect({ ...read, meta: undefined }).toEqual({ resourceType: type, id: 'x', ...seen });
    }
  });
});
