import './scripts/assert-node.mjs';
import { defineConfig } from 'vitest/config';
import { OWN_NAME } from './test/support/own-name.js';

/** Tests over the mutants of a sandbox: `npm run test:mutation` starts it, see scripts/mutation/trials.mjs. */
export default defineConfig({
  resolve: { alias: OWN_NAME },
  test: {
    include: process.env.FHIRGRAPH_MUTATION_TESTS?.split(';') ?? [],
    env: {
      GRAPHQL_MAJOR: '17',
      // What a store makes of its commands is not what is tried here, and the memory store is the quickest.
      FHIRGRAPH_STORES: 'memory',
    },
    // Property tests and long ones among the others, and tests of what only other stores do.
    testNamePattern:
      /^(?!.*(?:any policies:|by every path|its own history shows|ten thousand codes|PostgreSQL|over SQLite))/,
    runner: './test/mutation/runner.ts',
    isolate: false,
    pool: 'forks',
    maxWorkers: 1,
    bail: 1,
    // A test that fails over a mutant leaves promises behind that nobody awaits any more.
    dangerouslyIgnoreUnhandledErrors: true,
    setupFiles: ['test/support/setup.ts'],
    // A test runs over hundreds of mutants in turn; what hangs is ended from outside.
    testTimeout: 86_400_000,
    hookTimeout: 300_000,
  },
});
