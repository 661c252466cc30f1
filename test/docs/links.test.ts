import { existsSync, readFileSync } from 'node:fs';
import { dirname, join, relative } from 'node:path';
import { describe, expect, test } from 'vitest';
import { ROOT } from '../support/compile.js';
import { anchorsOf } from '../support/markdown.js';
import { markdownIn } from '../support/pages.js';

const documents = [
  'README.md',
  'CHANGELOG.md',
  ...['docs', 'examples', 'bench', 'test'].flatMap((folder) => markdownIn(folder)),
];
const pages = markdownIn('docs').filter((page) => page !== 'docs/README.md');

describe('every relative link leads to a file and to a heading in it', () => {
  test.each(documents)('%s', (document) => {
    expect(linksOf(document).filter((link) => !leadsSomewhere(document, link))).toEqual([]);
  });

  test('a wrong link would be found', () => {
    const links = ['docs/queries.md', 'docs/reference/queries.md#none', 'docs/reference/queries.md#follow-references'];
    expect(links.map((link) => leadsSomewhere('README.md', link))).toEqual([false, false, true]);
  });
});

test('the contents link every page of docs', () => {
  const linked = new Set(linksOf('docs/README.md').map((link) => join('docs', link.split('#')[0]!)));
  expect(pages.filter((page) => !linked.has(page))).toEqual([]);
});

test('pages are in the folders of the contents', () => {
  const folders = new Set(pages.map((page) => relative('docs', dirname(page))));
  expect([...folders].sort()).toEqual(['concepts', 'how-to', 'internals', 'reference', 'tutorial']);
});

function linksOf(document: string): string[] {
  const text = readFileSync(join(ROOT, document), 'utf8').replaceAll(/^```[^]*?^```$/gm, '');
  return [...text.matchAll(/\]\((?![a-z]+:)([^)\s]+)\)/g)].map((match) => match[1]!);
}

function leadsSomewhere(document: string, link: string): boolean {
  const [path, anchor] = link.split('#') as [string, string?];
  const target = path === '' ? join(ROOT, document) : join(ROOT, dirname(document), path);
  if (!existsSync(target)) return false;
  return anchor === undefined || anchorsOf(readFileSync(target, 'utf8')).includes(anchor);
}
