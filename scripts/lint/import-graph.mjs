import { readdirSync, readFileSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';

/** Import graphs by source folder; read once per process. */
const GRAPHS = new Map();

/**
 * Which files of a folder import which, types included.
 *
 * @param {string} source absolute path of the folder
 * @returns {ReadonlyMap<string, ReadonlySet<string>>} by absolute path
 */
export function importGraph(source) {
  let graph = GRAPHS.get(source);
  if (graph === undefined) GRAPHS.set(source, (graph = readGraph(source)));
  return graph;
}

/**
 * The shortest chain of imports from one file to another.
 *
 * @param {ReadonlyMap<string, ReadonlySet<string>>} graph
 * @param {string} from
 * @param {string} to
 * @returns {readonly string[] | undefined} the files of the chain, both ends included
 */
export function importChain(graph, from, to) {
  const cameFrom = new Map([[from, undefined]]);
  for (const file of cameFrom.keys()) {
    if (file === to) return chainTo(file, cameFrom);
    for (const next of graph.get(file) ?? []) if (!cameFrom.has(next)) cameFrom.set(next, file);
  }
  return undefined;
}

/** The absolute path of the TypeScript file that a relative specifier means. */
export function importedFile(importer, specifier) {
  return resolve(dirname(importer), specifier).replace(/\.js$/, '.ts');
}

function chainTo(file, cameFrom) {
  const chain = [];
  for (let one = file; one !== undefined; one = cameFrom.get(one)) chain.unshift(one);
  return chain;
}

function readGraph(source) {
  const files = readdirSync(source, { recursive: true }).filter((name) => name.endsWith('.ts'));
  return new Map(files.map((name) => [join(source, name), importsOf(join(source, name))]));
}

function importsOf(file) {
  const specifiers = readFileSync(file, 'utf8').matchAll(/(?:\bfrom|\bimport\()\s*'(\.[^']+)'/g);
  return new Set(Array.from(specifiers, ([, specifier]) => importedFile(file, specifier)));
}
