import { defineConfig } from 'vitest/config';
import { GRAPHQL_16, OWN_NAME } from './vitest.config.js';

/** `npm run test:graphql16`: every test of the GraphQL layer on graphql 16. */
export default defineConfig({
  resolve: { alias: [...OWN_NAME, GRAPHQL_16] },
  test: {
    include: ['test/graphql/**/*.test.ts'],
    env: { GRAPHQL_MAJOR: '16' },
    setupFiles: ['test/support/setup.ts'],
    maxWorkers: '100%',
    isolate: false,
    testTimeout: 300_000,
    hookTimeout: 300_000,
  },
});
