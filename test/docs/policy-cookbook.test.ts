import type { AccessPolicy, Resource } from '@medplum/fhirtypes';
import { describe, expect, test } from 'vitest';
import type { ResourceStore } from '../../src/store/store.js';
import { MemoryStore } from '../../src/stores/memory/store.js';
import { SqliteStore } from '../../src/stores/sqlite/store.js';
import { type PolicyCase, testPolicy } from '../../src/test-service/test-policy.js';
import { blocksOf } from '../support/markdown.js';
import { readPage } from '../support/pages.js';

/** The member with the policy, and the values of its parameters: one entry of `access` per value. */
interface Member {
  readonly profile: string;
  readonly access: { readonly [parameter: string]: readonly string[] };
}

const cookbook = readPage('policy-cookbook');
const recipes = cookbook
  .split(/^## /m)
  .slice(1, -1)
  .map((section) => ({ title: section.slice(0, section.indexOf('\n')), blocks: blocksOf(section) }))
  .filter(({ blocks }) => blocks.some(({ info }) => info === 'policy'));
const stores: readonly (readonly [string, () => ResourceStore])[] = [
  ['memory', () => new MemoryStore()],
  ['SQLite', () => new SqliteStore(':memory:')],
];

test('the cookbook has the most requested recipes', () => {
  expect(recipes.map(({ title }) => title)).toEqual([
    'Own records only',
    'One organization',
    'Two organizations',
    'Read-only auditor',
    'Hidden fields',
    'Care team',
    'Laboratory feed',
  ]);
});

describe.each(stores)('on %s', (_, openStore) => {
  test.each(recipes)('$title', async ({ blocks }) => {
    const content = <Content>(info: string, otherwise?: Content): Content => {
      const block = blocks.find((one) => one.info === info);
      return block === undefined ? otherwise! : (JSON.parse(block.text) as Content);
    };
    const { profile, access } = content<Member>('member');
    const parameters = Object.entries(access).flatMap(([name, values]) => values.map((value) => ({ [name]: value })));
    const tested: PolicyCase = {
      resources: JSON.parse(blocksOf(cookbook).find(({ info }) => info === 'resources')!.text) as Resource[],
      as: profile,
      ...(parameters.length === 0 ? {} : { parameters }),
      sees: content('sees'),
      hides: content('hides', {}),
      writes: content('writes', []),
    };
    const { failures, checks } = await testPolicy(content<AccessPolicy>('policy'), [tested], { openStore });
    expect(failures).toEqual([]);
    expect(checks).toBeGreaterThan(1);
  });
});
