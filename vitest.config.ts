import './scripts/assert-node.mjs';
import './scripts/ensure-definitions.mjs';
import { fileURLToPath } from 'node:url';
import { defineConfig } from 'vitest/config';
import { hasShared } from './test/support/shared-folder.js';

const LONG = 'test/long/**';

if (!hasShared) {
  console.warn('No shared material beside the repository (FHIRGRAPH_SHARED names its place): tests use test/excerpt.');
}

/** Examples and tests may import the package by its public name. */
export const OWN_NAME = [
  { find: /^fhirgraph$/, replacement: source('index') },
  {
    find: /^fhirgraph\/(access|audit-journal|definitions|terminology|fhir-package|http|mail|sqlite|postgres|store|telemetry|client|testing|test-service|types)$/,
    replacement: source('$1'),
  },
];

function source(name: string): string {
  return fileURLToPath(new URL(`./src/${name}.ts`, import.meta.url));
}

/** Imports of graphql give version 16, to which `graphql-16` is installed. */
export const GRAPHQL_16 = { find: /^graphql(?=\/|$)/, replacement: 'graphql-16' };

/** Tests of the GraphQL layer in which graphql-js has little part; `npm run test:graphql16` runs them on graphql 16, too. */
const BEYOND_GRAPHQL_JS = [
  'test/graphql/{cursors,schema-for-tools}.test.ts',
  'test/graphql/hostile/**',
  'test/graphql/mutations/{patch,properties,rights,writes}.test.ts',
];

/** What both projects have in common. `extends` would hand them `maxWorkers` too, and `--maxWorkers` would not count. */
const COMMON = {
  // To evaluate the library and the definitions anew for each of 400 files takes longer than most of their tests.
  isolate: false,
  setupFiles: ['test/support/setup.ts'],
  // Ends what hangs. A machine under load takes ten times as long as a quiet one, which is no fault of a test.
  testTimeout: 300_000,
  hookTimeout: 300_000,
};

// graphql 17 has a build of its own for the condition `development`, whose types libraries outside of Vite do not know.
const SSR = { resolve: { conditions: ['module-sync', 'module', 'node'], externalConditions: ['module-sync', 'node'] } };

/** `npm test`: every test on graphql 17, those of the GraphQL layer that graphql-js can decide once more on graphql 16. */
export default defineConfig({
  test: {
    projects: [
      {
        resolve: { alias: OWN_NAME },
        ssr: SSR,
        test: {
          ...COMMON,
          name: 'graphql-17',
          include: ['test/**/*.test.ts'],
          exclude: [LONG],
          env: { GRAPHQL_MAJOR: '17' },
        },
      },
      {
        resolve: { alias: [GRAPHQL_16, ...OWN_NAME] },
        ssr: SSR,
        test: {
          ...COMMON,
          name: 'graphql-16',
          include: ['test/graphql/**/*.test.ts'],
          exclude: BEYOND_GRAPHQL_JS,
          env: { GRAPHQL_MAJOR: '16' },
        },
      },
    ],
    // Vitest leaves one core to itself; of two that is half of them.
    maxWorkers: '100%',
  },
});
