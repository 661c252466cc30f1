// Writes src/stores/sqlite/threads/thread-text.js: the program of SqliteStore's threads with all that it imports, as one
// text, compressed. A text survives every bundler: a thread that is started from a file of its own is lost in a host's bundle.
import { renameSync, writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { brotliCompressSync } from 'node:zlib';
import { build } from 'esbuild';

const { outputFiles, metafile } = await build({
  entryPoints: [path('../src/stores/sqlite/threads/main.ts')],
  bundle: true,
  minify: true,
  keepNames: false,
  format: 'cjs',
  platform: 'node',
  target: 'node22',
  // Only models whose search parameters need FHIRPath load it, from where the package finds it.
  external: ['fhirpath', 'fhirpath/*', 're2js'],
  supported: { 'dynamic-import': false },
  banner: {
    js:
      '/*! Contains lru-cache, https://blueoakcouncil.org/license/1.0.0 */' +
      "var require=globalThis.require;require=require('node:module').createRequire(require('node:worker_threads').workerData.base);",
  },
  // What import.meta.url would be: the thread is told instead.
  logOverride: { 'empty-import-meta': 'silent' },
  metafile: true,
  write: false,
});

// The definitions are sent to a thread, because a store may have others.
if (Object.keys(metafile.inputs).some((name) => name.endsWith('r4-definitions.js'))) {
  throw new Error('The program of the threads must not contain the definitions of R4');
}
const file = path('../src/stores/sqlite/threads/thread-text.js');
const made = `${file}.${process.pid}`;
writeFileSync(
  made,
  `// Made by \`npm run definitions\`.\nexport const packed = '${brotliCompressSync(outputFiles[0].contents).toString('base64')}';\n`,
);
// Another process may read it at this moment.
renameSync(made, file);

function path(name) {
  return fileURLToPath(new URL(name, import.meta.url));
}
