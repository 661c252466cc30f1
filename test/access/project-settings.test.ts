import type { Patient, Project } from '@medplum/fhirtypes';
import { describe, expect, test, vi } from 'vitest';
import { MemoryStore, type ResourceStore, serverCaller, systemCaller } from '../../src/index.js';
import { SqliteStore } from '../../src/sqlite.js';
import { codeOf, repositoryOf } from '../repository/harness.js';

const baseUrl = 'https://clinic.example/fhir';
const caller = systemCaller('clinic');
const project = { resourceType: 'Project', id: 'clinic' } as Project;
const invalid = { resourceType: 'Patient', gender: 'unheard-of' } as unknown as Patient;

/** How often the Project is read while something is done. */
function countReads(store: ResourceStore): (work: () => Promise<unknown>) => Promise<number> {
  const { calls } = vi.spyOn(store, 'read').mock;
  return async (work) => {
    const before = calls.length;
    await work();
    return calls
      .slice(before)
      .flatMap(([keys]) => keys)
      .filter(({ type }) => type === 'Project').length;
  };
}

describe.each([
  ['memory', () => new MemoryStore()],
  ['SQLite', () => new SqliteStore(':memory:')],
])('the settings of a Project, %s', (_, open: () => ResourceStore) => {
  test.each([
    ['', {}],
    [' under a timeout', { limits: { timeout: 60_000 } }],
  ])('apply to the next write after each change, and are read once between changes%s', async (_, limited) => {
    const store = open();
    const server = repositoryOf(store, serverCaller('clinic'));
    const repository = repositoryOf(store, caller, { baseUrl, ...limited });
    await server.update(project);
    const readsOf = countReads(store);
    const create = (): Promise<unknown> => repository.create(invalid);
    for (let round = 0; round < 3; round++) {
      expect(await readsOf(create)).toBe(1);
      expect(await readsOf(create)).toBe(0);
      await server.update({ ...project, strictMode: true });
      expect(await readsOf(async () => expect(await codeOf(create())).toBe('unprocessable'))).toBe(1);
      expect(await readsOf(async () => expect(await codeOf(create())).toBe('unprocessable'))).toBe(0);
      await server.update(project);
    }
    await server.delete('Project', 'clinic');
    await repository.create(invalid);
    await store.close();
  });

  test('are read each time over replicas', async () => {
    const store = open();
    Object.defineProperty(store, 'readsAreCurrent', { value: false });
    const readsOf = countReads(store);
    const repository = repositoryOf(store, caller);
    for (let n = 0; n < 3; n++) expect(await readsOf(() => repository.create(invalid))).toBe(1);
    await store.close();
  });
});
