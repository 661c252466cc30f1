// `node --import ./scripts/load-typescript.mjs file.ts` runs TypeScript of this repository without a build. The package's
// own name leads to its sources, and `graphql` to the version that GRAPHQL_MAJOR names. The whole of src takes Oxc a tenth
// of a second, so nothing is kept on disk.
import { existsSync, readFileSync } from 'node:fs';
import { registerHooks } from 'node:module';
import { fileURLToPath } from 'node:url';
import { transformSync } from 'rolldown/utils';

const ROOT = new URL('..', import.meta.url).href;
const graphql = process.env.GRAPHQL_MAJOR === '16' ? 'graphql-16' : 'graphql';

process.setSourceMapsEnabled(true);

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
  return url !== undefined && url.startsWith(ROOT) && !url.includes('/node_modules/');
}

/** TypeScript names the files that it would write. */
function sourceOf(url) {
  if (!url.pathname.endsWith('.js')) return undefined;
  const source = url.href.replace(/\.js(?=\?|$)/, '.ts');
  return existsSync(fileURLToPath(source)) ? { url: source, format: 'module', shortCircuit: true } : undefined;
}

function compile(file) {
  const { code, map, errors } = transformSync(file, readFileSync(file, 'utf8'), {
    lang: 'ts',
    sourcemap: true,
    target: 'es2023',
    typescript: { onlyRemoveTypeImports: true },
  });
  if (errors.length > 0) throw new SyntaxError(`${file}: ${errors.map(({ message }) => message).join('; ')}`);
  // Whoever reads a stack finds the text in the file.
  const text = JSON.stringify({ ...map, sources: [file], sourcesContent: undefined });
  return `${code}\n//# sourceMappingURL=data:application/json;base64,${Buffer.from(text).toString('base64')}`;
}
