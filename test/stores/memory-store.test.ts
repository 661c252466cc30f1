import { describe, test } from 'vitest';
import { MemoryStore } from '../../src/stores/memory/store.js';
import { storeConformance } from '../../src/testing/store-conformance.js';

storeConformance({ describe, test }, () => new MemoryStore());
