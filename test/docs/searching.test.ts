import type { Resource } from '@medplum/fhirtypes';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { createRepository, FhirError, MemoryStore, type Repository, systemCaller } from '../../src/index.js';
import { SqliteStore } from '../../src/sqlite.js';
import { readPage, readResources } from '../support/pages.js';

const guide = readPage('searching');
/** ``| `Patient?family=hil` | ann, cal | …`` */
const rows = [...guide.matchAll(/^\| `([A-Z]\w+)\?((?:[^`|]|\\\|)+)` \| ([^|]+) \|/gm)].map(
  ([, type, query, outcome]) => ({
    type: type as Resource['resourceType'],
    query: query!.replaceAll('\\|', '|'),
    outcome: outcome!.trim(),
  }),
);

test('the guide has rows for every kind of parameter', () => {
  expect(rows.length).toBeGreaterThan(50);
});

describe.each([
  ['memory', () => new MemoryStore()],
  ['SQLite', () => new SqliteStore(':memory:')],
])('on %s', (_, openStore) => {
  const store = openStore();
  const repository = createRepository({ store, caller: systemCaller('clinic') });
  beforeAll(async () => {
    for (const resource of readResources<Resource>('searching')) await repository.update(resource);
  });
  afterAll(() => store.close());

  test.each(rows)('$type?$query', async ({ type, query, outcome }) => {
    expect(await outcomeOf(repository, type, query)).toBe(outcome);
  });
});

/** The ids found, or the code of the error. */
async function outcomeOf(repository: Repository, type: Resource['resourceType'], query: string): Promise<string> {
  try {
    const { entry = [] } = await repository.search(type, query.replaceAll('+', '%2B'));
    return entry
      .map(({ resource }) => resource!.id)
      .sort()
      .join(', ');
  } catch (error) {
    if (error instanceof FhirError) return error.code;
    throw error;
  }
}
