// The pages of the site: the Markdown of the project, with links that lead to places on the site.
import { appendFileSync, cpSync, mkdirSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { dirname, join, relative } from 'node:path/posix';

/** Pages outside of docs, by the place that they get on the site. */
const OTHER_PAGES = {
  'README.md': 'index.md',
  'CHANGELOG.md': 'changelog.md',
  'CONTRIBUTING.md': 'contributing.md',
  'bench/README.md': 'internals/bench.md',
  'examples/README.md': 'how-to/examples.md',
  'test/upgrades/README.md': 'internals/upgrade-fixtures.md',
  'test/mutation/README.md': 'internals/mutation-tests.md',
};

/**
 * Writes the source of the site.
 *
 * @param root the project's folder
 * @param target the folder to write; what it holds is removed
 * @param generated texts of further pages by their places
 */
export function writePages(root, target, generated) {
  rmSync(target, { recursive: true, force: true });
  const places = new Map(Object.entries(OTHER_PAGES));
  for (const name of readdirSync(join(root, 'docs'), { recursive: true })) {
    if (name.endsWith('.md')) places.set(`docs/${name}`, name === 'README.md' ? 'contents.md' : name);
  }
  for (const [source, place] of places) {
    const text = readFileSync(join(root, source), 'utf8');
    write(join(target, place), withLinks(text, source, place, { root, target, places }));
  }
  write(join(target, 'playground.md'), PLAYGROUND);
  for (const [place, text] of Object.entries(generated)) write(join(target, place), text);
  const links = Object.entries(generated).map(([place, text]) => `- [${/^# (.*)/.exec(text)[1]}](./${place})\n`);
  appendFileSync(join(target, 'contents.md'), `\n## Generated\n\n${links.join('')}`);
  cpSync(join(root, 'docs/images'), join(target, 'images'), { recursive: true });
}

const PLAYGROUND = `---
layout: page
title: Playground
---

<Playground />
`;

/** Links between pages stay links; a link to a file of the project leads to a copy of its text. */
function withLinks(text, source, place, { root, target, places }) {
  return text.replaceAll(/\]\((?![a-z]+:|#)([^)#\s]+)(#[^)\s]*)?\)/g, (_, path, anchor = '') => {
    const file = join(dirname(source), path);
    const page = places.get(file) ?? places.get(join(file, 'README.md'));
    if (page !== undefined) return `](${relativeTo(place, page)}${anchor})`;
    if (file.startsWith('docs/images/')) return `](${relativeTo(place, file.slice('docs/'.length))})`;
    if (!statSync(join(root, file)).isFile()) return `](/contents)`;
    const copy = `source/${file}.txt`;
    write(join(target, 'public', copy), readFileSync(join(root, file), 'utf8'));
    return `](/${copy}){target="_self"}`;
  });
}

function relativeTo(from, to) {
  const path = relative(dirname(from), to);
  return path.startsWith('.') ? path : `./${path}`;
}

function write(path, text) {
  mkdirSync(dirname(path), { recursive: true });
  writeFileSync(path, text);
}
