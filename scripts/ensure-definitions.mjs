// Imported first by the tests and the build: makes src/fhir/r4-definitions.js where it is missing or older than what makes
// it, as after a `git pull` without `npm install`.
import { readdirSync, statSync } from 'node:fs';

const made = changed('../src/fhir/r4-definitions.js');
const makers = ['generate-definitions.mjs', ...readdirSync(at('definitions')).map((name) => `definitions/${name}`)];

if (made === undefined || makers.some((name) => changed(name) > made)) await import('./generate-definitions.mjs');

function changed(path) {
  return statSync(at(path), { throwIfNoEntry: false })?.mtimeMs;
}

function at(path) {
  return new URL(path, import.meta.url);
}
