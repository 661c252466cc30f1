import fc from 'fast-check';
import { afterAll, afterEach } from 'vitest';
import { endFile, endTest } from './after-tests.js';
import { SEED } from './chance.js';

fc.configureGlobal({ seed: SEED });
afterEach(endTest);
afterAll(endFile);
