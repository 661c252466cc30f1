import js from '@eslint/js';
import regexp from 'eslint-plugin-regexp';
import { fileURLToPath } from 'node:url';
import tseslint from 'typescript-eslint';
import { importLayers } from './scripts/lint/import-layers.mjs';
import { LAYERS, ROOMS } from './scripts/lint/layers.mjs';

const TYPESCRIPT = ['**/*.ts'];
const SOURCE = ['src/**/*.ts'];
const UNUSED = ['error', { argsIgnorePattern: '^_', varsIgnorePattern: '^_' }];
/** Files that a tool loads by their default export. */
const CONFIGS = ['*.config.ts', '*.config.js', 'test/mutation/runner.ts', 'tools/site/vitepress/**/*.mjs'];

export default tseslint.config(
  {
    ignores: [
      // An application of Next.js, which resolves imports by its own rules.
      'scripts/bundlers/next/{app,lib}/**',
      'dist/',
      'coverage/',
      'node_modules/',
      'api-reference/',
      'tools/.site/',
      'tools/node_modules/',
      '/site/',
      'src/fhir/r4-definitions.js',
      'src/stores/sqlite/threads/thread-text.js',
    ],
  },
  { linterOptions: { reportUnusedDisableDirectives: 'error' } },
  js.configs.recommended,
  {
    files: ['**/*.js', '**/*.mjs', '**/*.cjs'],
    languageOptions: {
      globals: {
        AbortController: 'readonly',
        Buffer: 'readonly',
        console: 'readonly',
        fetch: 'readonly',
        performance: 'readonly',
        process: 'readonly',
        URL: 'readonly',
        URLSearchParams: 'readonly',
      },
    },
    rules: { 'no-unused-vars': UNUSED },
  },
  {
    files: TYPESCRIPT,
    extends: [tseslint.configs.strict],
    languageOptions: { parserOptions: { projectService: true } },
    rules: {
      // noUncheckedIndexedAccess makes `!` the plain way to say "this index is in range".
      '@typescript-eslint/no-non-null-assertion': 'off',
      // JSON objects are edited by element name.
      '@typescript-eslint/no-dynamic-delete': 'off',
      '@typescript-eslint/consistent-type-imports': ['error', { fixStyle: 'inline-type-imports' }],
      '@typescript-eslint/no-unused-vars': UNUSED,
      // What only types can tell. A test that does not wait passes.
      '@typescript-eslint/no-floating-promises': 'error',
    },
  },
  {
    // Over the tests, these take as long as all rules over the source.
    files: TYPESCRIPT,
    ignores: ['test/**'],
    rules: {
      '@typescript-eslint/await-thenable': 'error',
      '@typescript-eslint/no-misused-promises': 'error',
      '@typescript-eslint/no-unnecessary-type-assertion': 'error',
      '@typescript-eslint/only-throw-error': 'error',
      '@typescript-eslint/prefer-promise-reject-errors': 'error',
      '@typescript-eslint/switch-exhaustiveness-check': ['error', { considerDefaultExhaustiveForUnions: true }],
    },
  },
  {
    files: [...TYPESCRIPT, '**/*.js', '**/*.mjs'],
    plugins: { local: { rules: { 'import-layers': importLayers } } },
    rules: {
      // `== null` asks for null and undefined at once.
      eqeqeq: ['error', 'always', { null: 'ignore' }],
      'no-restricted-exports': ['error', { restrictDefaultExports: { direct: true, named: true, defaultFrom: true } }],
      'local/import-layers': [
        'error',
        { source: fileURLToPath(new URL('./src', import.meta.url)), layers: LAYERS, rooms: ROOMS },
      ],
    },
  },
  {
    files: SOURCE,
    plugins: { regexp },
    rules: {
      'no-console': 'error',
      'no-eval': 'error',
      'no-new-func': 'error',
      // The texts matched come from clients.
      'regexp/no-super-linear-backtracking': 'error',
      'regexp/no-super-linear-move': 'error',
    },
  },
  // Vite resolves what the site's theme imports.
  { files: ['tools/site/vitepress/**'], rules: { 'local/import-layers': 'off' } },
  { files: CONFIGS, rules: { 'no-restricted-exports': 'off' } },
);
