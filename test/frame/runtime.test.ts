import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';

const manifest = JSON.parse(readFileSync(new URL('../../package.json', import.meta.url), 'utf8')) as {
  engines: { node: string };
};

test('tests run on a Node.js that the package supports, whatever the machine calls node', () => {
  const [major, minor] = manifest.engines.node.replace('>=', '').split('.').map(Number) as [number, number];
  const [ownMajor, ownMinor] = process.versions.node.split('.').map(Number) as [number, number];
  expect(ownMajor > major || (ownMajor === major && ownMinor >= minor)).toBe(true);
});
