import { fileURLToPath } from 'node:url';

/** For Vite: examples and tests can import the package by its public name, as with `scripts/load-typescript.mjs`. */
export const OWN_NAME = [
  { find: /^fhirgraph$/, replacement: source('index') },
  { find: /^fhirgraph\/([a-z-]+)$/, replacement: source('$1') },
];

function source(name: string): string {
  return fileURLToPath(new URL(`../../src/${name}.ts`, import.meta.url));
}
