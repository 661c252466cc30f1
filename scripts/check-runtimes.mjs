// Runs the packed package on every runtime that can be installed here: Node.js 22, 24 and 26 with all of it, Bun and Deno
// with the core and a service of `createFhirHandler`. Run `npm run build` first. What cannot be installed is told and left out.
import './assert-node.mjs';
import { spawnSync } from 'node:child_process';
import { copyFileSync, mkdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { createProject, install, pack, ROOT, run, temporaryFolder } from './package/temporary-project.mjs';

/** `sqlite`: whether better-sqlite3, a native addon for Node.js, is expected to load. */
const RUNTIMES = [
  ...['22', '24', '26'].map((major) => ({ name: 'Node.js', of: `node@${major}`, bin: 'node', args: [], sqlite: true })),
  { name: 'Bun', of: 'bun', bin: 'bun', args: ['run'], sqlite: false },
  { name: 'Deno', of: 'deno', bin: 'deno', args: ['run', '--allow-all'], sqlite: false },
];
/** What needs nothing but the package and graphql. */
const CORE = ['memory.mjs', 'core.mjs', 'require.cjs', 'service.mjs'];
const PROGRAMS = [...CORE, 'sqlite.mjs'];

const manifest = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8'));
const temporary = temporaryFolder();
const { tarball } = pack(temporary);
const project = join(temporary, 'project');
mkdirSync(project);
createProject(project);
for (const file of PROGRAMS) copyFileSync(join(ROOT, 'scripts', 'package', file), join(project, file));
install(project, [tarball, 'graphql@17']);

const installed = RUNTIMES.flatMap((runtime) => installRuntime(runtime) ?? []);
for (const runtime of installed) {
  for (const file of CORE) runOn(runtime, file);
}
install(project, [`better-sqlite3@${manifest.peerDependencies['better-sqlite3']}`]);
for (const runtime of installed) {
  if (runtime.sqlite) runOn(runtime, 'sqlite.mjs');
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

function runOn({ title, path, args }, file) {
  const output = run(path, [...args, file], { cwd: project });
  console.log(`${title}: ${file}: ${output.trim()}`);
}
