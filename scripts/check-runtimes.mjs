// Runs the packed package on every runtime that can be installed here: Node.js 22, 24 and 26, Bun and Deno. On each one
// the core, a service served over a socket, the same service as a bundle in an empty folder, and the kit over node:sqlite;
// on Node.js also better-sqlite3 and an encrypted build of it. Run `npm run build` first. What cannot be installed is
// reported and left out.
import './assert-node.mjs';
import { spawnSync } from 'node:child_process';
import { copyFileSync, mkdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { build } from 'esbuild';
import { createProject, install, pack, ROOT, run, temporaryFolder, tryInstall } from './package/temporary-project.mjs';

/** `addons`: whether better-sqlite3, a native addon for Node.js, is expected to load. */
const RUNTIMES = [
  ...['22', '24', '26'].map((major) => ({ name: 'Node.js', of: `node@${major}`, bin: 'node', args: [], addons: true })),
  { name: 'Bun', of: 'bun', bin: 'bun', args: ['run'], addons: false },
  { name: 'Deno', of: 'deno', bin: 'deno', args: ['run', '--allow-all'], addons: false },
];
/** What needs nothing but the package, graphql and MedplumClient. */
const PROGRAMS = ['memory.mjs', 'core.mjs', 'require.cjs', 'service.mjs', 'served.mjs', 'node-sqlite.mjs'];
const ADDONS = [
  { program: 'sqlite.mjs', of: 'better-sqlite3' },
  // Its version 13 brings its binaries along, as better-sqlite3 does.
  { program: 'encrypted.mjs', of: 'better-sqlite3-multiple-ciphers', range: '^13.0.0' },
];

const manifest = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8'));
const temporary = temporaryFolder();
const { tarball } = pack(temporary);
const project = join(temporary, 'project');
const bundled = join(temporary, 'bundled');
for (const folder of [project, bundled]) mkdirSync(folder);
createProject(project);
for (const file of [...PROGRAMS, ...ADDONS.map(({ program }) => program), 'run-kit.mjs']) {
  copyFileSync(join(ROOT, 'scripts', 'package', file), join(project, file));
}
install(project, [tarball, 'graphql@17', `@medplum/core@${manifest.devDependencies['@medplum/core']}`]);
const options = { bundle: true, platform: 'node', format: 'esm', external: ['better-sqlite3'], logLevel: 'error' };
await build({ ...options, entryPoints: [join(project, 'served.mjs')], outfile: join(bundled, 'served.mjs') });

const installed = RUNTIMES.flatMap((runtime) => installRuntime(runtime) ?? []);
for (const runtime of installed) {
  for (const file of PROGRAMS) runOn(runtime, file);
  runOn(runtime, 'served.mjs', bundled);
}
for (const { program, of, range = manifest.peerDependencies[of] } of ADDONS) {
  if (!tryInstall(project, [`${of}@${range}`])) {
    console.log(`${of} cannot be installed here: left out`);
    continue;
  }
  for (const runtime of installed) if (runtime.addons) runOn(runtime, program);
}
console.log(`The package runs on ${installed.map(({ title }) => title).join(', ')}.`);

/** @returns the runtime with the path of its program; undefined when it cannot be had here */
function installRuntime(runtime) {
  const folder = join(temporary, runtime.of);
  mkdirSync(folder);
  createProject(folder);
  // The runtimes are fetched or put in place by their own install scripts.
  const flags = ['--no-audit', '--no-fund', '--loglevel=error', '--dangerously-allow-all-scripts'];
  const { status } = spawnSync('npm', ['install', ...flags, runtime.of], { cwd: folder, encoding: 'utf8' });
  const path = join(folder, 'node_modules', '.bin', runtime.bin);
  const version = status === 0 ? spawnSync(path, ['--version'], { encoding: 'utf8' }) : { status };
  if (version.status !== 0) {
    console.log(`${runtime.of} cannot be installed here: left out`);
    return undefined;
  }
  const number = /\d+\.\d+\.\d+/.exec(version.stdout)?.[0] ?? '';
  return { ...runtime, path, title: `${runtime.name} ${number}` };
}

function runOn({ title, path, args }, file, folder = project) {
  const output = run(path, [...args, file], { cwd: folder });
  console.log(`${title}: ${folder === bundled ? 'bundled ' : ''}${file}: ${output.trim()}`);
}
