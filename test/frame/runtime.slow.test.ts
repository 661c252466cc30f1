import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';

const ROOT = fileURLToPath(new URL('../..', import.meta.url));
const manifest = JSON.parse(readFileSync(`${ROOT}/package.json`, 'utf8')) as {
  readonly engines: { readonly node: string };
  readonly scripts: Readonly<Record<string, string>>;
};

/** Runs a program of the project on a Node.js that claims to be another version. */
function runOn(version: string, ...command: string[]): { status: number | null; stdout: string; stderr: string } {
  const pretend = `Object.defineProperty(process, 'versions', { value: { ...process.versions, node: '${version}' } })`;
  const preload = `data:text/javascript,${encodeURIComponent(pretend)}`;
  return spawnSync(process.execPath, ['--import', preload, ...command], { cwd: ROOT, encoding: 'utf8' });
}

test('tests run on a supported Node.js, whichever version the machine has as node', () => {
  const [major, minor] = manifest.engines.node.replace('>=', '').split('.').map(Number) as [number, number];
  const [ownMajor, ownMinor] = process.versions.node.split('.').map(Number) as [number, number];
  expect(ownMajor > major || (ownMajor === major && ownMinor >= minor)).toBe(true);
});

test.each([
  ['the tests', '20.20.2', ['node_modules/vitest/vitest.mjs', 'list', '--filesOnly']],
  ['an example', '22.11.0', ['--import', './scripts/assert-node.mjs', '--import', 'tsx', 'examples/quickstart.ts']],
])('on a Node.js that is too old, %s end with one line', (_, version, command) => {
  expect(runOn(version, ...command)).toMatchObject({
    status: 1,
    stdout: '',
    stderr: `fhirgraph needs Node.js 22.12 or newer; this is ${version}. npm scripts and npx use the one that npm ci installs.\n`,
  });
});

test('every example checks the version of Node.js', () => {
  const examples = Object.values(manifest.scripts).filter((script) => script.includes('examples/'));
  expect(examples.length).toBeGreaterThan(5);
  for (const script of examples) expect(script).toMatch(/^tsx --import \.\/scripts\/assert-node\.mjs examples\//);
});

test.each(['22.12.0', '22.13.1', '23.0.0', '24.1.0-nightly'])('Node.js %s is accepted', (version) => {
  expect(runOn(version, 'scripts/assert-node.mjs')).toMatchObject({ status: 0, stdout: '', stderr: '' });
});
