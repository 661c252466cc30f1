import { defineConfig } from 'vitest/config';

/** `npm run test:long`: soak, crash and large-data tests that are too slow for every run. */
export default defineConfig({
  test: { include: ['test/long/**/*.test.ts'], testTimeout: 600_000, passWithNoTests: true },
});
