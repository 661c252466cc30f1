import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { pathToFileURL } from 'node:url';
import { expect, test } from 'vitest';
import { deleteProject, reactivateProject, serverCaller } from '../../src/index.js';
import { SqliteStore } from '../../src/sqlite.js';
import { SERVER_SCOPE } from '../../src/store.js';
import { put, queryOf, resourceOf } from '../support/kit.js';
import { ALL } from '../../src/search/criteria/criteria.js';
import { temporaryFolder } from '../stores/temporary-folder.js';

const fileNamed = temporaryFolder();
const SOURCE = pathToFileURL(`${import.meta.dirname}/../../src/`).href;

/** Deletes the project and says so after each step that has removed resources. */
const program = (file: string): string => `
  const { SqliteStore } = await import('${SOURCE}stores/sqlite/store.js');
  const { serverCaller } = await import('${SOURCE}access/caller.js');
  const { deleteProject } = await import('${SOURCE}projects/project/delete-project.js');
  const store = new SqliteStore(${JSON.stringify(file)});
  const onProgress = ({ resources }) => resources > 0 && console.log('step');
  await deleteProject('clinic', { name: 'Clinic', onProgress }, { store, caller: serverCaller() });
`;

test('the deletion of a project continues after its process was killed', async () => {
  const file = fileNamed('clinic.db');
  const store = new SqliteStore(file, { synchronous: 'off' });
  await store.commit([put(resourceOf('Project', 'clinic', { name: 'Clinic' }), {}, SERVER_SCOPE)]);
  for (let start = 0; start < 5_000; start += 500) {
    await store.commit(Array.from({ length: 500 }, (_, index) => put(resourceOf('Patient', `p${start + index}`))));
  }
  const count = async (): Promise<number> =>
    (await store.search(queryOf('Patient', ALL, { total: true, limit: 0 }))).total!;
  for (let killed = 0; killed < 3; killed++) {
    const before = await count();
    const child = spawn(process.execPath, ['--import', 'tsx', '--input-type=module', '-e', program(file)], {
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    child.stdout.once('data', () => child.kill('SIGKILL'));
    expect((await once(child, 'exit'))[1]).toBe('SIGKILL');
    expect(await count()).toBeLessThan(before);
    expect((await store.verify()).problems).toEqual([]);
    const context = { store, caller: serverCaller() };
    await expect(reactivateProject('clinic', context)).rejects.toMatchObject({ code: 'conflict' });
  }
  expect(await count()).toBeGreaterThan(0);
  await deleteProject('clinic', { name: 'Clinic' }, { store, caller: serverCaller() });
  expect(await count()).toBe(0);
  expect((await store.verify()).problems).toEqual([]);
  await store.close();
}, 60_000);
