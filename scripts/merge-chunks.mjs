// Merges the chunks that `fhirgraph` itself loads, at the end of the build. The bundler makes a chunk for every set of
// entries that share code. A first read loaded 45 of them, and each takes its time to find, read and link.
import { readdirSync, rmSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { rollup } from 'rollup';

/** Entries that use little of the engine, and so load little. */
const LIGHT = ['client', 'types', 'mail', 'store', 'telemetry', 'terminology', 'access'];

/** @param folder the URL of the built files @param entries the public entries, without their ending */
export async function mergeChunks(folder, entries) {
  const fileOf = (name) => fileURLToPath(new URL(`${name}.js`, folder));
  const bundle = await rollup({
    input: Object.fromEntries(entries.map((name) => [name, fileOf(name)])),
    external: (id) => !id.startsWith('.') && !isFile(id),
    makeAbsoluteExternalsRelative: false,
    treeshake: false,
  });
  // The bundle holds the text of all files.
  for (const name of readdirSync(folder)) if (name.endsWith('.js')) rmSync(new URL(name, folder));
  const files = new Set(entries.map(fileOf));
  let core;
  await bundle.write({
    dir: fileURLToPath(folder),
    format: 'es',
    entryFileNames: '[name].js',
    chunkFileNames: 'chunk-[hash].js',
    hoistTransitiveImports: false,
    minifyInternalExports: false,
    onlyExplicitManualChunks: true,
    manualChunks(id, { getModuleInfo }) {
      core ??= coreOf(fileOf, getModuleInfo);
      return core.has(id) && !files.has(id) ? 'core' : undefined;
    },
  });
}

/** What the main entry imports and no light entry does. Bundlers drop the definitions where nothing uses them. */
function coreOf(fileOf, getModuleInfo) {
  const core = reach(fileOf('index'), getModuleInfo);
  for (const name of LIGHT) for (const id of reach(fileOf(name), getModuleInfo)) core.delete(id);
  for (const id of core) if (getModuleInfo(id).code.includes('// src/fhir/r4-definitions.js')) core.delete(id);
  return core;
}

function reach(id, getModuleInfo, seen = new Set()) {
  if (seen.has(id)) return seen;
  seen.add(id);
  for (const imported of getModuleInfo(id).importedIds) if (isFile(imported)) reach(imported, getModuleInfo, seen);
  return seen;
}

function isFile(id) {
  return /^(?:\/|[A-Za-z]:)/.test(id);
}
