import type { DefinitionExtensions } from 'fhirgraph/definitions';
import type { ElementDefinition, StructureDefinition } from 'fhirgraph/types';

// A few definitions in the manner of US Core, so that the example runs without its package. Use the package for real data.

const US_CORE = 'http://hl7.org/fhir/us/core/StructureDefinition';
const FHIR = 'http://hl7.org/fhir/StructureDefinition';

function extension(name: string, title: string, short: string, elements: ElementDefinition[]): StructureDefinition {
  const url = `${US_CORE}/us-core-${name}`;
  return {
    resourceType: 'StructureDefinition',
    id: `us-core-${name}`,
    url,
    name: title,
    status: 'active',
    kind: 'complex-type',
    abstract: false,
    type: 'Extension',
    baseDefinition: `${FHIR}/Extension`,
    derivation: 'constraint',
    context: [{ type: 'element', expression: 'Patient' }],
    differential: {
      element: [
        { id: 'Extension', path: 'Extension', short, max: '1' },
        ...elements,
        { id: 'Extension.url', path: 'Extension.url', fixedUri: url },
      ],
    },
  };
}

function part(name: string, type: string, short: string, max: string): ElementDefinition[] {
  const id = `Extension.extension:${name}`;
  return [
    { id, path: 'Extension.extension', sliceName: name, short, min: 0, max, type: [{ code: 'Extension' }] },
    { id: `${id}.url`, path: 'Extension.extension.url', fixedUri: name },
    { id: `${id}.value[x]`, path: 'Extension.extension.value[x]', min: 1, type: [{ code: type }] },
  ];
}

function categories(name: string, title: string, max: string): StructureDefinition {
  return extension(name, `USCore${title}Extension`, `The ${name} of the patient`, [
    ...part('ombCategory', 'Coding', `The broad categories of ${name}`, max),
    ...part('detailed', 'Coding', `Codes of ${name} in detail`, '*'),
    ...part('text', 'string', `${title} in words`, '1'),
    { id: 'Extension.value[x]', path: 'Extension.value[x]', max: '0' },
  ]);
}

const birthsex = extension('birthsex', 'USCoreBirthSexExtension', 'The sex of the patient at birth', [
  { id: 'Extension.extension', path: 'Extension.extension', max: '0' },
  { id: 'Extension.value[x]', path: 'Extension.value[x]', min: 1, type: [{ code: 'code' }] },
]);

const patient: StructureDefinition = {
  resourceType: 'StructureDefinition',
  id: 'us-core-patient',
  url: `${US_CORE}/us-core-patient`,
  name: 'USCorePatientProfile',
  status: 'active',
  kind: 'resource',
  abstract: false,
  type: 'Patient',
  baseDefinition: `${FHIR}/Patient`,
  derivation: 'constraint',
  differential: {
    element: [
      { id: 'Patient', path: 'Patient' },
      ...['race', 'ethnicity', 'birthsex'].map((name) => ({
        id: `Patient.extension:${name}`,
        path: 'Patient.extension',
        sliceName: name,
        min: 0,
        max: '1',
        type: [{ code: 'Extension', profile: [`${US_CORE}/us-core-${name}`] }],
      })),
      { id: 'Patient.identifier', path: 'Patient.identifier', min: 1 },
      { id: 'Patient.name', path: 'Patient.name', min: 1 },
      { id: 'Patient.gender', path: 'Patient.gender', min: 1 },
    ],
  },
};

export const usCoreExcerpt: DefinitionExtensions = {
  profiles: [categories('race', 'Race', '5'), categories('ethnicity', 'Ethnicity', '1'), birthsex, patient],
};
