import './scripts/assert-node.mjs';
import { mkdtempSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { defineConfig } from 'vitest/config';
import { OWN_NAME } from './test/support/own-name.js';

/** Tests of random cases, by what their files are called. */
const RANDOM = [
  'test/**/*{property,properties,differential,non-interference,native,mutations,fuzz}*.test.ts',
  // These have more cases here, or all of them.
  'test/examples/own-definitions.test.ts',
  'test/graphql/{cursors,enums,fields-merge}.test.ts',
  'test/graphql/host-fields/unused.test.ts',
  'test/graphql/hostile/hostile-corpus.test.ts',
  'test/graphql/schema-for-tools.test.ts',
  'test/import/{json-fault,ndjson}.test.ts',
  'test/projects/invitation-message.test.ts',
  'test/stores/{broad-searches,memory-store,node-sqlite,postgres,postgres-groups,postgres-pages,postgres-skip,sqlite-linked-sets,sqlite-skip,sqlite-store}.test.ts',
];
const seed = process.env.FHIRGRAPH_SEED ?? String(Math.floor(Math.random() * 2 ** 31));
const effort = process.env.FHIRGRAPH_EFFORT ?? '20';

// Both the workers and the printing at the end find it here.
process.env.FHIRGRAPH_LONG_REPORT = join(mkdtempSync(join(tmpdir(), 'fhirgraph-')), 'report.jsonl');

console.log(`FHIRGRAPH_SEED=${seed} FHIRGRAPH_EFFORT=${effort}`);

/** `npm run test:long`: what takes minutes, and the tests of random cases with more of them, from another seed each time. Ends with a table of trials, faults and violations. */
export default defineConfig({
  resolve: { alias: OWN_NAME },
  test: {
    include: ['test/long/**/*.test.ts', ...RANDOM],
    env: { FHIRGRAPH_SEED: seed, FHIRGRAPH_EFFORT: effort, GRAPHQL_MAJOR: '17' },
    setupFiles: ['test/support/setup.ts'],
    globalSetup: ['test/support/print-long-report.ts'],
    // As in `npm test`: Vitest would leave one of two cores to itself.
    maxWorkers: '100%',
    testTimeout: 1_800_000,
  },
});
