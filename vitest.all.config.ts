import { defineConfig, mergeConfig } from 'vitest/config';
import quick, { LONG } from './vitest.config.js';

const all = mergeConfig(quick, { test: { env: { FHIRGRAPH_EFFORT: '0.25' } } });

/** `npm run test:all`, as CI does: every test, over every store, with a quarter of the random cases that one run of FHIRGRAPH_EFFORT=1 has. */
export default defineConfig({ ...all, test: { ...all.test, exclude: [LONG] } });
