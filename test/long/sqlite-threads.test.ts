import { afterAll, beforeAll, describe, test } from 'vitest';
import { SqliteStore } from '../../src/sqlite.js';
import { storeConformance } from '../../src/testing.js';
import { THREAD_TUNING } from '../../src/stores/sqlite/database/tuning.js';
import { temporaryFolder } from '../stores/temporary-folder.js';
import { KIT_EFFORT, SEED } from '../support/chance.js';

const DEFAULTS = { ...THREAD_TUNING };
const fileNamed = temporaryFolder();
let files = 0;

describe.each([
  ['all of it', { inlineMs: -1, slice: 2 }],
  ['searches that the event loop stops at its first check', { inlineMs: 0, slice: 1, turnMs: 0 }],
])('threads answer %s', (_, tuning) => {
  beforeAll(() => void Object.assign(THREAD_TUNING, { ...tuning, smallFile: 0 }));
  afterAll(() => void Object.assign(THREAD_TUNING, DEFAULTS));
  storeConformance({ describe, test }, () => new SqliteStore(fileNamed(`${files++}.db`)), {
    seed: SEED,
    effort: KIT_EFFORT,
  });
});
