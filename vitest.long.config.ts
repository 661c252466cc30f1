import './scripts/assert-node.mjs';
import { mkdtempSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { defineConfig } from 'vitest/config';
import { OWN_NAME } from './test/support/own-name.js';
import { randomFiles } from './test/support/random-files.js';

const seed = process.env.FHIRGRAPH_SEED ?? String(Math.floor(Math.random() * 2 ** 31));
const effort = process.env.FHIRGRAPH_EFFORT ?? '20';

// Both the workers and the printing at the end find it here.
process.env.FHIRGRAPH_LONG_REPORT = join(mkdtempSync(join(tmpdir(), 'fhirgraph-')), 'report.jsonl');

console.log(`FHIRGRAPH_SEED=${seed} FHIRGRAPH_EFFORT=${effort}`);

/** `npm run test:long`: what takes minutes, and the tests of random cases with more of them, from another seed each time. Ends with a table of trials, faults and violations. */
export default defineConfig({
  resolve: { alias: OWN_NAME },
  test: {
    include: ['test/long/**/*.test.ts', ...randomFiles()],
    env: { FHIRGRAPH_SEED: seed, FHIRGRAPH_EFFORT: effort, GRAPHQL_MAJOR: '17' },
    setupFiles: ['test/support/setup.ts'],
    globalSetup: ['test/support/print-long-report.ts'],
    // As in `npm test`: Vitest would leave one of two cores to itself.
    maxWorkers: '100%',
    testTimeout: 600_000,
    hookTimeout: 600_000,
  },
});
