import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { dirname, join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import ts from 'typescript';
import { describe, expect, test } from 'vitest';

const root = fileURLToPath(new URL('../..', import.meta.url));

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
  expect(compile(blocks)).toEqual([]);
}, 60_000);

test('a block that does not compile would be found', () => {
  const wrong = `import { executeFhirGraphql } from 'fhirgraph';\nawait executeFhirGraphql(42, {});\n`;
  expect(compile([{ place: 'wrong.md:1', text: wrong }])).not.toEqual([]);
}, 60_000);

describe('every relative link leads to a file', () => {
  test.each(documents)('%s', (document) => {
    const text = readFileSync(join(root, document), 'utf8');
    const targets = [...text.matchAll(/\]\((?!https?:|#)([^)#\s]+)/g)].map((match) => match[1]!);
    expect(targets.filter((target) => !existsSync(join(root, dirname(document), target)))).toEqual([]);
  });
});

function markdownIn(folder: string): string[] {
  if (!existsSync(join(root, folder))) return [];
  return readdirSync(join(root, folder), { recursive: true, encoding: 'utf8' })
    .filter((name) => name.endsWith('.md'))
    .map((name) => `${folder}/${name}`);
}

function codeBlocks(document: string): CodeBlock[] {
  const text = readFileSync(join(root, document), 'utf8');
  return [...text.matchAll(/^```ts\n(.*?)^```/gms)].map((match) => ({
    place: `${document}:${text.slice(0, match.index).split('\n').length}`,
    text: match[1]!,
  }));
}

/** Compiles the blocks as modules of this project, by its own configuration. @returns one line per error */
function compile(sources: readonly CodeBlock[]): string[] {
  const { config } = ts.readConfigFile(join(root, 'tsconfig.json'), (path) => ts.sys.readFile(path));
  const { options } = ts.parseJsonConfigFileContent(config, ts.sys, root);
  // Blocks may declare what they do not go on to use.
  const compilerOptions = {
    ...options,
    noUnusedLocals: false,
    noUnusedParameters: false,
    moduleDetection: ts.ModuleDetectionKind.Force,
  };
  const files = new Map(sources.map((block, index) => [join(root, 'docs', `block-${index}.ts`), block]));

  const host = ts.createCompilerHost(compilerOptions);
  const { fileExists, getSourceFile } = host;
  host.fileExists = (path) => files.has(path) || fileExists.call(host, path);
  host.getSourceFile = (path, version, ...rest) => {
    const block = files.get(path);
    return block === undefined
      ? getSourceFile.call(host, path, version, ...rest)
      : ts.createSourceFile(path, block.text, version, true);
  };

  const program = ts.createProgram([...files.keys()], compilerOptions, host);
  return [...files.keys()].flatMap((path) => {
    const source = program.getSourceFile(path)!;
    const found = [...program.getSyntacticDiagnostics(source), ...program.getSemanticDiagnostics(source)];
    return found.map((diagnostic) => {
      const message = ts.flattenDiagnosticMessageText(diagnostic.messageText, '\n');
      const line = source.getLineAndCharacterOfPosition(diagnostic.start ?? 0).line + 1;
      return `${files.get(path)?.place ?? relative(root, path)} + ${line}: ${message}`;
    });
  });
}
