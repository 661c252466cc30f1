import { ESLint, type Linter } from 'eslint';
import { readdir } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import tseslint from 'typescript-eslint';
import { expect, test } from 'vitest';

const root = fileURLToPath(new URL('../..', import.meta.url));
/** The project's own configuration, without the rules that would have the whole program typed first; these ask for no types. */
const eslint = new ESLint({ cwd: root, overrideConfig: tseslint.configs.disableTypeChecked as Linter.Config });

/** Rules that the text breaks if it stood in the place of a file that exists (typed rules know no others). */
async function brokenRules(file: string, text: string): Promise<string[]> {
  const [result] = await eslint.lintText(text, { filePath: `${root}/${file}` });
  return result!.messages.map(({ ruleId, message }) => ruleId ?? message);
}

test('no file may import from a higher layer', async () => {
  const text = `export { systemCaller } from '../../access/caller.js';\n`;
  expect(await brokenRules('src/search/index/fold.ts', text)).toEqual(['local/import-layers']);
  expect(await brokenRules('src/fhir/date.ts', `export { fold } from '../search/index/fold.js';\n`)).toEqual([
    'local/import-layers',
  ]);
});

test('a dynamic import of a higher layer is refused too', async () => {
  const text = `export const load = () => import('../../access/caller.js');\n`;
  expect(await brokenRules('src/search/index/fold.ts', text)).toEqual(['local/import-layers']);
});

test('a type may not be imported from a higher layer either, in both spellings', async () => {
  const statement = `import type { Caller } from '../../access/caller.js';\nexport type One = Caller;\n`;
  const specifier = `import { type Caller } from '../../access/caller.js';\nexport type One = Caller;\n`;
  expect(await brokenRules('src/search/index/fold.ts', statement)).toEqual(['local/import-layers']);
  expect(await brokenRules('src/search/index/fold.ts', specifier)).toEqual(['local/import-layers']);
});

test('a part of a folder may not import from a part above it', async () => {
  const upward = `import type { Caller } from '../caller.js';\nexport type One = Caller;\n`;
  expect(await brokenRules('src/access/policy/policy-criteria.ts', upward)).toEqual(['local/import-layers']);
  const downward = `import type { AccessRule } from '../rule.js';\nexport type One = AccessRule;\n`;
  expect(await brokenRules('src/access/policy/policy-criteria.ts', downward)).toEqual([]);
});

test('the parts of a store have an order of their own, and so have their parts', async () => {
  const value = (file: string): string => `export { one } from '${file}.js';\n`;
  expect(await brokenRules('src/stores/sqlite/rows/checksum.ts', value('../search/search'))).toEqual([
    'local/import-layers',
  ]);
  expect(await brokenRules('src/stores/sqlite/pages/walk.ts', value('../search/count'))).toEqual([
    'local/import-layers',
  ]);
  expect(await brokenRules('src/stores/sqlite/threads/pool.ts', value('../store'))).toEqual(['local/import-layers']);
  expect(await brokenRules('src/stores/sqlite/search/search.ts', value('../pages/walk'))).toEqual([]);
});

test('every folder of src is in the matrix', async () => {
  const folders = (await readdir(`${root}/src`, { withFileTypes: true })).filter((one) => one.isDirectory());
  const config = (await eslint.calculateConfigForFile(`${root}/src/fhir/date.ts`)) as Linter.Config;
  const [, { layers }] = config.rules!['local/import-layers'] as [unknown, { layers: object }];
  expect(Object.keys(layers).sort()).toEqual(folders.map(({ name }) => name).sort());
});

test('a value may be imported from a lower layer', async () => {
  const text = `export { parseDate } from '../../fhir/date.js';\n`;
  expect(await brokenRules('src/search/index/fold.ts', text)).toEqual([]);
});

test('no file imports the public entry files, not even a type', async () => {
  const text = `import type { FhirError } from '../../index.js';\nexport type One = FhirError;\n`;
  expect(await brokenRules('src/search/index/fold.ts', text)).toEqual(['local/import-layers']);
});

test('a store may import shared code of stores, and no other store', async () => {
  const text = (from: string): string => `export { one } from '../${from}/config.js';\n`;
  expect(await brokenRules('src/stores/memory/config.ts', text('sql'))).toEqual([]);
  expect(await brokenRules('src/stores/memory/config.ts', text('sqlite'))).toEqual(['local/import-layers']);
  expect(await brokenRules('src/stores/sql/texts.ts', text('sqlite'))).toEqual(['local/import-layers']);
});

test('a directory cannot be imported', async () => {
  expect(await brokenRules('src/search/index/fold.ts', `export * from '../../fhir';\n`)).toEqual([
    'local/import-layers',
  ]);
});

test('files may not import each other in a circle, including types', async () => {
  // compile-node.ts imports native.ts.
  const value = `export { compileNode } from './compile-node.js';\n`;
  const type = `import type { compileNode } from './compile-node.js';\nexport type One = typeof compileNode;\n`;
  expect(await brokenRules('src/fhirpath/native/native.ts', value)).toEqual(['local/import-layers']);
  expect(await brokenRules('src/fhirpath/native/native.ts', type)).toEqual(['local/import-layers']);
});

test('any, default exports and super-linear regular expressions are errors', async () => {
  expect(await brokenRules('src/fhir/date.ts', `export const value = 1 as any;\n`)).toEqual([
    '@typescript-eslint/no-explicit-any',
  ]);
  expect(await brokenRules('src/fhir/date.ts', `export default 1;\n`)).toEqual(['no-restricted-exports']);
  expect(await brokenRules('src/fhir/date.ts', `export const bad = /^(?:a+)+$/;\n`)).toEqual([
    'regexp/no-super-linear-backtracking',
  ]);
});
