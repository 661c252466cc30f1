import './scripts/assert-node.mjs';
import { defineConfig } from 'vitest/config';
import { OWN_NAME } from './vitest.config.js';

/** The tests that `npm run test:mutation` asks about one group of files (scripts/mutation-groups.mjs). */
export default defineConfig({
  resolve: { alias: OWN_NAME },
  test: {
    include: process.env.FHIRGRAPH_MUTATION_TESTS?.split(';') ?? [],
    env: {
      GRAPHQL_MAJOR: '17',
      // What a store makes of its commands is not what is tried here, and the memory store is the quickest.
      FHIRGRAPH_STORES: 'memory',
    },
    isolate: false,
    setupFiles: ['test/support/setup.ts'],
    testTimeout: 300_000,
    hookTimeout: 300_000,
  },
});
