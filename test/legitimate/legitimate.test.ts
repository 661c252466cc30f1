import { MemoryStore } from 'fhirgraph';
import { SqliteStore } from 'fhirgraph/sqlite';
import { describe, expect, test } from 'vitest';
import { legitimateSuite } from './legitimate-suite.js';
import { someOf } from '../support/chance.js';
import { ROLES } from './roles.js';

const STORES = [
  ['MemoryStore', () => new MemoryStore()],
  ['SqliteStore', () => new SqliteStore(':memory:')],
] as const;

describe.each(someOf(STORES, 1))('legitimate work on %s', (_, openStore) => legitimateSuite(openStore));

test('the corpus has a few hundred operations', () => {
  expect(ROLES.flatMap(({ operations }) => operations).length).toBeGreaterThan(300);
});
