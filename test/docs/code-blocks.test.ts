import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { compile, ROOT } from '../support/compile.js';
import { markdownIn } from '../support/pages.js';

interface CodeBlock {
  /** `README.md:12`, where the block begins. */
  readonly place: string;
  readonly text: string;
}

const documents = ['README.md', 'CHANGELOG.md', 'bench/README.md', ...markdownIn('docs'), ...markdownIn('examples')];
const blocks = documents.flatMap(codeBlocks);

test('the documents show code', () => {
  expect(blocks.map((block) => block.place)).toContainEqual(expect.stringMatching(/^README\.md:/));
});

test('every TypeScript block of the documents compiles against the public names', () => {
  expect(compileBlocks(blocks)).toEqual([]);
});

test('a block that does not compile would be found', () => {
  const wrong = `import { executeFhirGraphql } from 'fhirgraph';\nawait executeFhirGraphql(42, {});\n`;
  expect(compileBlocks([{ place: 'wrong.md:1', text: wrong }])).not.toEqual([]);
});

function codeBlocks(document: string): CodeBlock[] {
  const text = readFileSync(join(ROOT, document), 'utf8');
  return [...text.matchAll(/^```ts\n(.*?)^```/gms)].map((match) => ({
    place: `${document}:${text.slice(0, match.index).split('\n').length}`,
    text: match[1]!,
  }));
}

/** @returns one line per error, by the block's place and the line in it */
function compileBlocks(sources: readonly CodeBlock[]): string[] {
  const files = new Map(sources.map((block, index) => [`docs/block-${index}.ts`, block]));
  const texts = new Map([...files].map(([path, { text }]) => [path, text]));
  return compile(texts).map(({ file, line, message }) => `${files.get(file)!.place} + ${line}: ${message}`);
}
