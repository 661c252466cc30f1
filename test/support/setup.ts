import fc from 'fast-check';
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
