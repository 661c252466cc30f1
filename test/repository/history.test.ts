import { expect, test } from 'vitest';
import { createRepository, type ResourceStore } from '../../src/index.js';
import { codeOf, overStores, signedIn, system } from './harness.js';

/** A store that records how many versions were requested at once. */
function countVersions(store: ResourceStore): { readonly store: ResourceStore; most(): number } {
  let most = 0;
  const counted = new Proxy(store, {
    get(target, name) {
      if (name !== 'history') {
        const value: unknown = Reflect.get(target, name);
        return typeof value === 'function' ? (value.bind(target) as unknown) : value;
      }
      const history: ResourceStore['history'] = (key, page, options) => {
        most = Math.max(most, page.limit);
        return target.history(key, page, options);
      };
      return history;
    },
  });
  return { store: counted, most: () => most };
}

const BASE = 'https://clinic.example/fhir/R4';

overStores('a history', (open) => {
  test('lists every version, newest first, with its interaction', async () => {
    const repository = await system(open(), 'clinic', { baseUrl: BASE });
    const { id } = await repository.create({ resourceType: 'Patient', active: true });
    await repository.update({ resourceType: 'Patient', id, active: false });
    await repository.delete('Patient', id);
    const last = await repository.update({ resourceType: 'Patient', id });
    const history = await repository.history('Patient', id);
    expect(history).toMatchObject({ resourceType: 'Bundle', type: 'history', total: 4 });
    expect(history.entry!.map(({ request, response }) => [request, response?.status, response?.etag])).toEqual([
      [{ method: 'POST', url: 'Patient' }, '201 Created', 'W/"4"'],
      [{ method: 'DELETE', url: `Patient/${id}` }, '204 No Content', 'W/"3"'],
      [{ method: 'PUT', url: `Patient/${id}` }, '200 OK', 'W/"2"'],
      [{ method: 'POST', url: 'Patient' }, '201 Created', 'W/"1"'],
    ]);
    expect(history.entry![0]).toMatchObject({
      fullUrl: `${BASE}/Patient/${id}`,
      resource: last,
      response: { lastModified: last.meta.lastUpdated },
    });
    expect(history.entry![1]).not.toHaveProperty('resource');
  });

  test('comes in pages, which together equal the whole', async () => {
    const repository = await system(open());
    const { id } = await repository.create({ resourceType: 'Patient' });
    for (let version = 2; version <= 25; version += 1) await repository.update({ resourceType: 'Patient', id });
    const first = await repository.history('Patient', id);
    expect(first.entry).toHaveLength(20);
    expect(first.link).toEqual([
      { relation: 'self', url: `Patient/${id}/_history?_count=20` },
      { relation: 'next', url: expect.stringContaining(`Patient/${id}/_history?_count=20&_cursor=`) },
    ]);
    const whole = await repository.history('Patient', id, { count: 100 });
    const pages = await Promise.all(
      [0, 7, 14, 21].map((offset) => repository.history('Patient', id, { count: 7, offset })),
    );
    expect(pages.flatMap(({ entry }) => entry)).toEqual(whole.entry);
    expect(pages.every(({ total }) => total === 25)).toBe(true);
    expect(await repository.history('Patient', id, { offset: 25 })).not.toHaveProperty('entry');
    expect(await codeOf(repository.history('Patient', id, { count: 1001 }))).toBe('too-costly');
    expect(await codeOf(repository.history('Patient', id, { offset: -1 }))).toBe('invalid');
  });

  test('under criteria reads a few versions at a time and keeps the page', async () => {
    const store = open();
    const repository = await system(store);
    const { id } = await repository.create({ resourceType: 'Patient', active: true });
    for (let version = 2; version <= 120; version += 1) {
      await repository.update({ resourceType: 'Patient', id, active: version % 3 === 0 });
    }
    const counted = countVersions(store);
    const caller = await signedIn(store, { rules: [{ resourceType: 'Patient', criteria: 'Patient?active=true' }] });
    const limited = createRepository({ store: counted.store, caller });
    const history = await limited.history('Patient', id, { count: 2, offset: 3 });
    expect(history.total).toBe(41);
    expect(history.entry?.map(({ response }) => response?.etag)).toEqual(['W/"111"', 'W/"108"']);
    expect(counted.most()).toBeLessThanOrEqual(50);
    expect((await limited.history('Patient', id, { count: 100, offset: 40 })).entry).toHaveLength(1);
  });

  test('of a resource that never existed is not found', async () => {
    const repository = await system(open());
    expect(await codeOf(repository.history('Patient', 'none'))).toBe('not-found');
  });
});
