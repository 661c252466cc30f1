// Installs the tools of this folder, unless they are there already. Each check that needs one runs this first, so that
// `npm ci` stays small.
import { spawnSync } from 'node:child_process';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

const FOLDER = import.meta.dirname;
const MARK = join(FOLDER, 'node_modules', '.installed');
const lock = readFileSync(join(FOLDER, 'package-lock.json'), 'utf8');

if (!existsSync(MARK) || readFileSync(MARK, 'utf8') !== lock) {
  const { status } = spawnSync('npm', ['ci', '--ignore-scripts', '--no-audit', '--no-fund', '--loglevel=error'], {
    cwd: FOLDER,
    stdio: 'inherit',
  });
  if (status !== 0) process.exit(status ?? 1);
  writeFileSync(MARK, lock);
}
