// Merges the chunks that `fhirgraph` itself loads, at the end of the build. The bundler makes a chunk for every set of
// entries that share code. A first read loaded 45 of them, and each takes its time to find, read and link.
import { readdirSync, rmSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { transform } from 'esbuild';
import { rollup } from 'rollup';
import { parseAst } from 'rollup/parseAst';

/** Entries that use little of the engine, and so load little. */
const LIGHT = ['client', 'types', 'mail', 'store', 'telemetry', 'terminology', 'access'];

/** Those that load no search either. The client is for browsers too, so it is left as small as it is. */
const LIGHTEST = ['mail', 'telemetry', 'terminology', 'fhir-package', 'audit-journal'];

/** Entries that are loaded beside the main one before its first query. */
const STORES = ['sqlite', 'postgres'];

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
  let parts;
  await bundle.write({
    dir: fileURLToPath(folder),
    format: 'es',
    entryFileNames: '[name].js',
    chunkFileNames: 'chunk-[hash].js',
    hoistTransitiveImports: false,
    minifyInternalExports: false,
    plugins: [{ name: 'dense', renderChunk: dense }],
    onlyExplicitManualChunks: true,
    manualChunks(id, { getModuleInfo }) {
      parts ??= partsOf(fileOf, getModuleInfo);
      return files.has(id) ? undefined : parts.find(({ ids }) => ids.has(id))?.name;
    },
  });
}

/**
 * Code keeps its names, and each function has a line, which Node.js prints with an uncaught error. In pure ASCII, code is read
 * twice as fast as other code, and takes half the memory.
 */
async function dense(code) {
  const options = {
    minifyWhitespace: true,
    charset: 'ascii',
    target: 'node22',
    format: 'esm',
    legalComments: 'inline',
  };
  const { code: line } = await transform(code, options);
  const ends = [0, ...linesOf(parseAst(line).body), line.length];
  return ends
    .slice(1)
    .map((end, index) => line.slice(ends[index], end))
    .join('\n');
}

/** Where the lines of statements and of the members of classes begin, but the first. */
function linesOf(statements) {
  return statements
    .flatMap((statement) => {
      const classes = [statement, ...(statement.declarations ?? []).map(({ init }) => init)];
      return [statement, ...classes.flatMap((one) => (one?.type.startsWith('Class') ? one.body.body : []))];
    })
    .map(({ start }) => start)
    .slice(1);
}

/**
 * What most entries share, what those with searches share, what the first query loads, what the SQL stores share, what the first
 * write loads, and what the other functions of the main entry load, together: see lazy-exports.mjs. No part imports a later one,
 * so they never load in a circle.
 */
function partsOf(fileOf, getModuleInfo) {
  const index = fileOf('index');
  const reachable = reach(index, getModuleInfo, new Set(), true);
  const write = [...reachable].find((id) => includes(getModuleInfo, id, 'src/access/write/commit-guarded.ts'));
  const operations = new Set();
  for (const id of getModuleInfo(index).dynamicallyImportedIds) reach(id, getModuleInfo, operations);
  const reached = (name) => reach(fileOf(name), getModuleInfo);
  const loaded = ['index', ...STORES, ...LIGHT].map(reached);
  const base = unionOf(LIGHTEST.map(reached));
  const search = unionOf([reached('access').intersection(reached('store')), reached('testing')]);
  const [sqlite, postgres] = STORES.map(reached);
  const stores = without(sqlite.intersection(postgres), [reached('index'), reach(write, getModuleInfo)]);
  const writing = without(reach(write, getModuleInfo), loaded);
  return [
    { name: 'base', ids: base },
    { name: 'search', ids: search },
    { name: 'core', ids: coreOf(fileOf, getModuleInfo) },
    { name: 'stores', ids: stores },
    { name: 'writing', ids: writing },
    { name: 'operations', ids: without(operations, [...loaded, writing]) },
  ];
}

function unionOf(sets) {
  return sets.reduce((all, set) => all.union(set));
}

function without(ids, sets) {
  return new Set([...ids].filter((id) => !sets.some((set) => set.has(id))));
}

function includes(getModuleInfo, id, source) {
  return getModuleInfo(id).code.includes(`// ${source}`);
}

/** What the main entry imports and no light entry does. Bundlers drop the definitions where nothing uses them. */
function coreOf(fileOf, getModuleInfo) {
  const core = reach(fileOf('index'), getModuleInfo);
  for (const name of LIGHT) for (const id of reach(fileOf(name), getModuleInfo)) core.delete(id);
  for (const id of core) if (includes(getModuleInfo, id, 'src/fhir/r4-definitions.js')) core.delete(id);
  return core;
}

/** @param alsoLater whether what functions import when they are called counts too */
function reach(id, getModuleInfo, seen = new Set(), alsoLater = false) {
  if (seen.has(id)) return seen;
  seen.add(id);
  const { importedIds, dynamicallyImportedIds } = getModuleInfo(id);
  for (const imported of alsoLater ? [...importedIds, ...dynamicallyImportedIds] : importedIds) {
    if (isFile(imported)) reach(imported, getModuleInfo, seen, alsoLater);
  }
  return seen;
}

function isFile(id) {
  return /^(?:\/|[A-Za-z]:)/.test(id);
}
