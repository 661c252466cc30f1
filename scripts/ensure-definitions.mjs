// Imported first by the tests and the build: makes src/fhir/r4-definitions.js and the program of SqliteStore's threads where
// they are missing or older than what they are made from, as after a `git pull` without `npm install`.
import { readdirSync, statSync } from 'node:fs';

const made = changed('../src/fhir/r4-definitions.js');
const makers = [
  'generate-definitions.mjs',
  '../src/fhir/model/fhir-model.ts',
  ...readdirSync(at('definitions')).map((name) => `definitions/${name}`),
];

if (made === undefined || makers.some((name) => changed(name) > made)) await import('./generate-definitions.mjs');

const thread = changed('../src/stores/sqlite/threads/thread-text.js');
if (thread === undefined || [...sources()].some((name) => changed(name) > thread))
  await import('./generate-thread.mjs');

/** What the program of a thread is made from, and some more. */
function* sources() {
  yield 'generate-thread.mjs';
  for (const folder of ['fhir', 'fhirpath', 'platform', 'search', 'store', 'stores']) {
    for (const name of readdirSync(at(`../src/${folder}`), { recursive: true })) {
      if (name.endsWith('.ts')) yield `../src/${folder}/${name}`;
    }
  }
}

function changed(path) {
  return statSync(at(path), { throwIfNoEntry: false })?.mtimeMs;
}

function at(path) {
  return new URL(path, import.meta.url);
}
