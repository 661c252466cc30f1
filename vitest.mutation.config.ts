import './scripts/assert-node.mjs';
import { defineConfig } from 'vitest/config';
import { OWN_NAME } from './vitest.config.js';

/** The tests that `npm run test:mutation` asks: those that are quick and near to what it changes. */
export default defineConfig({
  resolve: { alias: OWN_NAME },
  test: {
    include: process.env.FHIRGRAPH_MUTATION_TESTS?.split(';') ?? [
      'test/{access,projects,repository,search}/**/*.test.ts',
      'test/stores/memory-store.test.ts',
    ],
    // These start a PostgreSQL, child processes, or take seconds.
    exclude: [
      'test/access/{policy-property,write-property,non-interference}.test.ts',
      'test/projects/clinic-story.test.ts',
      'test/projects/invitation-message.test.ts',
    ],
    env: { GRAPHQL_MAJOR: '17' },
    isolate: false,
    setupFiles: ['test/support/setup.ts'],
    testTimeout: 300_000,
    hookTimeout: 300_000,
  },
});
