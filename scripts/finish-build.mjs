// What the bundler cannot do, at the end of the build: fewer chunks, the GraphQL schema as a file, and a reference between
// declarations.
import './assert-node.mjs';
import './load-typescript.mjs';
import { readFileSync, writeFileSync } from 'node:fs';
import { mergeChunks } from './merge-chunks.mjs';

const { exports } = JSON.parse(readFileSync(new URL('../package.json', import.meta.url), 'utf8'));
const entries = Object.values(exports).flatMap(
  ({ default: file }) => /^\.\/dist\/(.+)\.js$/.exec(file ?? '')?.[1] ?? [],
);
await mergeChunks(new URL('../dist/', import.meta.url), [...entries, 'command']);

const { printFhirSchema } = await import('../dist/index.js');

const { COMMON_TYPES } = await import(new URL('../src/graphql/schema/schema-detail.ts', import.meta.url).href);
writeFileSync(
  new URL('../dist/schema.graphql', import.meta.url),
  printFhirSchema({ types: [...COMMON_TYPES], detail: 'brief' }),
);

// Hosts that emit declarations name FHIR's types by `fhirgraph/types`, which the compiler finds only in a file it has read.
// Otherwise it fails with TS2742 under pnpm, where the package of the types is out of sight.
const index = new URL('../dist/index.d.ts', import.meta.url);
writeFileSync(index, `import type {} from './types.js';\n${readFileSync(index, 'utf8')}`);
