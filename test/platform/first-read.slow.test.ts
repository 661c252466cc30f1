import { execFile } from 'node:child_process';
import { symlinkSync } from 'node:fs';
import { dirname, resolve } from 'node:path';
import { promisify } from 'node:util';
import { build } from 'esbuild';
import { expect, test } from 'vitest';
import { SqliteStore } from '../../src/sqlite.js';
import { temporaryFolder } from '../stores/temporary-folder.js';

const inFolder = temporaryFolder();
const run = promisify(execFile);

const PROGRAM = `
import { executeFhirGraphql, systemCaller } from ${JSON.stringify(resolve('src/index.ts'))};
import { SqliteStore } from ${JSON.stringify(resolve('src/sqlite.ts'))};
const context = { store: new SqliteStore('clinic.db'), caller: systemCaller('clinic') };
const { data } = await executeFhirGraphql('query ($id: ID!) { Patient(id: $id) { id } }', { ...context, variables: { id: 'p1' } });
const loaded = process.moduleLoadList.map((name) => name.replace('NativeModule ', ''));
console.log(JSON.stringify({ data, loaded }));
`;

test('a first read from an SQLite file loads no module of Node.js that takes long and that it does not need', async () => {
  const file = inFolder('program.mjs');
  const store = new SqliteStore(inFolder('clinic.db'));
  const key = { project: 'clinic', type: 'Patient', id: 'p1' };
  await store.commit([{ kind: 'put', key, resource: { resourceType: 'Patient', id: 'p1' } }]);
  await store.close();
  symlinkSync(resolve('node_modules'), inFolder('node_modules'));
  await build({
    stdin: { contents: PROGRAM, resolveDir: resolve('.'), loader: 'ts' },
    bundle: true,
    platform: 'node',
    format: 'esm',
    outfile: file,
    external: ['fhirpath', 'fhirpath/*'],
    logLevel: 'silent',
  });
  const { stdout } = await run(process.execPath, [file], { cwd: dirname(file) });
  const { data, loaded } = JSON.parse(stdout) as { readonly data: unknown; readonly loaded: readonly string[] };
  expect(data).toEqual({ Patient: { id: 'p1' } });
  expect(loaded).toContain('zlib');
  for (const name of ['crypto', 'worker_threads', 'internal/fs/streams', 'http']) expect(loaded).not.toContain(name);
});
