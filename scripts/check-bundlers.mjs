// Bundles a service from the packed package with the bundlers that people use, runs each result in an empty folder, and
// tries the package from Jest in CommonJS mode, from CommonJS written in TypeScript and in routes of Next.js. Run `npm run
// build` first. What cannot be installed is reported and left out.
import './assert-node.mjs';
import { copyFileSync, cpSync, existsSync, mkdirSync, readdirSync, statSync, writeFileSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import {
  createProject,
  fail,
  install,
  pack,
  ROOT,
  run,
  temporaryFolder,
  tryInstall,
} from './package/temporary-project.mjs';

/** Ceiling of a bundle, in kB; definitions and FHIRPath are most of it. */
const MAX_BUNDLE = 5_700;

const CONFIGS = {
  'tsup.config.mjs': `export default {
    entry: ['service.mjs'], format: ['esm', 'cjs'], platform: 'node', target: 'node22', outDir: 'out-tsup',
    noExternal: [/^(?!better-sqlite3)/], splitting: false,
  };`,
  'vite.config.mjs': `export default {
    logLevel: 'error',
    ssr: { noExternal: true, target: 'node' },
    build: { ssr: 'service.mjs', outDir: 'out-vite', target: 'node22', minify: false,
      rollupOptions: { external: ['better-sqlite3'], output: { entryFileNames: 'service.mjs', inlineDynamicImports: true } } },
  };`,
  'webpack.config.cjs': `module.exports = {
    mode: 'production', target: 'node22', entry: './service.mjs', externals: { 'better-sqlite3': 'commonjs better-sqlite3' },
    output: { path: __dirname + '/out-webpack', filename: 'service.cjs', chunkFilename: '[id].cjs' }, performance: false, stats: 'errors-only',
    optimization: { minimize: false },
  };`,
};

const BUNDLERS = [
  {
    packages: ['tsup@8', 'typescript@5'],
    results: ['out-tsup/service.js', 'out-tsup/service.cjs'],
    command: ['tsup', '--silent'],
  },
  { packages: ['vite@7'], results: ['out-vite/service.mjs'], command: ['vite', 'build'] },
  {
    packages: ['webpack@5', 'webpack-cli@6'],
    results: ['out-webpack/service.cjs'],
    command: ['webpack', '--config', 'webpack.config.cjs'],
  },
];

const temporary = temporaryFolder();
const { tarball } = pack(temporary);
const sources = join(ROOT, 'scripts', 'bundlers');

for (const { packages, results, command } of BUNDLERS) {
  const project = projectFor(packages[0]);
  if (!tryInstall(project, packages)) {
    console.log(`${packages.join(' and ')} cannot be installed here: left out`);
    continue;
  }
  copyFileSync(join(sources, 'service.mjs'), join(project, 'service.mjs'));
  for (const [name, text] of Object.entries(CONFIGS)) writeFileSync(join(project, name), text);
  const [bin, ...args] = command;
  run(join(project, 'node_modules', '.bin', bin), args, { cwd: project });
  for (const result of results) runAlone(packages[0], join(project, result));
}
tryJest();
tryTypeScript();
tryNext();

/** Runs one file in a folder that holds nothing but what the bundler wrote. */
function runAlone(name, file) {
  const folder = join(temporary, `run-${name}-${file.split('.').pop()}`);
  cpSync(dirname(file), folder, { recursive: true });
  // Without a package.json the ending says what a file is.
  const target = join(folder, file.endsWith('.cjs') ? 'service.cjs' : 'service.mjs');
  if (!existsSync(target)) copyFileSync(join(folder, basename(file)), target);
  const size = readdirSync(folder)
    .filter((one) => one.split('.').pop() === file.split('.').pop())
    .reduce((sum, one) => sum + statSync(join(folder, one)).size / 1000, 0);
  if (size > MAX_BUNDLE) fail(`${name}: a bundle of ${size.toFixed(0)} kB is over its ceiling of ${MAX_BUNDLE} kB`);
  const output = run(process.execPath, [target], { cwd: folder });
  console.log(`${name}: ${file.split('/').pop()}, ${size.toFixed(0)} kB: ${output.trim()}`);
}

/** As docs/how-to/bundling.md says. */
function tryJest() {
  const project = projectFor('jest', 'commonjs');
  if (!tryInstall(project, ['jest@30', '@babel/core@7', '@babel/preset-env@7', 'babel-jest@30'])) {
    console.log('jest cannot be installed here: left out');
    return;
  }
  copyFileSync(join(sources, 'service.test.cjs'), join(project, 'service.test.js'));
  writeFileSync(
    join(project, 'jest.config.js'),
    `module.exports = {
      transform: { '\\\\.m?js$': ['babel-jest', { presets: [['@babel/preset-env', { targets: { node: 'current' } }]] }] },
      transformIgnorePatterns: ['/node_modules/(?!(fhirgraph|re2js)/)'],
      // The first test waits until Babel has transformed the package, which takes long on a busy machine.
      testTimeout: 120_000,
    };`,
  );
  run(process.execPath, [join(project, 'node_modules', 'jest', 'bin', 'jest.js'), '--silent'], { cwd: project });
  console.log('Jest in CommonJS mode: answers');
}

function tryTypeScript() {
  const project = projectFor('typescript', 'commonjs');
  if (!tryInstall(project, ['typescript@5.9', '@types/node@24'])) {
    console.log('typescript cannot be installed here: left out');
    return;
  }
  copyFileSync(join(sources, 'require.cts'), join(project, 'service.cts'));
  const options = ['--module', 'nodenext', '--target', 'es2023', '--strict', '--skipLibCheck', '--types', 'node'];
  run(join(project, 'node_modules', '.bin', 'tsc'), [...options, 'service.cts'], { cwd: project });
  console.log(`require with TypeScript: ${run(process.execPath, ['service.cjs'], { cwd: project }).trim()}`);
}

/** Builds an application of Next.js, which also checks the types of its routes, and asks it over loopback. */
function tryNext() {
  const project = projectFor('next');
  const packages = ['next@16', 'react@19', 'react-dom@19', 'typescript@5.9', '@types/node@24', '@types/react@19'];
  if (!tryInstall(project, packages)) {
    console.log('next cannot be installed here: left out');
    return;
  }
  cpSync(join(sources, 'next'), project, { recursive: true });
  const env = { ...process.env, NEXT_TELEMETRY_DISABLED: '1' };
  const next = [join(project, 'node_modules', 'next', 'dist', 'bin', 'next')];
  run(process.execPath, [...next, 'build'], { cwd: project, env });
  console.log(`Next.js: ${run(process.execPath, ['ask.mjs', ...next], { cwd: project, env }).trim()}`);
}

/** A project with the package and graphql. */
function projectFor(name, type = 'module') {
  const project = join(temporary, name);
  mkdirSync(project);
  createProject(project);
  if (type === 'commonjs') writeFileSync(join(project, 'package.json'), JSON.stringify({ private: true, type }));
  install(project, [tarball, 'graphql@17']);
  return project;
}
