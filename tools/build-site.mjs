// Builds the static site of the documents into `site`: `npm run docs:site`. FHIRGRAPH_SITE_BASE is its path, default /.
import '../scripts/assert-node.mjs';
import '../scripts/load-typescript.mjs';
import { build as bundle } from 'esbuild';
import { execFileSync } from 'node:child_process';
import { cpSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { Application } from 'typedoc';
import { examplesOf } from './site/examples.mjs';
import { writePages } from './site/pages.mjs';

const ROOT = fileURLToPath(new URL('..', import.meta.url));
// Here, so that the site's theme finds VitePress.
const SOURCE = join(ROOT, 'tools/.site');
const OUTPUT = join(ROOT, 'site');
/** Pages whose queries run in place: those of GraphQL with data of their own. */
const RUNNABLE = ['reference/queries', 'how-to/mutations'];

const { searchParametersPage } = await import('./site/search-parameters.js');
writePages(ROOT, SOURCE, { 'reference/search-parameters.md': searchParametersPage() });
writeExamples();
await writeEngine();
cpSync(join(ROOT, 'tools/site/vitepress'), join(SOURCE, '.vitepress'), { recursive: true });
rmSync(OUTPUT, { recursive: true, force: true });
execFileSync(
  process.execPath,
  [join(ROOT, 'tools/node_modules/vitepress/bin/vitepress.js'), 'build', SOURCE, '--outDir', OUTPUT],
  {
    stdio: 'inherit',
  },
);
await writeApiReference();
console.log(`The site is in ${OUTPUT}`);

/** What `RunQuery` loads with the first click on a page. */
function writeExamples() {
  for (const page of RUNNABLE) {
    const path = join(SOURCE, 'public/examples', `${page}.json`);
    mkdirSync(dirname(path), { recursive: true });
    writeFileSync(path, JSON.stringify(examplesOf(readFileSync(join(SOURCE, `${page}.md`), 'utf8'))));
  }
}

function writeEngine() {
  return bundle({
    entryPoints: [join(ROOT, 'tools/site/engine.ts')],
    outfile: join(SOURCE, 'public/engine.js'),
    bundle: true,
    minify: true,
    format: 'esm',
    platform: 'browser',
    alias: { fhirgraph: join(ROOT, 'src/index.ts') },
  });
}

async function writeApiReference() {
  const app = await Application.bootstrapWithPlugins({ out: join(OUTPUT, 'api'), readme: 'none' });
  const project = await app.convert();
  if (project === undefined) throw new Error('TypeDoc could not read the sources');
  await app.generateOutputs(project);
}
