import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { expect, test } from 'vitest';
import { ROOT } from '../support/compile.js';

/** Starts a child, with a child of its own, both of which would go on to say so. */
const PARENT = `
  import { spawnGroup } from './scripts/mutation/process-groups.mjs';
  const inner = "require('node:child_process').spawn('sh', ['-c', 'sleep 200; echo went on'], { stdio: 'inherit' })";
  const code = \`\${inner}.on('spawn', () => console.log('both run')); setTimeout(() => console.log('went on'), 200_000)\`;
  spawnGroup(process.execPath, ['-e', code], { stdio: ['ignore', 'inherit', 'inherit'] });`;

test.each([
  ['SIGTERM', 143],
  ['SIGINT', 130],
] as const)('%s ends a mutation run together with the processes that it started', async (signal, exitCode) => {
  const parent = spawn(process.execPath, ['--input-type=module', '-e', PARENT], {
    cwd: ROOT,
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  let output = '';
  parent.stdout.setEncoding('utf8').on('data', (text: string) => (output += text));
  await once(parent.stdout, 'data');
  // The output closes once the last process with it has ended.
  const ended = Promise.all([once(parent, 'exit'), once(parent.stdout, 'end')]);
  parent.kill(signal);
  const [[code]] = (await ended) as [[number], []];
  expect([code, output]).toEqual([exitCode, 'both run\n']);
});
