import { ESLint, type Linter } from 'eslint';
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

test('a value may not be imported from a higher layer', async () => {
  const text = `export { systemCaller } from '../access/caller.js';\n`;
  expect(await brokenRules('src/search/fold.ts', text)).toEqual(['local/import-layers']);
  expect(await brokenRules('src/fhir/date.ts', `export { fold } from '../search/fold.js';\n`)).toEqual([
    'local/import-layers',
  ]);
});

test('a dynamic import of a higher layer is no way around', async () => {
  const text = `export const load = () => import('../access/caller.js');\n`;
  expect(await brokenRules('src/search/fold.ts', text)).toEqual(['local/import-layers']);
});

test('a type may be imported from a higher layer, in both spellings', async () => {
  const statement = `import type { Caller } from '../access/caller.js';\nexport type One = Caller;\n`;
  const specifier = `import { type Caller } from '../access/caller.js';\nexport type One = Caller;\n`;
  expect(await brokenRules('src/search/fold.ts', statement)).toEqual([]);
  expect(await brokenRules('src/search/fold.ts', specifier)).toEqual([]);
});

test('a value may be imported from a lower layer', async () => {
  const text = `export { parseDate } from '../fhir/date.js';\n`;
  expect(await brokenRules('src/search/fold.ts', text)).toEqual([]);
});

test('nobody imports the public entry files, not even a type', async () => {
  const text = `import type { FhirError } from '../index.js';\nexport type One = FhirError;\n`;
  expect(await brokenRules('src/search/fold.ts', text)).toEqual(['local/import-layers']);
});

test('a store may import what stores share, and no other store', async () => {
  const text = (from: string): string => `export { one } from '../${from}/config.js';\n`;
  expect(await brokenRules('src/stores/memory/config.ts', text('sql'))).toEqual([]);
  expect(await brokenRules('src/stores/memory/config.ts', text('sqlite'))).toEqual(['local/import-layers']);
  expect(await brokenRules('src/stores/sql/texts.ts', text('sqlite'))).toEqual(['local/import-layers']);
});

test('a directory cannot be imported', async () => {
  expect(await brokenRules('src/search/fold.ts', `export * from '../fhir';\n`)).toEqual(['local/import-layers']);
});

test('files may not import each other in a circle', async () => {
  // reference.ts imports a value of resource.ts.
  const text = `export { idOf as isResourceId } from './reference.js';\n`;
  expect(await brokenRules('src/fhir/resource.ts', text)).toEqual(['import-x/no-cycle']);
});

test('any, default exports and super-linear regular expressions are errors', async () => {
  expect(await brokenRules('src/fhir/date.ts', `export const value = 1 as any;\n`)).toEqual([
    '@typescript-eslint/no-explicit-any',
  ]);
  expect(await brokenRules('src/fhir/date.ts', `export default 1;\n`)).toEqual(['import-x/no-default-export']);
  expect(await brokenRules('src/fhir/date.ts', `export const bad = /^(?:a+)+$/;\n`)).toEqual([
    'regexp/no-super-linear-backtracking',
  ]);
});
