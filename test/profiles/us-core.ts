import type { AnyResource } from '../../src/index.js';
import type { JsonObject } from '../../src/fhir/resource.js';

/**
 * An excerpt in the manner of US Core 3.1, written for these tests: two complex extensions, a simple one, and a profile of
 * Patient by differential.
 */
export const US_CORE = 'http://hl7.org/fhir/us/core/StructureDefinition';
const OMB = 'urn:oid:2.16.840.1.113883.6.238';

export interface Definition extends AnyResource, JsonObject {
  readonly url: string;
}

export function definition(resource: JsonObject): Definition {
  return { resourceType: 'StructureDefinition', status: 'active', kind: 'complex-type', abstract: false, ...resource } as unknown as Definition; // prettier-ignore
}

function categories(name: 'race' | 'ethnicity', title: string, valueSet: string, max: string): Definition {
  const url = `${US_CORE}/us-core-${name}`;
  const part = (slice: string, type: string, more: JsonObject, binding?: JsonObject): JsonObject[] => [
    { id: `Extension.extension:${slice}`, path: 'Extension.extension', sliceName: slice, ...more, type: [{ code: 'Extension' }] },
    { id: `Extension.extension:${slice}.extension`, path: 'Extension.extension.extension', max: '0' },
    { id: `Extension.extension:${slice}.url`, path: 'Extension.extension.url', fixedUri: slice },
    { id: `Extension.extension:${slice}.value[x]`, path: 'Extension.extension.value[x]', min: 1, type: [{ code: type }], ...(binding === undefined ? {} : { binding }) },
  ]; // prettier-ignore
  return definition({
    id: `us-core-${name}`,
    url,
    name: `USCore${title}Extension`,
    title: `US Core ${title} Extension`,
    type: 'Extension',
    baseDefinition: 'http://hl7.org/fhir/StructureDefinition/Extension',
    derivation: 'constraint',
    context: [{ type: 'element', expression: 'Patient' }],
    differential: {
      element: [
        { id: 'Extension', path: 'Extension', short: `US Core ${name} Extension`, min: 0, max: '1' },
        ...part('ombCategory', 'Coding', { short: `The OMB categories of ${name}`, min: 0, max }, { strength: 'required', valueSet }),
        ...part('detailed', 'Coding', { short: 'Extended codes', min: 0, max: '*' }),
        ...part('text', 'string', { short: `${title} text`, min: 1, max: '1' }),
        { id: 'Extension.url', path: 'Extension.url', fixedUri: url },
        { id: 'Extension.value[x]', path: 'Extension.value[x]', max: '0' },
      ],
    },
  }); // prettier-ignore
}

const VALUE_SETS = 'http://hl7.org/fhir/us/core/ValueSet';

export const race = categories('race', 'Race', `${VALUE_SETS}/omb-race-category`, '5');
export const ethnicity = categories('ethnicity', 'Ethnicity', `${VALUE_SETS}/omb-ethnicity-category`, '1');

export const birthsex = definition({
  id: 'us-core-birthsex',
  url: `${US_CORE}/us-core-birthsex`,
  name: 'USCoreBirthSexExtension',
  type: 'Extension',
  baseDefinition: 'http://hl7.org/fhir/StructureDefinition/Extension',
  derivation: 'constraint',
  context: [{ type: 'element', expression: 'Patient' }],
  differential: {
    element: [
      { id: 'Extension', path: 'Extension', short: 'Sex at birth', max: '1' },
      { id: 'Extension.extension', path: 'Extension.extension', max: '0' },
      { id: 'Extension.url', path: 'Extension.url', fixedUri: `${US_CORE}/us-core-birthsex` },
      {
        id: 'Extension.value[x]',
        path: 'Extension.value[x]',
        min: 1,
        type: [{ code: 'code' }],
        binding: { strength: 'required', valueSet: `${VALUE_SETS}/birthsex` },
      },
    ],
  },
});

/** Repeats, and has a value of a choice of types. */
export const nickname = definition({
  id: 'nickname',
  url: 'http://clinic.example/StructureDefinition/nickname',
  name: 'Nickname',
  type: 'Extension',
  baseDefinition: 'http://hl7.org/fhir/StructureDefinition/Extension',
  derivation: 'constraint',
  context: [{ type: 'element', expression: 'HumanName' }, { type: 'element', expression: 'Patient' }],
  differential: {
    element: [
      { id: 'Extension', path: 'Extension', short: 'What friends say', max: '*' },
      { id: 'Extension.extension', path: 'Extension.extension', max: '0' },
      { id: 'Extension.url', path: 'Extension.url', fixedUri: 'http://clinic.example/StructureDefinition/nickname' },
      { id: 'Extension.value[x]', path: 'Extension.value[x]', min: 1, type: [{ code: 'string' }, { code: 'CodeableConcept' }] },
    ],
  },
}); // prettier-ignore

export const usCorePatient = definition({
  id: 'us-core-patient',
  url: `${US_CORE}/us-core-patient`,
  name: 'USCorePatientProfile',
  kind: 'resource',
  type: 'Patient',
  baseDefinition: 'http://hl7.org/fhir/StructureDefinition/Patient',
  derivation: 'constraint',
  differential: {
    element: [
      {
        id: 'Patient',
        path: 'Patient',
        constraint: [
          {
            key: 'us-core-6',
            severity: 'error',
            human: 'Either Patient.name.given and/or Patient.name.family SHALL be present',
            expression: 'name.family.exists() or name.given.exists()',
          },
        ],
      },
      ...['race', 'ethnicity', 'birthsex'].map((name) => ({
        id: `Patient.extension:${name}`,
        path: 'Patient.extension',
        sliceName: name,
        min: 0,
        max: '1',
        type: [{ code: 'Extension', profile: [`${US_CORE}/us-core-${name}`] }],
      })),
      { id: 'Patient.identifier', path: 'Patient.identifier', min: 1 },
      { id: 'Patient.identifier.system', path: 'Patient.identifier.system', min: 1 },
      { id: 'Patient.identifier.value', path: 'Patient.identifier.value', min: 1 },
      { id: 'Patient.name', path: 'Patient.name', min: 1 },
      { id: 'Patient.gender', path: 'Patient.gender', min: 1 },
    ],
  },
});

function valueSet(name: string, system: string, codes: readonly string[]): AnyResource {
  const concept = codes.map((code) => ({ code }));
  return { resourceType: 'ValueSet', status: 'active', url: `${VALUE_SETS}/${name}`, compose: { include: [{ system, concept }] } } as AnyResource; // prettier-ignore
}

export const usCore = {
  profiles: [race, ethnicity, birthsex, usCorePatient],
  valueSets: [
    valueSet('omb-race-category', OMB, ['1002-5', '2028-9', '2054-5', '2076-8', '2106-3']),
    valueSet('omb-ethnicity-category', OMB, ['2135-2', '2186-5']),
    valueSet('birthsex', 'http://terminology.hl7.org/CodeSystem/v3-AdministrativeGender', ['F', 'M', 'UNK']),
  ],
};

export const ombCoding = (code: string): JsonObject => ({ system: OMB, code });

export function raceExtension(codes: readonly string[], text?: string): JsonObject {
  return {
    url: race.url,
    extension: [
      ...codes.map((code) => ({ url: 'ombCategory', valueCoding: ombCoding(code) })),
      ...(text === undefined ? [] : [{ url: 'text', valueString: text }]),
    ],
  };
}

/** A patient that conforms. */
export const amy = {
  resourceType: 'Patient',
  id: 'amy',
  meta: { profile: [usCorePatient.url] },
  extension: [raceExtension(['2106-3', '1002-5'], 'Mixed'), { url: birthsex.url, valueCode: 'F' }],
  identifier: [{ system: 'http://clinic.example/mrn', value: '1032702' }],
  name: [{ family: 'Shaw', given: ['Amy', 'V.'] }],
  gender: 'female',
};
