import { execute, getIntrospectionQuery, type IntrospectionQuery, parse } from 'graphql/index.js';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { executeFhirGraphql, MemoryStore, systemCaller } from '../../src/index.js';
import { R4 } from '../../src/store.js';
import { completeSchema } from '../../src/graphql/schema/complete-schema.js';
import { PACE } from '../../src/platform/pace.js';
import { countTurns } from '../support/count-turns.js';

const { turnMs } = PACE;
beforeEach(() => void (PACE.turnMs = 0));
afterEach(() => void (PACE.turnMs = turnMs));

const store = new MemoryStore();
const caller = systemCaller('clinic');
const QUERY = getIntrospectionQuery();

function ask(types: readonly string[], signal?: AbortSignal) {
  return executeFhirGraphql(QUERY, { store, caller, introspection: { types }, signal });
}

test('the schema and its introspection are built in turns with other work, and equal those of graphql-js', async () => {
  const types = ['Observation', 'Patient'];
  const { result, turns } = await countTurns(() => ask(types));
  const theirs = await execute({ schema: completeSchema(R4, types), document: parse(QUERY) });
  expect(JSON.stringify(result)).toBe(JSON.stringify(theirs));
  const { __schema: schema } = theirs.data as unknown as IntrospectionQuery;
  // The fields of each object and input type are a turn, and so are 64 objects of the answer.
  const made = schema.types.filter(({ kind, name }) => /OBJECT$/.test(kind) && !name.startsWith('__')).length;
  expect(turns).toBeGreaterThanOrEqual(made + 20);
  expect((await countTurns(() => ask(types))).turns).toBeLessThan(5);
});

test('concurrent requests share the work', async () => {
  const [one, other] = await Promise.all([ask(['Patient']), ask(['Patient'])]);
  expect(one.data!['__schema']).toBe(other.data!['__schema']);
});

test('a request that is aborted in the meantime ends, and the others get their answer', async () => {
  const controller = new AbortController();
  const both = Promise.all([ask(['Device'], controller.signal), ask(['Device'])]);
  setImmediate(() => controller.abort());
  const [aborted, answered] = await both;
  expect(aborted.errors?.map(({ extensions }) => extensions.code)).toEqual(['aborted']);
  expect(answered.errors).toBeUndefined();
  expect(answered.data!['__schema']).toBeTypeOf('object');
});
