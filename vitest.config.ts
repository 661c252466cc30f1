import './scripts/assert-node.mjs';
import './scripts/ensure-definitions.mjs';
import { fileURLToPath } from 'node:url';
import { defineConfig } from 'vitest/config';
import { LongestFirst } from './test/support/longest-first.js';
import { hasShared } from './test/support/shared-folder.js';

export const LONG = 'test/long/**';

/**
 * Tests that take long and mostly fail together with others. `npm run test:all` runs them, and so does `npx vitest run` with
 * the name of a file or folder.
 */
const SLOW = 'test/**/*.slow.test.ts';

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
    // Most code runs a few times. Optimising it by TurboFan costs more than it saves, by Maglev less.
    ...['--no-turbofan', '--maglev'],
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

const isNamed = process.argv.some((argument) => argument.startsWith('test/'));

/** `npm test`: the quick form of the tests, on graphql 17; with FHIRGRAPH_TESTS=all the whole form. */
export default defineConfig({
  ssr: SSR,
  test: {
    ...COMMON,
    include: ['test/**/*.test.ts'],
    exclude: isWhole || isNamed ? [LONG] : [LONG, SLOW],
    env: { GRAPHQL_MAJOR: '17', ...(isWhole && { FHIRGRAPH_EFFORT: '0.25' }) },
    sequence: { sequencer: LongestFirst },
    // Vitest leaves one core to itself; of two that is half of them.
    maxWorkers: '100%',
  },
});
