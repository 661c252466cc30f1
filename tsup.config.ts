import { defineConfig } from 'tsup';

// A bare import would be dropped: the package declares that its modules have no side effects.
// @ts-expect-error -- a script without types
await import('./scripts/ensure-definitions.mjs');
// @ts-expect-error -- a script without types
const { lazyExports } = await import('./scripts/lazy-exports.mjs');

/** Their names are the subpaths of package.json. */
const entries = {
  index: 'src/index.ts',
  http: 'src/http.ts',
  access: 'src/access.ts',
  mail: 'src/mail.ts',
  sqlite: 'src/sqlite.ts',
  postgres: 'src/postgres.ts',
  definitions: 'src/definitions.ts',
  'fhir-package': 'src/fhir-package.ts',
  'audit-journal': 'src/audit-journal.ts',
  terminology: 'src/terminology.ts',
  store: 'src/store.ts',
  telemetry: 'src/telemetry.ts',
  client: 'src/client.ts',
  testing: 'src/testing.ts',
  'test-service': 'src/test-service.ts',
  types: 'src/types.ts',
};

// Dependencies and peers stay imports.
export default defineConfig({
  // The program shares the chunks of the entries, and declares nothing.
  entry: { ...entries, command: 'src/command.ts' },
  format: 'esm',
  target: 'node22',
  platform: 'node',
  splitting: true,
  clean: true,
  sourcemap: false,
  // Imports of other packages that nothing uses any more go too.
  treeshake: { moduleSideEffects: 'no-external' },
  removeNodeProtocol: false,
  esbuildPlugins: [lazyExports],
  // tsup's declaration bundler passes an option that TypeScript 6 deprecates.
  // What is marked as internal is no promise.
  dts: { entry: entries, compilerOptions: { ignoreDeprecations: '6.0', stripInternal: true } },
});
