import type { Binary, Bundle } from '@medplum/fhirtypes';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import {
  createBot,
  executeFhirGraphql,
  importBundle,
  MemoryStore,
  type Repository,
  type ResourceStore,
  updateBot,
} from '../../src/index.js';
import { SqliteStore } from '../../src/sqlite.js';
import { codeOf, faultOf, repositoryOf, signedIn, system } from '../repository/harness.js';

const GOOD = { resourceType: 'Binary', contentType: 'text/javascript', data: 'R09PRA==' } as const;
const EVIL = { ...GOOD, data: 'RVZJTA==' } as const;

describe.each([
  ['memory', (): ResourceStore => new MemoryStore()],
  ['SQLite', () => new SqliteStore(':memory:')],
])('the code of a Bot, on a %s store', (_, open) => {
  let store: ResourceStore;
  let trusted: Repository;

  beforeEach(async () => {
    store = open();
    trusted = await system(store);
  });
  afterEach(() => store.close());

  test('is not a Binary that members can write or delete, in any way', async () => {
    const member = await signedIn(store);
    const mine = repositoryOf(store, member);
    const admin = await signedIn(store, { admin: true });
    const { id } = await mine.create<Binary>({ ...GOOD, id: undefined as never });
    const changed = await mine.update<Binary>({ ...GOOD, id, language: 'en' });
    const { bot } = await createBot(
      'clinic',
      { name: 'Bot', sourceCode: { url: `Binary/${id}` } },
      { store, caller: admin },
    );

    const bundle = (type: 'batch' | 'transaction', method: 'PUT' | 'DELETE') =>
      ({
        resourceType: 'Bundle',
        type,
        entry: [
          { ...(method === 'PUT' ? { resource: { ...EVIL, id } } : {}), request: { method, url: `Binary/${id}` } },
        ],
      }) as Bundle;
    for (const caller of [member, admin]) {
      const repository = repositoryOf(store, caller);
      expect(await codeOf(repository.update<Binary>({ ...EVIL, id }))).toBe('forbidden');
      expect(await codeOf(repository.delete('Binary', id))).toBe('forbidden');
      const data = [{ op: 'replace', path: '/data', value: EVIL.data }] as const;
      expect(await codeOf(repository.patch('Binary', id, data))).toBe('forbidden');
      for (const method of ['PUT', 'DELETE'] as const) {
        expect(await codeOf(importBundle(bundle('transaction', method), { store, caller }))).toBe('forbidden');
        expect(await importBundle(bundle('batch', method), { store, caller })).toMatchObject({ failed: 1 });
      }
      const { errors } = await executeFhirGraphql(`mutation { BinaryDelete(id: "${id}") }`, { store, caller });
      expect(errors![0]!.extensions['code']).toBe('forbidden');
    }
    expect(await trusted.read('Binary', id)).toEqual(changed);

    const next = await repositoryOf(store, admin).create<Binary>({ ...EVIL, id: undefined as never });
    await updateBot(
      { project: 'clinic', bot: `Bot/${bot.id}` },
      { sourceCode: { url: `Binary/${next.id}` } },
      { store, caller: admin },
    );
    expect(await mine.update<Binary>({ ...EVIL, id })).toMatchObject({ data: EVIL.data });
    expect(await codeOf(mine.delete('Binary', next.id))).toBe('forbidden');
  });

  test('is checked in the commit, and the error names no Bot', async () => {
    const caller = await signedIn(store);
    const mine = repositoryOf(store, caller);
    const { id } = await mine.create<Binary>({ ...GOOD, id: undefined as never });
    const commit = store.commit.bind(store);
    store.commit = async (writes, options) => {
      store.commit = commit;
      await trusted.update({ resourceType: 'Bot', id: 'late', name: 'Bot', executableCode: { url: `Binary/${id}` } });
      return commit(writes, options);
    };
    const fault = await faultOf(mine.update<Binary>({ ...EVIL, id }));
    expect([fault.code, fault.message]).toEqual([
      'forbidden',
      `Not allowed to write Binary/${id}, which is the code of a Bot; make another Binary and have the Bot name it`,
    ]);
    expect(JSON.stringify(fault.details ?? {})).not.toContain('late');
    expect(await trusted.update<Binary>({ ...EVIL, id })).toMatchObject({ data: EVIL.data });
  });

  test('is searched only in the project of the caller', async () => {
    const elsewhere = await system(store, 'other');
    const mine = repositoryOf(store, await signedIn(store));
    const { id } = await mine.create<Binary>({ ...GOOD, id: undefined as never });
    await elsewhere.update({ resourceType: 'Bot', id: 'b', name: 'Bot', executableCode: { url: `Binary/${id}` } });
    expect(await mine.update<Binary>({ ...EVIL, id })).toMatchObject({ data: EVIL.data });
  });
});

test.each([
  (id: string) => ({ executableCode: { url: `Binary/${id}` } }),
  (id: string) => ({ sourceCode: { url: `/Binary/${id}` } }),
  (id: string) => ({ executableCode: { url: `Binary/${id}/_history/1` } }),
  (id: string) => ({ executableCode: { url: `https://fhir.example/R4/Binary/${id}?download` } }),
])('code is found by the address %s', async (code) => {
  const store = new MemoryStore();
  const trusted = await system(store);
  const mine = repositoryOf(store, await signedIn(store));
  const { id } = await mine.create<Binary>({ ...GOOD, id: undefined as never });
  await trusted.update({ resourceType: 'Bot', id: 'b', name: 'Bot', ...code(id) });
  expect(await codeOf(mine.update<Binary>({ ...EVIL, id }))).toBe('forbidden');
});
