// What the scripts share that use the package as a stranger would: its tarball, empty projects, programs run to their end.
import { spawnSync } from 'node:child_process';
import { existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

export const ROOT = fileURLToPath(new URL('../..', import.meta.url));

/** An empty folder that goes when the process ends. */
export function temporaryFolder() {
  const folder = mkdtempSync(join(tmpdir(), 'fhirgraph-package-'));
  process.on('exit', () => rmSync(folder, { recursive: true, force: true }));
  return folder;
}

/** @returns the tarball's path, its files and its size */
export function pack(folder) {
  if (!existsSync(join(ROOT, 'dist', 'index.js'))) fail('dist is missing; run "npm run build" first');
  // --ignore-scripts: `prepare` has run, and would only regenerate the definitions.
  const [result] = JSON.parse(
    run('npm', ['pack', '--json', '--ignore-scripts', '--pack-destination', folder], { cwd: ROOT }),
  );
  return { ...result, tarball: join(folder, result.filename) };
}

/** A project without dependencies. */
export function createProject(folder) {
  writeFileSync(join(folder, 'package.json'), JSON.stringify({ private: true, type: 'module' }));
}

/** Scripts stay off, unless a package cannot do without: nothing that ours needs at run time may depend on one. */
export function install(folder, packages, { scripts = false } = {}) {
  const flags = ['--prefer-offline', '--no-audit', '--no-fund', '--loglevel=error'];
  run('npm', ['install', ...flags, ...(scripts ? [] : ['--ignore-scripts']), ...packages], { cwd: folder });
}

/** Installs what is not needed for the other checks. @returns false where it cannot be had here */
export function tryInstall(folder, packages) {
  const args = ['install', '--prefer-offline', '--ignore-scripts', '--no-audit', '--no-fund', '--loglevel=error'];
  return spawnSync('npm', [...args, ...packages], { cwd: folder, encoding: 'utf8' }).status === 0;
}

/** Runs a command to its end and returns what it printed; a failure ends this process with all of its output. */
export function run(command, args, { cwd, env = process.env }) {
  const result = spawnSync(command, args, { cwd, env, encoding: 'utf8', maxBuffer: 64 << 20 });
  if (result.status !== 0) {
    fail(`${command} ${args.join(' ')}\n${result.stdout ?? ''}${result.stderr ?? ''}${result.error ?? ''}`);
  }
  return result.stdout;
}

export function fail(message) {
  console.error(message);
  process.exit(1);
}
