import type { ClientApplication } from '@medplum/fhirtypes';
import { expect, test } from 'vitest';
import { executeFhirGraphql, importBundle, importNdjson, type ResourceStore } from '../../src/index.js';
import { codeOf, type Membership, overStores, repositoryOf, signedIn, system } from '../repository/harness.js';

const CLIENT: ClientApplication & { id: string } = {
  resourceType: 'ClientApplication',
  id: 'lab',
  name: 'Lab',
  status: 'off',
  redirectUris: ['https://lab.example/back'],
};
const BOT = { resourceType: 'Bot', id: 'reminder', name: 'Reminder', code: 'export const handler = () => 1;' } as const;

/** Every kind of member that could once write programs. */
const WRITERS: readonly (readonly [string, Membership])[] = [
  ['a Practitioner without policy', {}],
  ['a project administrator', { admin: true }],
  ['a rule for *', { rules: [{ resourceType: '*' }] }],
  ['a rule by name', { rules: [{ resourceType: 'ClientApplication' }, { resourceType: 'Bot' }] }],
  ['an administrator with a rule for *', { admin: true, rules: [{ resourceType: '*' }] }],
];

async function programsOf(store: ResourceStore): Promise<string> {
  const keys = ['ClientApplication/lab', 'Bot/reminder'].map((name) => name.split('/') as [string, string]);
  const read = await store.read(keys.map(([type, id]) => ({ project: 'clinic', type, id })));
  const all = await Promise.all(
    ['ClientApplication', 'Bot'].map((type) =>
      store.search({ project: 'clinic', type, criteria: { kind: 'all' }, limit: 0, total: true }),
    ),
  );
  return JSON.stringify([read, all.map(({ total }) => total)]);
}

overStores('programs', (open) => {
  test.each(WRITERS)('cannot be written by any member: %s', async (_, membership) => {
    const store = open();
    const trusted = await system(store);
    await trusted.update(CLIENT);
    await trusted.update(BOT);
    const caller = await signedIn(store, membership);
    const mine = repositoryOf(store, caller);
    const context = { store, caller };
    const before = await programsOf(store);
    const active = { ...CLIENT, status: 'active', redirectUris: ['https://evil.example'], jwksUri: 'https://evil' };
    const entry = (request: object, resource?: object): object => ({ request, resource });
    const bundle = (...entries: readonly object[]): never =>
      ({ resourceType: 'Bundle', type: 'transaction', entry: entries }) as never;
    const coded = { ...BOT, code: 'steal()' };
    const attempts: readonly (() => Promise<unknown>)[] = [
      () => mine.update(active as never),
      () => mine.update(coded),
      () => mine.create({ resourceType: 'ClientApplication', name: 'Mine' }),
      () => mine.create({ resourceType: 'Bot', name: 'Mine' }),
      () => mine.create({ resourceType: 'Bot', name: 'Mine' }, { ifNoneExist: 'name=Nobody' }),
      () => mine.patch('ClientApplication', 'lab', [{ op: 'replace', path: '/status', value: 'active' }]),
      () => mine.patch('Bot', 'reminder', [{ op: 'replace', path: '/code', value: 'steal()' }]),
      () => mine.delete('Bot', 'reminder'),
      () => mine.delete('ClientApplication', 'lab'),
      () => mine.transaction(bundle(entry({ method: 'PUT', url: 'ClientApplication/lab' }, active))),
      () => mine.transaction(bundle(entry({ method: 'PUT', url: 'Bot/reminder' }, coded))),
      () => mine.transaction(bundle(entry({ method: 'POST', url: 'Bot' }, { resourceType: 'Bot', name: 'Mine' }))),
      () => importBundle(bundle(entry({ method: 'PUT', url: 'ClientApplication?name=Lab' }, active)), context),
    ];
    for (const attempt of attempts) expect(await codeOf(attempt())).toBe('forbidden');
    const mutations = [
      'mutation($res: ClientApplicationInput!) { ClientApplicationUpdate(id: "lab", res: $res) { id } }',
      'mutation($res: ClientApplicationInput!) { ClientApplicationCreate(res: $res) { id } }',
      'mutation { ClientApplicationDelete(id: "lab") { id } }',
      'mutation { BotDelete(id: "reminder") { id } }',
    ];
    for (const mutation of mutations) {
      const variables = mutation.includes('$res') ? { res: active } : undefined;
      const { errors } = await executeFhirGraphql(mutation, { ...context, ...(variables && { variables }) });
      expect(errors?.length, mutation).toBeGreaterThan(0);
    }
    await importNdjson([JSON.stringify(active), '\n', JSON.stringify(coded)], context).catch(() => undefined);
    expect(await programsOf(store)).toBe(before);
  });

  test('are read without secrets as before', async () => {
    const store = open();
    const trusted = await system(store);
    await trusted.update({ ...CLIENT, secret: 'hash' } as never);
    for (const [, membership] of WRITERS) {
      const mine = repositoryOf(store, await signedIn(store, membership));
      expect(await mine.read('ClientApplication', 'lab')).toMatchObject(CLIENT);
      expect((await mine.search('ClientApplication', 'name=Lab')).entry).toHaveLength(1);
    }
  });

  test('name the operations that change them', async () => {
    const store = open();
    await system(store);
    const mine = repositoryOf(store, await signedIn(store));
    await expect(mine.create({ resourceType: 'ClientApplication', name: 'Mine' })).rejects.toThrow(
      'Not allowed to create ClientApplication',
    );
    await expect(mine.create({ resourceType: 'Bot', name: 'Mine' })).rejects.toThrow('Not allowed to create Bot');
  });
});
