import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, describe, expect, test } from 'vitest';
import { SHARED, sharedText } from '../support/shared.js';
import type { Items } from './item.js';
import { GRAPHQL } from './items-graphql.js';
import { itemsOf } from './items-of.js';
import { PEOPLE } from './items-people.js';
import { RESOURCES } from './items-resources.js';
import { openWorld, type World } from './world.js';

const ITEMS: Items = [...RESOURCES, ...GRAPHQL, ...PEOPLE];

describe('the service document, item by item', () => {
  let world: World;
  beforeAll(async () => {
    world = await openWorld();
    return () => world.close();
  });

  test.each(ITEMS)('%s: %s', async (_item, _text, show) => {
    expect.hasAssertions();
    await show(world);
  });
});

test.skipIf(!existsSync(join(SHARED, 'reference/service.md')))('every item of the document has its test', () => {
  const shown = [...new Set(ITEMS.map(([item]) => item))];
  expect(shown.sort()).toEqual([...itemsOf(sharedText('reference/service.md'))].sort());
});
