import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { expect, test } from 'vitest';
import { LOADER } from '../support/load-typescript.js';

/** Prints which modules that only some queries need were loaded, after a plain query and after a query with a default. */
const PROGRAM = `
import { registerHooks } from 'node:module';
const loaded = [];
registerHooks({
  load(url, context, next) {
    if (/(check-by-rules|graphql-js-validation)[.]ts$/.test(url)) loaded.push(/[^/]*(?=[.]ts$)/.exec(url)[0]);
    return next(url, context);
  },
});
const { executeFhirGraphql, createRepository, MemoryStore, systemCaller } = await import('fhirgraph');
const store = new MemoryStore();
const caller = systemCaller('clinic');
await createRepository({ store, caller }).update({ resourceType: 'Patient', id: 'p', gender: 'female' });
const ask = async (query, variables) => ({
  ...(await executeFhirGraphql(query, { store, caller, variables })),
  loaded: [...loaded].sort(),
});
const list = 'ObservationList(_reference: subject, _count: $n) { id }';
console.log(JSON.stringify([
  await ask(\`query ($id: ID!, $n: Int) { Patient(id: $id) { gender \${list} } }\`, { id: 'p', n: 3 }),
  await ask('query ($id: ID = "p") { Patient(id: $id) { gender } }'),
]));`;

test('a plain read loads neither the rules nor the coercion of graphql-js', async () => {
  const command = ['--import', LOADER, '--input-type=module', '-e', PROGRAM];
  const { stdout } = await promisify(execFile)(process.execPath, command);
  expect(JSON.parse(stdout)).toEqual([
    { data: { Patient: { gender: 'female', ObservationList: [] } }, loaded: [] },
    { data: { Patient: { gender: 'female' } }, loaded: ['check-by-rules', 'graphql-js-validation'] },
  ]);
});
