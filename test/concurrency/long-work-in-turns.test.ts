import { afterEach, expect, test, vi } from 'vitest';
import {
  explainFhirGraphql,
  exportProject,
  MemoryStore,
  type ResourceStore,
  serverCaller,
  systemCaller,
} from '../../src/index.js';
import { SERVER_SCOPE } from '../../src/store.js';
import { keyOf, put, resourceOf } from '../support/kit.js';
import { isSameName } from '../../src/fhir/messages.js';
import { PACE, Pace } from '../../src/platform/pace.js';
import { postgresStore } from '../stores/postgres/store.js';

const { turnMs } = PACE;

afterEach(() => {
  PACE.turnMs = turnMs;
  vi.restoreAllMocks();
});

/** Every piece of work takes too long: how often others have their turn. */
async function pausesOf(work: () => Promise<unknown>): Promise<number> {
  PACE.turnMs = 0;
  const next = vi.spyOn(Pace.prototype, 'next');
  await work();
  return next.mock.calls.length;
}

async function writeVersions(store: ResourceStore): Promise<void> {
  for (let version = 0; version < 12; version++) await store.commit([put(resourceOf('Patient', 'p'))]);
}

test('an explanation lets other work run between its store calls', async () => {
  const lists = Array.from({ length: 30 }, (_, n) => `l${n}: PatientList(_count: ${n + 1}) { id }`).join(' ');
  const context = { store: new MemoryStore(), caller: systemCaller('p') };
  expect(await pausesOf(() => explainFhirGraphql(`{ ${lists} }`, context))).toBeGreaterThanOrEqual(30);
});

test('PostgreSQL lets other work run between the versions of a history', async () => {
  const store = await postgresStore();
  await writeVersions(store);
  const page = { offset: 0, limit: 100 };
  expect(await pausesOf(() => store.history(keyOf('Patient', 'p'), page))).toBe(12);
  expect(await store.history(keyOf('Patient', 'p'), page)).toMatchObject({ total: 12 });
});

test('PostgreSQL lets other work run between the resources that it verifies and indexes again', async () => {
  const store = await postgresStore();
  await store.commit(Array.from({ length: 20 }, (_, n) => put(resourceOf('Patient', `p${n}`))));
  expect(await pausesOf(() => store.verify())).toBeGreaterThanOrEqual(20);
  expect(await pausesOf(() => store.reindex())).toBeGreaterThanOrEqual(20);
  expect(await store.verify()).toMatchObject({ problems: [], resources: 20 });
});

test('an export lets other work run between its lines', async () => {
  const store = new MemoryStore();
  const project = { ...resourceOf('Project', 'p'), ...{ name: 'p' } };
  await store.commit([{ ...put(project), key: { project: SERVER_SCOPE, type: 'Project', id: 'p' } }]);
  const patients = Array.from({ length: 30 }, (_, n) => put(resourceOf('Patient', `p${n}`)));
  await store.commit(patients.map((write) => ({ ...write, key: { ...write.key, project: 'p' } })));
  const lines: string[] = [];
  const pauses = await pausesOf(async () => {
    for await (const line of exportProject('p', { store, caller: serverCaller() })) lines.push(line);
  });
  expect(lines.length).toBeGreaterThanOrEqual(30);
  expect(pauses).toBeGreaterThanOrEqual(30);
});

test('a name of any length is compared in full', () => {
  const lowered = vi.spyOn(String.prototype, 'toLowerCase');
  const long = 'A'.repeat(200_000);
  expect(isSameName('birthDate', long)).toBe(false);
  expect(isSameName(long, long)).toBe(true);
  expect(lowered).not.toHaveBeenCalled();
  expect(isSameName('birthDate', 'birth-date')).toBe(true);
});
