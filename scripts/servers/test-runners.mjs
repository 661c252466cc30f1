// Runs application.mjs with node:test and with Jest.
import { spawnSync } from 'node:child_process';

const RUNNERS = {
  'node:test': ['--test', 'application.mjs'],
  Jest: ['--experimental-vm-modules', 'node_modules/jest/bin/jest.js', '--testMatch', '**/application.mjs'],
};

for (const [name, args] of Object.entries(RUNNERS)) {
  const { status, stdout, stderr } = spawnSync(process.execPath, args, { encoding: 'utf8' });
  if (status !== 0) throw new Error(`${name} failed:\n${stdout}${stderr}`);
}
console.log(`the service for tests runs in ${Object.keys(RUNNERS).join(' and ')}`);
