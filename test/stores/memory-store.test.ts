import { describe, test } from 'vitest';
import { MemoryStore } from '../../src/stores/memory/store.js';
import { storeConformance } from '../../src/testing/store-conformance.js';
import { SEED } from '../support/chance.js';

storeConformance({ describe, test }, () => new MemoryStore(), { seed: SEED });
