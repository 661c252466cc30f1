import type { AccessPolicy, Resource } from '@medplum/fhirtypes';
import { describe, expect, test } from 'vitest';
import { MemoryStore, type ResourceStore } from '../../src/index.js';
import { SqliteStore } from '../../src/sqlite.js';
import { type PolicyCase, testPolicy } from '../../src/test-service.js';
import { blocksOf } from '../support/markdown.js';
import { readPage } from '../support/pages.js';
import cases from './policy-cookbook.json' with { type: 'json' };

/** What members with the policy of each recipe see and write. */
const { resources, recipes } = cases as unknown as {
  readonly resources: readonly Resource[];
  readonly recipes: { readonly [title: string]: readonly Omit<PolicyCase, 'resources'>[] };
};
const policies = readPage('policy-cookbook')
  .split(/^## /m)
  .flatMap((section) =>
    blocksOf(section)
      .filter(({ info }) => info === 'policy')
      .map(({ text }) => ({ title: section.split('\n')[0]!, policy: JSON.parse(text) as AccessPolicy })),
  );
const stores: readonly (readonly [string, () => ResourceStore])[] = [
  ['memory', () => new MemoryStore()],
  ['SQLite', () => new SqliteStore(':memory:')],
];

test('every recipe has cases', () => {
  expect(policies.map(({ title }) => title)).toEqual(Object.keys(recipes));
});

describe.each(stores)('on %s', (_, openStore) => {
  test.each(policies)('$title', async ({ title, policy }) => {
    const tested = recipes[title]!.map((one) => ({ ...one, resources }));
    const { failures, checks } = await testPolicy(policy, tested, { openStore });
    expect(failures).toEqual([]);
    expect(checks).toBeGreaterThan(1);
  });
});
