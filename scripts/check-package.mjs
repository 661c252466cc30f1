// Packs the package, then uses the tarball as a stranger would: lints its manifest, installs it into an empty project,
// runs it and type-checks against it, with each supported major of graphql. Run `npm run build` first.
import { spawnSync } from 'node:child_process';
import { copyFileSync, existsSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

const ROOT = fileURLToPath(new URL('..', import.meta.url));
const BIN = join(ROOT, 'node_modules', '.bin');
/** Ceilings in kB; raise one only in the commit that needs it, and say why there. */
const MAX_PACKED = 1_000;
// Of this the schema for tools is 6 MB, which nothing reads at run time.
const MAX_UNPACKED = 9_000;
const GRAPHQL_MAJORS = ['17', '16'];
const RESOLUTIONS = [
  { module: 'nodenext', moduleResolution: 'nodenext' },
  { module: 'esnext', moduleResolution: 'bundler' },
];

const manifest = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8'));
const temporary = mkdtempSync(join(tmpdir(), 'fhirgraph-package-'));
try {
  const tarball = pack();
  lintManifest(tarball);
  createProject(tarball);
  for (const major of GRAPHQL_MAJORS) {
    install(`graphql@${major}`);
    runProgram('memory.mjs', `graphql ${major}`);
    checkTypes(major);
  }
  install(`better-sqlite3@${manifest.peerDependencies['better-sqlite3']}`);
  runProgram('sqlite.mjs', 'better-sqlite3');
  reportStart();
  console.log('The package is sound.');
} finally {
  rmSync(temporary, { recursive: true, force: true });
}

/** @returns the path of the tarball */
function pack() {
  if (!existsSync(join(ROOT, 'dist', 'index.js'))) fail('dist is missing; run "npm run build" first');
  // --ignore-scripts: `prepare` has run, and would only regenerate the definitions.
  const [result] = JSON.parse(
    run('npm', ['pack', '--json', '--ignore-scripts', '--pack-destination', temporary], { cwd: ROOT }),
  );
  const tarball = join(temporary, result.filename);
  const [packed, unpacked] = [statSync(tarball).size / 1000, result.unpackedSize / 1000];
  console.log(`${result.files.length} files, ${packed.toFixed(0)} kB packed, ${unpacked.toFixed(0)} kB unpacked`);
  if (packed > MAX_PACKED) fail(`packed size is over its ceiling of ${MAX_PACKED} kB`);
  if (unpacked > MAX_UNPACKED) fail(`unpacked size is over its ceiling of ${MAX_UNPACKED} kB`);
  const strays = result.files.map(({ path }) => path).filter((path) => !/^(dist\/|[^/]+$)/.test(path));
  if (strays.length > 0) fail(`files that do not belong into the package: ${strays.join(', ')}`);
  return tarball;
}

function lintManifest(tarball) {
  run(join(BIN, 'publint'), ['run', tarball, '--strict']);
  // schema.graphql is text for tools, not a module.
  run(join(BIN, 'attw'), [tarball, '--profile', 'esm-only', '--no-emoji', '--exclude-entrypoints', 'schema.graphql']);
  console.log('publint and attw have no complaint');
}

/** An empty project with the tarball and nothing of this repository but the compiler's declarations of Node.js. */
function createProject(tarball) {
  writeFileSync(join(temporary, 'package.json'), JSON.stringify({ private: true, type: 'module' }));
  for (const file of ['memory.mjs', 'sqlite.mjs', 'start.mjs', 'consumer.ts']) {
    copyFileSync(join(ROOT, 'scripts', 'package', file), join(temporary, file));
  }
  install(tarball, `@types/node@${manifest.devDependencies['@types/node']}`);
}

function install(...packages) {
  // Scripts stay off: nothing that the package needs at run time may depend on an install script.
  const flags = ['--prefer-offline', '--ignore-scripts', '--no-audit', '--no-fund', '--loglevel=error'];
  run('npm', ['install', ...flags, ...packages]);
}

function runProgram(file, what) {
  const output = run(process.execPath, [file]);
  console.log(`${file} with ${what}: ${output.trim()}`);
}

function checkTypes(major) {
  for (const resolution of RESOLUTIONS) {
    const compilerOptions = {
      ...resolution,
      target: 'es2023',
      strict: true,
      exactOptionalPropertyTypes: true,
      // The declarations of our own package are checked too, not only their use.
      skipLibCheck: false,
      types: ['node'],
      noEmit: true,
    };
    writeFileSync(join(temporary, 'tsconfig.json'), JSON.stringify({ compilerOptions, files: ['consumer.ts'] }));
    run(join(BIN, 'tsc'), ['-p', temporary]);
    console.log(`types hold with ${resolution.moduleResolution} resolution and graphql ${major}`);
  }
}

/** Prints how long a fresh process takes to its first answer. For information: a time is no reason to fail. */
function reportStart() {
  const bare = medianMilliseconds(['-e', '0']);
  const first = medianMilliseconds(['start.mjs']);
  console.log(`fresh process: ${first.toFixed(0)} ms to the first answer, ${bare.toFixed(0)} ms for node -e 0`);
}

function medianMilliseconds(args) {
  const times = Array.from({ length: 7 }, () => {
    const start = performance.now();
    run(process.execPath, args);
    return performance.now() - start;
  });
  return times.sort((a, b) => a - b)[3];
}

/** Runs a command to its end and returns what it printed; a failure ends this script with all of its output. */
function run(command, args, { cwd = temporary } = {}) {
  const result = spawnSync(command, args, { cwd, encoding: 'utf8', maxBuffer: 64 << 20 });
  if (result.status !== 0) {
    fail(`${command} ${args.join(' ')}\n${result.stdout ?? ''}${result.stderr ?? ''}${result.error ?? ''}`);
  }
  return result.stdout;
}

function fail(message) {
  console.error(`check-package: ${message}`);
  rmSync(temporary, { recursive: true, force: true });
  process.exit(1);
}
