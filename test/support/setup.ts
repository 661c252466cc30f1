import fc from 'fast-check';
import { takeCoverage } from 'node:v8';
import { afterAll, afterEach } from 'vitest';
import { endFile, endTest } from './after-tests.js';
import { IS_LONG, SEED } from './chance.js';
import { useCheapScrypt } from './cheap-scrypt.js';
import { restoreTunings } from './tunings.js';

fc.configureGlobal({ seed: SEED });
if (!IS_LONG) useCheapScrypt();
afterEach(endTest);
afterAll(endFile);
afterAll(restoreTunings);
// For scripts/coverage.mjs: Vitest ends its processes before they could write what they ran.
if (process.env.NODE_V8_COVERAGE !== undefined) afterAll(takeCoverage);
