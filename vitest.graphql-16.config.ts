import { defineConfig } from 'vitest/config';
import { COMMON, SSR } from './vitest.config.js';

/** `npm run test:graphql16`: every test of the GraphQL layer on graphql 16. */
export default defineConfig({
  ssr: SSR,
  test: {
    ...COMMON,
    include: ['test/graphql/**/*.test.ts'],
    env: { GRAPHQL_MAJOR: '16' },
    maxWorkers: '100%',
  },
});
