import { describe, expect, test } from 'vitest';
import { fieldPaths, hasFieldNamed } from '../../src/access/fields/hidden-fields.js';
import { elementsRead, INSIDE } from '../../src/search/index/elements-read.js';
import type { ElementRow, ParameterRow, TypeRow } from '../../src/fhir/model/definition-types.js';
import { extendDefinitions, R4 } from '../../src/definitions.js';
import { FhirModel } from '../../src/fhir/model/fhir-model.js';
import { loadFhirPath } from '../../src/fhirpath/library.js';
import * as R4_TEXTS from '../../src/fhir/r4-definitions.js';
import { searchParameter } from '../definitions/search-parameters.js';

/** R4 with a parameter that reads resources of one type inside others, as a model without caches. */
function freshModel(): FhirModel {
  const rows = JSON.parse(R4_TEXTS.parameters.Bundle!) as ParameterRow[];
  const birthDate: ParameterRow = {
    code: 'birthdate',
    type: 'date',
    expression: 'Bundle.entry.resource.ofType(Patient).birthDate',
    path: [['entry', 'resource', { ofType: 'Patient' }, 'birthDate']],
    short: 'Dates of birth',
  };
  return new FhirModel({
    ...R4_TEXTS,
    parameters: { ...R4_TEXTS.parameters, Bundle: JSON.stringify([...rows, birthDate]) },
  });
}

const target = (path: string, ...more: readonly string[]): readonly string[] =>
  ['reference', ...more, 'identifier', 'type'].map((name) => `${path}.${name}`);

describe('a search parameter reads', () => {
  test.each<[string, string, readonly string[]]>([
    ['Patient', 'birthdate', ['birthDate']],
    ['Patient', 'unknown', []],
    ['Patient', INSIDE, ['contained', 'entry']],
    ['Patient', 'general-practitioner', target('generalPractitioner')],
    ['Patient', 'general-practitioner:identifier', target('generalPractitioner')],
    ['Patient', 'general-practitioner:present', target('generalPractitioner', 'display')],
    ['Patient', 'birthdate:present', ['birthDate']],
    ['Consent', 'data:present', target('provision.data.reference', 'display')],
    ['AuditEvent', 'patient', [...target('agent.who'), ...target('entity.what')]],
    ['Observation', 'patient', target('subject')],
    ['Observation', 'patient:identifier', [...target('subject'), 'contained.id', 'contained.resourceType']],
    ['ActivityDefinition', 'composed-of', ['relatedArtifact.type', 'relatedArtifact.resource']],
    ['ActivityDefinition', 'context-quantity', ['useContext.valueQuantity', 'useContext.valueRange']],
    [
      'ActivityDefinition',
      'context-type-quantity',
      ['useContext.code', 'useContext.valueQuantity', 'useContext.valueRange'],
    ],
    ['ActivityDefinition', 'context-type-quantity$1', ['useContext.code', 'useContext.valueQuantity', 'useContext.valueRange']], // prettier-ignore
    ['DocumentReference', 'relationship', ['relatesTo.target', 'relatesTo.code']],
    ['MolecularSequence', 'chromosome-variant-coordinate', ['referenceSeq.chromosome', 'variant.start', 'variant.end']],
    ['Binary', 'has-security-context', ['securityContext']],
    ['Bundle', 'composition', ['entry', 'entry.resource', 'entry.fullUrl']],
    ['Bundle', 'birthdate', ['entry.resource.birthDate']],
    [
      'Practitioner',
      'qualification-davinci-pdex-where-valid',
      [
        'qualification.extension.url',
        'qualification.extension.extension.url',
        'qualification.extension.extension.valueCodeableConcept.coding.code',
      ],
    ],
  ])('%s?%s: %j', (type, code, paths) => {
    const model = freshModel();
    expect(elementsRead(model, type, code).paths).toEqual(paths);
    expect(elementsRead(model, type, code).paths).toEqual(paths);
  });

  test('all elements of an expression that only the FHIRPath library evaluates', async () => {
    await loadFhirPath();
    const row = { code: 'odd', type: 'string', expression: 'Patient.name.first().given | Patient.gender', short: '' } as const; // prettier-ignore
    const model = new FhirModel({
      ...R4_TEXTS,
      parameters: { ...R4_TEXTS.parameters, Patient: JSON.stringify([row]) },
    });
    expect(elementsRead(model, 'Patient', 'odd').paths).toEqual(['name', 'name.given', 'gender']);
  });

  test('returns the same list each time', () => {
    const model = freshModel();
    expect(elementsRead(model, 'Patient', 'email')).toBe(elementsRead(model, 'Patient', 'email'));
  });
});

describe('of resources inside, a search parameter reads', () => {
  const inside = async (base: string, expression: string): Promise<unknown> => {
    const parameter = searchParameter({ code: 'own', base, type: 'string', expression });
    const model = await extendDefinitions(R4, { searchParameters: [parameter] });
    return Object.fromEntries(elementsRead(model, base, 'own').inside);
  };

  test.each<[string, string, object]>([
    ['Bundle', 'Bundle.entry.resource.ofType(Patient).gender', { Patient: ['gender'] }],
    ['Bundle', 'Bundle.entry.resource.gender.first()', { Resource: ['gender'] }],
    ['Bundle', '(Bundle.entry.resource as Patient).gender.first()', { Patient: ['gender'] }],
    [
      'Bundle',
      'Bundle.entry.resource.ofType(Bundle).entry.resource.ofType(Patient).name.family',
      { Bundle: ['entry.resource.name.family'], Patient: ['name.family'] },
    ],
    ['Parameters', 'Parameters.parameter.part.resource.ofType(Patient).gender', { Patient: ['gender'] }],
    ['Patient', 'Patient.contained.ofType(Person).gender', { Person: ['gender'] }],
    ['Patient', 'Patient.descendants().ofType(string)', { Resource: [''] }],
    ['Patient', 'Patient.name.descendants().ofType(string)', {}],
    ['Questionnaire', 'Questionnaire.repeat(item).linkId', {}],
  ])('%s: %s', async (base, expression, read) => {
    expect(await inside(base, expression)).toEqual(read);
  });
});

describe('a field', () => {
  test.each<[string, string, readonly string[]]>([
    ['Patient', 'name.given', ['name.given']],
    ['Patient', 'deceased', ['deceasedBoolean', 'deceasedDateTime']],
    ['Patient', 'contained.birthDate', ['contained.birthDate']],
    ['Bundle', 'entry.resource.name.given', ['entry.resource.name.given']],
    ['Patient', 'contained.multipleBirth', ['contained.multipleBirthBoolean', 'contained.multipleBirthInteger']],
    ['Patient', 'name.given.more', []],
    ['Patient', 'unknown', []],
    ['Unknown', 'name', []],
  ])('%s %s names %j', (type, field, paths) => {
    const model = freshModel();
    expect(fieldPaths(model, type, field)).toEqual(paths);
    expect(hasFieldNamed(model, type, field)).toBe(paths.length > 0);
  });

  test('inside of resources is a field of some type', () => {
    expect(hasFieldNamed(freshModel(), 'Patient', 'contained.unknown')).toBe(false);
    expect(hasFieldNamed(freshModel(), 'Patient', 'contained.name.unknown')).toBe(false);
  });

  test('has up to fifty steps', () => {
    const field = (steps: number): string => `${'contained.'.repeat(steps - 1)}id`;
    expect(fieldPaths(freshModel(), 'Patient', field(50))).toEqual([field(50)]);
    expect(hasFieldNamed(freshModel(), 'Patient', field(50))).toBe(true);
    expect(fieldPaths(freshModel(), 'Patient', field(51))).toEqual([]);
    expect(hasFieldNamed(freshModel(), 'Patient', field(51))).toBe(false);
  });

  test('matches up to a thousand elements', () => {
    const withForms = (count: number): FhirModel => {
      const forms = Array.from({ length: count }, (_, index) => `t${index}`).join(' ');
      const patient = JSON.parse(R4_TEXTS.types.Patient!) as TypeRow;
      const elements: ElementRow[] = [...patient.elements, ['wide[x]', forms, 0, 'Any']];
      const types = { ...R4_TEXTS.types, Patient: JSON.stringify({ ...patient, elements }) };
      return new FhirModel({ ...R4_TEXTS, types });
    };
    const paths = fieldPaths(withForms(1000), 'Patient', 'wide');
    expect([paths.length, paths[0], paths[999]]).toEqual([1000, 'wideT0', 'wideT999']);
    expect(() => fieldPaths(withForms(1001), 'Patient', 'wide')).toThrow(
      expect.objectContaining({
        code: 'invalid',
        message: 'names more than 1000 elements; name one form of each choice in it',
      }) as Error,
    );
  });
});
