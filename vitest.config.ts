import { defineConfig } from 'vitest/config';

const LONG = 'test/long/**';

/** `npm test`: every test on graphql 17, those of the GraphQL layer once more on graphql 16. */
export default defineConfig({
  test: {
    projects: [
      {
        extends: true,
        test: { name: 'graphql-17', include: ['test/**/*.test.ts'], exclude: [LONG], env: { GRAPHQL_MAJOR: '17' } },
      },
      {
        extends: true,
        resolve: { alias: [{ find: /^graphql(?=\/|$)/, replacement: 'graphql-16' }] },
        test: { name: 'graphql-16', include: ['test/graphql/**/*.test.ts'], env: { GRAPHQL_MAJOR: '16' } },
      },
    ],
    testTimeout: 30_000,
  },
});
