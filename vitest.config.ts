import './scripts/assert-node.mjs';
import './scripts/ensure-definitions.mjs';
import { fileURLToPath } from 'node:url';
import { defineConfig } from 'vitest/config';
import { LongestFirst } from './test/support/longest-first.js';
import { hasShared } from './test/support/shared-folder.js';

const LONG = 'test/long/**';

if (!hasShared) {
  console.warn('No shared material beside the repository (FHIRGRAPH_SHARED names its place): tests use test/excerpt.');
}

/** Tests of the GraphQL layer in which graphql-js has little part; `npm run test:graphql16` runs them on graphql 16, too. */
const BEYOND_GRAPHQL_JS = [
  'test/graphql/{cursors,schema-for-tools}.test.ts',
  'test/graphql/hostile/**',
  'test/graphql/mutations/{patch,properties,rights,writes}.test.ts',
];

/** What both projects have in common. `extends` would hand them `maxWorkers` too, and `--maxWorkers` would not count. */
export const COMMON = {
  // To evaluate the library and the definitions anew for each of 400 files takes longer than most of their tests.
  isolate: false,
  // Node.js loads the modules itself: Vite transforms each file for each project, and hands it over in a message.
  experimental: { viteModuleRunner: false, nodeLoader: false },
  execArgv: [
    ...['--import', fileURLToPath(new URL('scripts/load-typescript.mjs', import.meta.url))],
    // Most code runs a few times: to optimise it takes more of the cores than it gives back.
    '--no-opt',
  ],
  setupFiles: ['test/support/setup.ts'],
  // Ends what hangs. A machine under load takes ten times as long as a quiet one, which is no fault of a test.
  testTimeout: 300_000,
  hookTimeout: 300_000,
};

// graphql 17 has a build of its own for the condition `development`, whose types libraries outside of Vite do not know.
export const SSR = {
  resolve: { conditions: ['module-sync', 'module', 'node'], externalConditions: ['module-sync', 'node'] },
};

/** `npm test`: every test on graphql 17, those of the GraphQL layer that graphql-js can decide once more on graphql 16. */
export default defineConfig({
  test: {
    projects: [
      {
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
    sequence: { sequencer: LongestFirst },
    // Vitest leaves one core to itself; of two that is half of them.
    maxWorkers: '100%',
  },
});
