import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';

const SOURCE = 'src';

/** Files in which a caller can omit the model. All other code receives its model, so that nothing can forget it. */
const ENTRIES = [
  'definitions.ts',
  'graphql/schema/print-fhir-schema.ts',
  'graphql/validate-documents/validate-fhir-graphql.ts',
  'profiles/validate-resource.ts',
  'store.ts',
  'stores/memory/store.ts',
  'stores/postgres/database/config.ts',
  'stores/sqlite/config.ts',
];

function filesThat(imports: RegExp): string[] {
  return readdirSync(SOURCE, { recursive: true, encoding: 'utf8' })
    .filter((name) => name.endsWith('.ts') && imports.test(readFileSync(join(SOURCE, name), 'utf8')))
    .sort();
}

test('only public entries and the options of stores fall back on R4', () => {
  expect(filesThat(/^(?:import|export) .*from '.*\/fhir\/r4\.js';$/m)).toEqual(ENTRIES);
});

test('the definitions of R4 have one reader', () => {
  expect(filesThat(/from '.*\/r4-definitions\.js';$/m)).toEqual(['fhir/r4.ts']);
});

test('nothing loads a module in a way that bundlers cannot see, except the native driver of SQLite', () => {
  expect(filesThat(/\bcreateRequire\b/)).toEqual(['stores/sqlite/database/driver.ts']);
});
