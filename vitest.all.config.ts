import { defineConfig, mergeConfig } from 'vitest/config';
import quick, { LONG } from './vitest.config.js';

const all = mergeConfig(quick, { test: { env: { FHIRGRAPH_EFFORT: '0.25' } } });

/** `npm run test:all`: every test over every store, with a quarter of the random cases of FHIRGRAPH_EFFORT=1. CI runs it. */
export default defineConfig({ ...all, test: { ...all.test, exclude: [LONG] } });
