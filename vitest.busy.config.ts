import { defineConfig, mergeConfig } from 'vitest/config';
import quick from './vitest.config.js';

/** Folders of tests in which no work pauses: of the code itself, its documents, tools and types, and PostgreSQL's statements. */
const STILL = ['bench', 'docs', 'examples', 'frame', 'mutation', 'stores/postgres', 'tools', 'types', 'upgrades'];

const busy = mergeConfig(quick, { test: { env: { FHIRGRAPH_PACE: '0' } } });

/**
 * `npm run test:busy`: the quick tests with a pace of zero, so that all long work pauses after each of its steps, as on a
 * machine that is busy. A test that fails here and not in `npm test` depends on a quiet machine.
 */
export default defineConfig({
  ...busy,
  test: { ...busy.test, exclude: [...(busy.test?.exclude ?? []), ...STILL.map((folder) => `test/${folder}/**`)] },
});
