import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { ROOT, toCompile } from '../support/compile.js';
import { markdownIn } from '../support/pages.js';

interface CodeBlock {
  /** The location of the block: `README.md:12`. */
  readonly place: string;
  readonly text: string;
}

const documents = ['README.md', 'CHANGELOG.md', 'bench/README.md', ...markdownIn('docs'), ...markdownIn('examples')];
const blocks = documents.flatMap(codeBlocks);
const wrong = {
  place: 'wrong.md:1',
  text: `import { executeFhirGraphql } from 'fhirgraph';\nawait executeFhirGraphql(42, {});\n`,
};
const errors = compileBlocks([...blocks, wrong]);

test('the documents show code', () => {
  expect(blocks.map((block) => block.place)).toContainEqual(expect.stringMatching(/^README\.md:/));
});

test('every TypeScript block of the documents compiles against the public names', () => {
  expect(errors().filter(([place]) => place !== wrong.place)).toEqual([]);
});

test('a block that does not compile would be found', () => {
  expect(errors()).toContainEqual([wrong.place, expect.stringMatching(/^\+ 2: /)]);
});

function codeBlocks(document: string): CodeBlock[] {
  const text = readFileSync(join(ROOT, document), 'utf8');
  return [...text.matchAll(/^```ts\n(.*?)^```/gms)].map((match) => ({
    place: `${document}:${text.slice(0, match.index).split('\n').length}`,
    text: match[1]!,
  }));
}

/** @returns a function that finds the errors: the location of the block, and the line in it with the message */
function compileBlocks(sources: readonly CodeBlock[]): () => [place: string, error: string][] {
  const files = new Map(sources.map((block, index) => [`docs/block-${index}.ts`, block]));
  const texts = new Map([...files].map(([path, { text }]) => [path, text]));
  const errors = toCompile(texts);
  return () => errors().map(({ file, line, message }) => [files.get(file)!.place, `+ ${line}: ${message}`]);
}
