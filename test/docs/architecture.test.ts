import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { ROOT } from '../support/compile.js';
import { readPage } from '../support/pages.js';

const layers: string = join(ROOT, 'scripts/lint/layers.mjs');
const { LAYERS } = (await import(layers)) as { LAYERS: Record<string, readonly string[]> };
const entries = readdirSync(join(ROOT, 'src'), { withFileTypes: true });
const folders = entries.filter((entry) => entry.isDirectory()).map(({ name }) => name);
const files = entries.filter((entry) => entry.name.endsWith('.ts')).map(({ name }) => name);

test('the layers are the folders of src', () => {
  expect(Object.keys(LAYERS).sort()).toEqual(folders.sort());
});

test('the map of the code names every folder and every entry of src, and nothing else', () => {
  const rows = [...readPage('architecture').matchAll(/^\| (`[^|]+) \|/gm)].map((match) => match[1]!);
  const named = rows.flatMap((row) => [...row.matchAll(/`(?:src\/)?([^`]+)`/g)].map((match) => match[1]!));
  const tree = [...folders, ...files];
  expect(tree.filter((name) => !named.includes(name))).toEqual([]);
  expect(named.filter((name) => /^[\w-]+(\.ts)?$/.test(name) && !tree.includes(name))).toEqual([]);
});
