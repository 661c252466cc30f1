import './scripts/assert-node.mjs';
import './scripts/ensure-definitions.mjs';
import { fileURLToPath } from 'node:url';
import { defineConfig } from 'vitest/config';
import { LongestFirst } from './test/support/longest-first.js';
import { hasShared } from './test/support/shared-folder.js';

export const LONG = 'test/long/**';

/**
 * Tests that take long and mostly fail together with others. `npm run test:all` runs them, and so does `npx vitest run` with
 * the name of the file or of its folder.
 */
const SELDOM = [
  // Types, packages, lint rules and benchmarks.
  'test/frame/compiled.test.ts',
  'test/frame/import-layers.test.ts',
  'test/tools/schema-options.test.ts',
  'test/graphql/schema-for-tools.test.ts',
  'test/platform/bundles.test.ts',
  'test/bench/variants.test.ts',
  'test/bench/random-questions.test.ts',
  'test/bench/random-judge.test.ts',
  'test/bench/skewed-lines.test.ts',
  'test/mutation/process-groups.test.ts',
  // Programs that run in processes of their own.
  'test/examples/quickstart.test.ts',
  'test/examples/mail.test.ts',
  'test/frame/runtime.test.ts',
  'test/docs/getting-started.test.ts',
  'test/platform/first-read.test.ts',
  'test/graphql/plain-loading.test.ts',
  'test/access/sessions-processes.test.ts',
  'test/audit/killed-log.test.ts',
  'test/stores/sqlite/bundled.test.ts',
  'test/stores/sqlite/crash.test.ts',
  'test/stores/sqlite/processes.test.ts',
  'test/servers/graphiql.test.ts',
  'test/examples/sample-data.test.ts',
  // `npm test` opens what older versions wrote with SQLite.
  'test/upgrades/postgres.test.ts',
  // Its conformance tests are in `npm test`.
  'test/stores/postgres/details.test.ts',
  // How PostgreSQL finds a page. Its answers are those of test/stores/questions, which ask it in `npm run test:all`.
  'test/stores/postgres/needed-bases.test.ts',
  'test/stores/postgres/own-urls.test.ts',
  'test/stores/postgres/pages.test.ts',
  'test/stores/postgres/plans.test.ts',
  'test/stores/postgres/segments.test.ts',
  // Parts of SQLite's and the memory store's work, and the other driver. The conformance tests of both are in `npm test`.
  'test/stores/sqlite/backup.test.ts',
  'test/stores/sqlite/faults.test.ts',
  'test/stores/sqlite/loading.test.ts',
  'test/stores/sqlite/reindex.test.ts',
  'test/stores/sqlite/removal.test.ts',
  'test/stores/sqlite/verify.test.ts',
  'test/stores/memory/long-commits.test.ts',
  'test/stores/memory/steps.test.ts',
  'test/stores/broad-searches.test.ts',
  'test/stores/node-sqlite.test.ts',
  'test/stores/relationship.test.ts',
  'test/stores/resource-size.test.ts',
  'test/http/handler/attachments.test.ts',
  // Each call of a store fails once. `npm test` has writes in doubt in mutations, imports and stores.
  'test/projects/in-doubt.test.ts',
  // A few hundred documents. `npm test` asks the kinds of them in test/graphql/hostile.test.ts.
  'test/graphql/hostile/hostile-corpus.test.ts',
];

if (!hasShared) {
  console.warn('No shared material beside the repository (FHIRGRAPH_SHARED names its place): tests use test/excerpt.');
}

/** What the tests on both majors of graphql have in common. */
export const COMMON = {
  // Evaluating the library and the definitions for each of 400 files takes longer than most of their tests.
  isolate: false,
  // Node.js loads the modules itself: Vite transforms each file for each project, and hands it over in a message.
  experimental: { viteModuleRunner: false, nodeLoader: false },
  execArgv: [
    ...['--import', fileURLToPath(new URL('scripts/load-typescript.mjs', import.meta.url))],
    // Most code runs a few times. Optimising it costs more than it saves.
    '--no-opt',
    '--no-wasm-tier-up',
    // Tests make many short-lived objects. Fewer collections save a tenth of the CPU. Collecting in one thread saves a
    // twentieth, since the threads of two workers would wait for each other.
    ...['--min-semi-space-size=64', '--max-semi-space-size=128', '--single-threaded-gc'],
  ],
  setupFiles: ['test/support/setup.ts'],
  globalSetup: ['test/support/temporary-in-memory.ts'],
  // Ends a test that hangs. On a machine under load, the longest tests take half a minute.
  testTimeout: 120_000,
  hookTimeout: 120_000,
};

// graphql 17 has a build of its own for the condition `development`, whose types libraries outside of Vite do not know.
export const SSR = {
  resolve: { conditions: ['module-sync', 'module', 'node'], externalConditions: ['module-sync', 'node'] },
};

/** Every test over every store, with a quarter of the random cases of FHIRGRAPH_EFFORT=1. CI runs it. */
const isWhole = process.env.FHIRGRAPH_TESTS === 'all';

/** `npm test`: the quick form of the tests, on graphql 17; with FHIRGRAPH_TESTS=all the whole form. */
export default defineConfig({
  ssr: SSR,
  test: {
    ...COMMON,
    include: ['test/**/*.test.ts'],
    exclude: isWhole
      ? [LONG]
      : [LONG, ...SELDOM.filter((file) => !process.argv.some((asked) => file.startsWith(asked)))],
    env: { GRAPHQL_MAJOR: '17', ...(isWhole && { FHIRGRAPH_EFFORT: '0.25' }) },
    sequence: { sequencer: LongestFirst },
    // Vitest leaves one core to itself; of two that is half of them.
    maxWorkers: '100%',
  },
});
