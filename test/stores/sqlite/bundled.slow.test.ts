import { execFile } from 'node:child_process';
import { mkdirSync, symlinkSync, writeFileSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { promisify } from 'node:util';
import { build, type Format } from 'esbuild';
import { expect, test } from 'vitest';
import { temporaryFolder } from '../temporary-folder.js';

const inFolder = temporaryFolder();
const run = promisify(execFile);

/** Commits enough for a thread, then reports the number of threads and their writes. */
const PROGRAM = `
import { SqliteStore } from ${JSON.stringify(resolve('src/sqlite.ts'))};
let threads = 0;
process.on('worker', () => threads++);
async function main() {
  const store = new SqliteStore('clinic.db');
  const key = (id) => ({ project: 'p', type: 'Patient', id: 'p' + id });
  const write = (id) => ({ kind: 'put', key: key(id), resource: { resourceType: 'Patient', id: 'p' + id } });
  await store.commit(Array.from({ length: 50 }, (_, id) => write(id)));
  const { total } = await store.search({ project: 'p', type: 'Patient', criteria: { kind: 'all' }, limit: 0, total: true });
  console.log(JSON.stringify({ threads, total }));
}
void main();
`;

test.each<[Format, string]>([
  ['esm', 'bundle.mjs'],
  ['cjs', 'bundle.cjs'],
])('threads work in a single file that a host bundles as %s, and end with the process', async (format, name) => {
  const file = inFolder(join(format, name));
  const folder = dirname(file);
  mkdirSync(join(folder, 'node_modules'), { recursive: true });
  // The native driver is never bundled.
  for (const dependency of ['better-sqlite3', 'node-gyp-build', 'bindings', 'file-uri-to-path']) {
    symlinkSync(resolve('node_modules', dependency), join(folder, 'node_modules', dependency));
  }
  writeFileSync(join(folder, 'program.ts'), PROGRAM);
  await build({
    entryPoints: [join(folder, 'program.ts')],
    bundle: true,
    minify: true,
    platform: 'node',
    format,
    outfile: file,
    external: ['fhirpath', 'fhirpath/*'],
    logLevel: 'silent',
  });
  const { stdout, stderr } = await run(process.execPath, [file], { cwd: folder });
  expect(stderr).toBe('');
  expect(JSON.parse(stdout)).toEqual({ threads: 1, total: 50 });
});
