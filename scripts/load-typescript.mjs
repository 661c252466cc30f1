// `node --import ./scripts/load-typescript.mjs file.ts` runs TypeScript of this repository without a build. The package's
// own name leads to its sources, and `graphql` to the version that GRAPHQL_MAJOR names. The whole of src takes Oxc a tenth
// of a second, so nothing is kept on disk.
import { existsSync, readFileSync } from 'node:fs';
import { registerHooks, SourceMap } from 'node:module';
import { fileURLToPath } from 'node:url';
import { transformSync } from 'rolldown/utils';

const ROOT = new URL('..', import.meta.url).href;
const graphql = process.env.GRAPHQL_MAJOR === '16' ? 'graphql-16' : 'graphql';

registerHooks({
  resolve(specifier, context, next) {
    if (!isOurs(context.parentURL)) return next(specifier, context);
    if (specifier.startsWith('.')) return sourceOf(new URL(specifier, context.parentURL)) ?? next(specifier, context);
    if (specifier === 'fhirgraph') return sourceOf(new URL('src/index.js', ROOT));
    if (specifier.startsWith('fhirgraph/')) {
      return sourceOf(new URL(`src/${specifier.slice('fhirgraph/'.length)}.js`, ROOT)) ?? next(specifier, context);
    }
    if (specifier === 'graphql' || specifier.startsWith('graphql/')) {
      return next(specifier.replace('graphql', graphql), context);
    }
    return next(specifier, context);
  },
  load(url, context, next) {
    if (!isOurs(url) || !/\.ts(\?|$)/.test(url)) return next(url, context);
    return { format: 'module', source: compile(fileURLToPath(new URL(url))), shortCircuit: true };
  },
});

function isOurs(url) {
  return Boolean(url?.startsWith(ROOT)) && !url.includes('/node_modules/');
}

/** TypeScript names the files that it would write. */
function sourceOf(url) {
  if (!url.pathname.endsWith('.js')) return undefined;
  const source = url.href.replace(/\.js(?=\?|$)/, '.ts');
  return existsSync(fileURLToPath(source)) ? { url: source, format: 'module', shortCircuit: true } : undefined;
}

function compile(file) {
  return transform(file, false).code;
}

function transform(file, sourcemap) {
  const options = { lang: 'ts', sourcemap, target: 'es2023', typescript: { onlyRemoveTypeImports: true } };
  const output = transformSync(file, readFileSync(file, 'utf8'), options);
  if (output.errors.length === 0) return output;
  throw new SyntaxError(`${file}: ${output.errors.map(({ message }) => message).join('; ')}`);
}

// Whoever reads a stack finds the text in the file. Few read one, so the map of a file is made for the first who does: a
// process that loads the whole of src starts in two thirds of the time.
const maps = new Map();

Error.prepareStackTrace = (error, sites) => [headOf(error), ...sites.map(placeOf)].join('\n    at ');

function headOf(error) {
  try {
    return Error.prototype.toString.call(error);
  } catch {
    return 'Error';
  }
}

function placeOf(site) {
  const url = site.getFileName();
  if (!isOurs(url) || !/\.ts(\?|$)/.test(url)) return String(site);
  try {
    const file = fileURLToPath(new URL(url));
    if (!maps.has(url)) maps.set(url, new SourceMap(JSON.parse(JSON.stringify(transform(file, true).map))));
    const [line, column] = [site.getLineNumber(), site.getColumnNumber()];
    const { originalLine = line - 1, originalColumn = column - 1 } = maps.get(url).findEntry(line - 1, column - 1);
    return String(site).replace(`${url}:${line}:${column}`, `${file}:${originalLine + 1}:${originalColumn + 1}`);
  } catch {
    return String(site);
  }
}
