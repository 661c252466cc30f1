import { describe, test } from 'vitest';
import { MemoryStore } from '../../src/stores/memory/store.js';
import { storeConformance } from '../../src/testing/store-conformance.js';
import { KIT_EFFORT, SEED } from '../support/chance.js';
import { expectFewResources } from './most-resources.js';

storeConformance({ describe, test }, () => new MemoryStore(), { seed: SEED, effort: KIT_EFFORT });

test('a search by reference that finds more than it may return is refused', () =>
  expectFewResources(new MemoryStore()));
