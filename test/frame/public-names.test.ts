import { readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import ts from 'typescript';
import { expect, test } from 'vitest';

const root = fileURLToPath(new URL('../..', import.meta.url));
const { exports } = JSON.parse(readFileSync(`${root}/package.json`, 'utf8')) as { exports: Record<string, unknown> };
const entries = Object.entries(exports).flatMap(([path, target]) =>
  typeof target === 'object' ? [path === '.' ? 'index' : path.slice(2)] : [],
);

/** The names that an entry exports, one per line, values before types. */
function publicNames(entry: string): string {
  const file = `${root}/src/${entry}.ts`;
  const { statements } = ts.createSourceFile(file, readFileSync(file, 'utf8'), ts.ScriptTarget.Latest);
  const names = statements.flatMap((statement) => {
    if (!ts.isExportDeclaration(statement)) {
      throw new Error(`${entry}.ts only gathers names: export { … } from '…'`);
    }
    // FHIR's types, which another package names.
    const from = (statement.moduleSpecifier as ts.StringLiteral).text;
    if (statement.exportClause === undefined && statement.isTypeOnly && !from.startsWith('.'))
      return [`type * of ${from}`];
    if (statement.exportClause === undefined) throw new Error(`${entry}.ts names what it exports`);
    if (!ts.isNamedExports(statement.exportClause)) throw new Error(`${entry}.ts names what it exports`);
    return statement.exportClause.elements.map(
      ({ name, isTypeOnly }) => `${statement.isTypeOnly || isTypeOnly ? 'type' : 'value'} ${name.text}`,
    );
  });
  const order = (name: string): string => name.replace(/^value/, '0');
  return `${names.sort((one, two) => (order(one) < order(two) ? -1 : 1)).join('\n')}\n`;
}

// A name that appears, disappears or changes its kind is a change for somebody: record it with `vitest -u`, and tell
// the readers of CHANGELOG.md.
test.each(entries)('the public names of entry %s are the recorded names', async (entry) => {
  await expect(publicNames(entry)).toMatchFileSnapshot(`public-names/${entry}.txt`);
});

test('each public name has a comment', () => {
  const without = entries.flatMap((entry) =>
    publicNames(entry)
      .trim()
      .split('\n')
      .filter((line) => !line.startsWith('type *'))
      .map((line) => line.split(' ')[1]!)
      .filter((name) => summaryOf(name, `${root}/src/${entry}.ts`) === undefined),
  );
  expect(without).toEqual([]);
});

/** The first sentence of a declaration's comment, in the file or in the file of the original declaration. */
function summaryOf(name: string, file: string): string | undefined {
  const text = readFileSync(file, 'utf8');
  const declaration = new RegExp(
    `/\\*\\*((?:[^*]|\\*(?!/))*)\\*/\\n(?:export )?(?:declare )?(?:abstract )?(?:async )?(?:function\\*?|class|const|interface|type) ${name}\\b`,
  ).exec(text);
  if (declaration !== null) return firstSentence(declaration[1]!);
  for (const [, names, from] of text.matchAll(/export (?:type )?\{([^}]*)\} from '(\.[^']*)\.js'/g)) {
    const original = names!.split(',').map((one) => /^\s*(?:type )?(\w+)(?: as (\w+))?\s*$/.exec(one));
    const found = original.find((one) => (one?.[2] ?? one?.[1]) === name);
    if (found) return summaryOf(found[1]!, join(dirname(file), `${from}.ts`));
  }
  return undefined;
}

function firstSentence(comment: string): string {
  const lines = comment.split('\n').map((line) => line.replace(/^\s*\* ?/, '').trim());
  const end = lines.findIndex(
    (line, index) => (index > 0 && line === '') || line.startsWith('@') || line.startsWith('|'),
  );
  const paragraph = (end === -1 ? lines : lines.slice(0, end)).join(' ').trim();
  const sentence = /^.*?[^.][.](?= |$)/.exec(paragraph)?.[0] ?? paragraph;
  return sentence
    .replaceAll(/\{@link ([\w.]+)\}/g, '`$1`')
    .replaceAll('|', '\\|')
    .replaceAll(/</g, '&lt;');
}

// Hosts pass a store and extend R4, and their routes read JSON with exact decimals; authors of stores need the same.
test('each name has one home, with four exceptions', () => {
  const all = entries.flatMap((entry) =>
    publicNames(entry)
      .trim()
      .split('\n')
      .filter((line) => !line.startsWith('type *')),
  );
  expect(all.filter((name, index) => all.indexOf(name) !== index)).toEqual([
    'value R4',
    'value parseJson',
    'value stringifyJson',
    'type ResourceStore',
  ]);
});
