import { defineConfig } from 'vitest/config';
import { OWN_NAME } from './vitest.config.js';

/** Tests of random cases, by what their files are called. */
const RANDOM = 'test/**/*{property,properties,differential,non-interference,native,mutations}*.test.ts';
const seed = process.env.FHIRGRAPH_SEED ?? String(Math.floor(Math.random() * 2 ** 31));
const effort = process.env.FHIRGRAPH_EFFORT ?? '20';

console.log(`FHIRGRAPH_SEED=${seed} FHIRGRAPH_EFFORT=${effort}`);

/** `npm run test:long`: what takes minutes, and the tests of random cases with more of them, from another seed each time. */
export default defineConfig({
  resolve: { alias: OWN_NAME },
  test: {
    include: ['test/long/**/*.test.ts', RANDOM],
    env: { FHIRGRAPH_SEED: seed, FHIRGRAPH_EFFORT: effort, GRAPHQL_MAJOR: '17' },
    setupFiles: ['test/support/setup.ts'],
    testTimeout: 1_800_000,
  },
});
