import { expect, test } from 'vitest';
import {
  createRepository,
  initialize,
  MemoryStore,
  type ResourceStore,
  serverCaller,
  systemCaller,
} from '../../src/index.js';
import { onceTestEnds } from '../support/after-tests.js';

const CODE = 'FHIRGRAPH_PROJECT';

async function write(store: ResourceStore, project: string): Promise<void> {
  await createRepository({ store, caller: systemCaller(project) }).create({ resourceType: 'Patient' });
}

function warnings(): Error[] {
  const heard: Error[] = [];
  const listen = (warning: Error): void => void ((warning as { code?: unknown }).code === CODE && heard.push(warning));
  process.on('warning', listen);
  onceTestEnds(() => void process.off('warning', listen));
  return heard;
}

test('a write into a missing project warns once per store and project, where there are Projects', async () => {
  const heard = warnings();
  const store = new MemoryStore();
  await write(store, 'clinc');
  await createRepository({ store, caller: serverCaller() }).update({ resourceType: 'Project', id: 'clinic' });
  await write(store, 'clinic');
  for (let time = 0; time < 3; time += 1) await write(store, 'clinc');
  await write(store, 'other');
  await write(new MemoryStore(), 'clinc');
  // Warnings are emitted in the next tick.
  await new Promise((resolve) => setImmediate(resolve));
  expect(heard.map(({ message }) => message)).toEqual([
    'systemCaller("clinc") writes into a project that does not exist',
    'systemCaller("other") writes into a project that does not exist',
  ]);
});

test('a process that has made a Project knows that there are some', async () => {
  const heard = warnings();
  const store = new MemoryStore();
  await initialize(store, { name: 'Clinic' });
  await write(store, 'clinc');
  await new Promise((resolve) => setImmediate(resolve));
  expect(heard).toHaveLength(1);
});
