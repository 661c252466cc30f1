// Packs the package, then uses the tarball as a stranger would: lints its manifest, installs it into an empty project,
// runs it and type-checks against it, with each supported major of graphql. Run `npm run build` first.
import './assert-node.mjs';
import { copyFileSync, cpSync, mkdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
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

const BIN = join(ROOT, 'node_modules', '.bin');
const TOOLS = join(ROOT, 'tools', 'node_modules', '.bin');
/** Ceilings in kB; raise one only in the commit that needs it, and say why there. */
const MAX_PACKED = 1_200;
// The definitions are 1 MB, the schema 0.6 MB, documents and examples half a MB.
const MAX_UNPACKED = 4_500;
const GRAPHQL_MAJORS = ['17', '16'];
const RESOLUTIONS = [
  { module: 'nodenext', moduleResolution: 'nodenext' },
  { module: 'esnext', moduleResolution: 'bundler' },
];

const manifest = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8'));
const NODE_TYPES = `@types/node@${manifest.devDependencies['@types/node']}`;
const temporary = temporaryFolder();
const tarball = checkTarball();
lintManifest();
createProject(temporary);
// Nothing of this repository but the compiler's declarations of Node.js.
const PROGRAMS = ['memory.mjs', 'core.mjs', 'require.cjs', 'service.mjs'];
for (const file of [...PROGRAMS, 'run-kit.mjs', 'sqlite.mjs', 'start.mjs', 'consumer.ts']) {
  copyFileSync(join(ROOT, 'scripts', 'package', file), join(temporary, file));
}
install(temporary, [tarball, NODE_TYPES]);
for (const major of GRAPHQL_MAJORS) {
  install(temporary, [`graphql@${major}`]);
  for (const file of PROGRAMS) runProgram(file, `graphql ${major}`);
  checkTypes(major);
}
install(temporary, [`better-sqlite3@${manifest.peerDependencies['better-sqlite3']}`]);
runProgram('sqlite.mjs', 'better-sqlite3');
checkDeclarations();
runExamples();
reportStart();
console.log('The package is sound.');

/** @returns the path of the tarball */
function checkTarball() {
  const { tarball: path, files, unpackedSize } = pack(temporary);
  const [packed, unpacked] = [statSync(path).size / 1000, unpackedSize / 1000];
  console.log(`${files.length} files, ${packed.toFixed(0)} kB packed, ${unpacked.toFixed(0)} kB unpacked`);
  if (packed > MAX_PACKED) fail(`packed size is over its ceiling of ${MAX_PACKED} kB`);
  if (unpacked > MAX_UNPACKED) fail(`unpacked size is over its ceiling of ${MAX_UNPACKED} kB`);
  const strays = files.map(({ path: file }) => file).filter((file) => !/^(dist\/|docs\/|examples\/|[^/]+$)/.test(file));
  if (strays.length > 0) fail(`files that do not belong into the package: ${strays.join(', ')}`);
  const scripts = ['preinstall', 'install', 'postinstall'].filter((name) => name in (manifest.scripts ?? {}));
  if (scripts.length > 0) fail(`the package runs ${scripts.join(', ')} where it is installed`);
  if (manifest.sideEffects !== false) fail('package.json does not say that the package has no side effects');
  return path;
}

function lintManifest() {
  run(join(TOOLS, 'publint'), ['run', tarball, '--strict'], { cwd: temporary });
  // schema.graphql is text for tools, not a module.
  run(
    join(TOOLS, 'attw'),
    [tarball, '--profile', 'esm-only', '--no-emoji', '--exclude-entrypoints', 'schema.graphql'],
    {
      cwd: temporary,
    },
  );
  console.log('publint and attw have no complaint');
}

function runProgram(file, what) {
  const output = run(process.execPath, [file], { cwd: temporary });
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
    run(join(BIN, 'tsc'), ['-p', temporary], { cwd: temporary });
    console.log(`types hold with ${resolution.moduleResolution} resolution and graphql ${major}`);
  }
}

/** Emits declarations where dependencies of dependencies are out of sight: by pnpm, or as pnpm lays packages out. */
function checkDeclarations() {
  const project = join(temporary, 'linked');
  mkdirSync(project);
  createProject(project);
  const packages = [tarball, 'graphql@17', NODE_TYPES];
  const isPnpm = tryInstall(temporary, ['pnpm@12']);
  if (isPnpm)
    run(join(temporary, 'node_modules', '.bin', 'pnpm'), ['add', '--ignore-scripts', ...packages], { cwd: project });
  else install(project, ['--install-strategy=linked', ...packages]);
  const compilerOptions = { module: 'nodenext', target: 'es2023', strict: true, declaration: true, outDir: 'out' };
  copyFileSync(join(ROOT, 'scripts', 'package', 'declarations.ts'), join(project, 'declarations.ts'));
  writeFileSync(
    join(project, 'tsconfig.json'),
    JSON.stringify({ compilerOptions: { ...compilerOptions, types: ['node'] }, files: ['declarations.ts'] }),
  );
  run(join(BIN, 'tsc'), ['-p', project], { cwd: project });
  console.log(`declarations can be emitted after an install by ${isPnpm ? 'pnpm' : 'npm, linked'}`);
}

/** The examples of the package run from a copy, as a reader would try them. */
function runExamples() {
  cpSync(join(temporary, 'node_modules', 'fhirgraph', 'examples'), join(temporary, 'examples'), { recursive: true });
  install(temporary, [`tsx@${manifest.devDependencies.tsx}`]);
  for (const example of ['clinic.ts', 'quickstart.ts']) {
    run(process.execPath, ['--import', 'tsx', join('examples', example)], { cwd: temporary });
    console.log(`examples/${example} runs`);
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
    run(process.execPath, args, { cwd: temporary });
    return performance.now() - start;
  });
  return times.sort((a, b) => a - b)[3];
}
