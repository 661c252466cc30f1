// Writes the whole GraphQL schema beside the built package, for tools that read files. Run by the build.
import './assert-node.mjs';
import { writeFileSync } from 'node:fs';
import { printFhirSchema } from '../dist/index.js';

writeFileSync(new URL('../dist/schema.graphql', import.meta.url), printFhirSchema());
