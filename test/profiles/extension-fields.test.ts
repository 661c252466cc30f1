import { buildSchema, parse, validate } from 'graphql';
import { beforeAll, describe, expect, test } from 'vitest';
import { extendDefinitions } from '../../src/definitions.js';
import { parseJson, stringifyJson } from '../../src/http.js';
import { MemoryStore, printFhirSchema, serverCaller, validateFhirGraphql } from '../../src/index.js';
import { type FhirModel, R4 } from '../../src/store.js';
import { sparingStore } from '../support/sparing-store.js';
import { failures, messages, openClinic, type Clinic } from '../graphql/harness.js';
import { repositoryOf, signedIn } from '../repository/harness.js';
import { amy, birthsex, definition, nickname, ombCoding, raceExtension, usCore, US_CORE } from './us-core.js';

const TELEMETRY = 'http://clinic.example/StructureDefinition/dose';
/** A decimal, a reference, and a complex extension that repeats with parts that repeat. */
const own = [
  definition({
    url: 'http://clinic.example/StructureDefinition/called',
    name: 'Called',
    type: 'Extension',
    context: [{ type: 'element', expression: 'HumanName' }],
    differential: { element: [{ path: 'Extension', max: '*' }, { path: 'Extension.valueString' }] },
  }),
  definition({
    url: TELEMETRY,
    name: 'Dose',
    type: 'Extension',
    context: [{ type: 'element', expression: 'Patient' }],
    snapshot: { element: [{ path: 'Extension', max: '*' }, { path: 'Extension.value[x]', type: [{ code: 'decimal' }] }] },
  }),
  definition({
    url: 'http://clinic.example/StructureDefinition/guide',
    name: 'Guide',
    type: 'Extension',
    context: [{ type: 'element', expression: 'Patient.contact' }],
    differential: {
      element: [
        { path: 'Extension', max: '1' },
        { path: 'Extension.value[x]', type: [{ code: 'Reference', targetProfile: ['http://hl7.org/fhir/StructureDefinition/Organization'] }] },
      ],
    },
  }),
  definition({
    url: 'http://clinic.example/StructureDefinition/trip',
    name: 'Trip',
    type: 'Extension',
    context: [{ type: 'element', expression: 'Patient' }],
    differential: {
      element: [
        { id: 'Extension', path: 'Extension', short: 'A journey', max: '*' },
        { id: 'Extension.extension:place', path: 'Extension.extension', sliceName: 'place', max: '*' },
        { id: 'Extension.extension:place.value[x]', path: 'Extension.extension.value[x]', type: [{ code: 'string' }] },
        { id: 'Extension.extension:by-sea', path: 'Extension.extension', sliceName: 'by-sea', max: '1' },
        { id: 'Extension.extension:by-sea.value[x]', path: 'Extension.extension.value[x]', type: [{ code: 'boolean' }] },
      ],
    },
  }),
]; // prettier-ignore

const trip = (places: readonly string[], sea?: boolean) => ({
  url: 'http://clinic.example/StructureDefinition/trip',
  extension: [
    ...places.map((place) => ({ url: 'place', valueString: place })),
    ...(sea === undefined ? [] : [{ url: 'by-sea', valueBoolean: sea }]),
  ],
});

const called = (name: string) => ({ url: 'http://clinic.example/StructureDefinition/called', valueString: name });

let model: FhirModel;
let clinic: Clinic;
beforeAll(async () => {
  model = await extendDefinitions(R4, { ...usCore, profiles: [...usCore.profiles, nickname, ...own] });
  const guide = [
    { url: 'http://clinic.example/StructureDefinition/guide', valueReference: { reference: 'Organization/o' } },
  ];
  clinic = await openClinic(
    [
      {
        ...amy,
        extension: [
          ...amy.extension,
          trip(['Bern', 'Oslo'], true),
          trip(['Rome']),
          { url: nickname.url, valueCodeableConcept: { text: 'Ames' } },
        ],
        name: [
          { family: 'Shaw', extension: [{ url: nickname.url, valueString: 'Al' }] },
          { family: 'Shaw-Stone', extension: [called('Bo'), called('Bobo')] },
        ],
        contact: [{ name: { family: 'C' }, extension: guide }],
      },
      { resourceType: 'Patient', id: 'bare' },
      { resourceType: 'Organization', id: 'o', name: 'Guides' },
    ],
    new MemoryStore({ model }),
  );
});

describe('selection', () => {
  test('simple and complex extensions, in one place and repeating', async () => {
    const query = `{ Patient(id: "amy") {
      race { ombCategory { code } text detailed { code } }
      ethnicity { text }
      birthsex
      trip { place bySea }
      nickname { valueString valueCodeableConcept { text } }
      name { family nickname { valueString } }
      contact { guide { reference resource { __typename ... on Organization { name } } } }
      extension(url: "${birthsex.url}") { valueCode }
    } }`;
    expect(await clinic.data(query)).toEqual({
      Patient: {
        race: { ombCategory: [{ code: '2106-3' }, { code: '1002-5' }], text: 'Mixed', detailed: null },
        ethnicity: null,
        birthsex: 'F',
        trip: [
          { place: ['Bern', 'Oslo'], bySea: true },
          { place: ['Rome'], bySea: null },
        ],
        nickname: [{ valueString: null, valueCodeableConcept: { text: 'Ames' } }],
        name: [
          { family: 'Shaw', nickname: [{ valueString: 'Al' }] },
          { family: 'Shaw-Stone', nickname: null },
        ],
        contact: [{ guide: { reference: 'Organization/o', resource: { __typename: 'Organization', name: 'Guides' } } }],
        extension: [{ valueCode: 'F' }],
      },
    });
    expect(await clinic.data('{ Patient(id: "bare") { birthsex race { text } trip { place } } }')).toEqual({
      Patient: { birthsex: null, race: null, trip: null },
    });
  });

  test('aliases, fragments, directives and dialect hl7', async () => {
    const query = `{ Patient(id: "amy") { sex: birthsex ...P trip @first { place } } }
      fragment P on Patient { race { ... { words: text } ombCategory @flatten { code } } }`;
    expect(await clinic.data(query)).toEqual({
      Patient: { sex: 'F', race: { words: 'Mixed', code: ['2106-3', '1002-5'] }, trip: [{ place: ['Bern', 'Oslo'] }] },
    });
    expect(await clinic.data('{ Patient(id: "bare") { id birthsex race { text } } }', {}, { dialect: 'hl7' })).toEqual({
      Patient: { id: 'bare' },
    });
  });

  test('filters: by parts of a repeating extension, by an extension of list items, by FHIRPath and pages', async () => {
    const query = `query ($place: String) { Patient(id: "amy") {
      sea: trip(bySea: true) { place }
      rome: trip(place: $place) { place }
      two: trip(fhirpath: "extension.where(url = 'place').count() = 2") { bySea }
      second: trip(_offset: 1, _count: 1) { place }
      none: trip(place: "Paris") { place }
      name(called: ["Al", "Bo"]) { family called }
    } }`;
    expect(await clinic.data(query, { place: 'Rome' })).toEqual({
      Patient: {
        sea: [{ place: ['Bern', 'Oslo'] }],
        rome: [{ place: ['Rome'] }],
        two: [{ bySea: true }],
        second: [{ place: ['Rome'] }],
        none: [],
        name: [{ family: 'Shaw-Stone', called: ['Bo', 'Bobo'] }],
      },
    });
  });

  test('decimals keep their text', async () => {
    const dose = parseJson(`{"resourceType":"Patient","id":"dose","extension":[{"url":"${TELEMETRY}","valueDecimal":1.50},{"url":"${TELEMETRY}","valueDecimal":2}]}`); // prettier-ignore
    const other = await openClinic([dose as never], new MemoryStore({ model }));
    const result = await other.ask('{ Patient(id: "dose") { dose } }');
    expect(stringifyJson(result)).toBe('{"data":{"Patient":{"dose":[1.50,2]}}}');
  });

  test('errors, costs and validation include the fields', async () => {
    expect(messages(await clinic.ask('{ Patient(id: "amy") { race { txt } } }')).join()).toContain(
      'Cannot query field "txt" on type "USCoreRaceExtension". Did you mean "text"?',
    );
    expect(failures(await clinic.ask('{ Patient(id: "amy") { race } }'))).toHaveLength(1);
    const { errors } = await validateFhirGraphql('{ Patient(id: 1) { birthsex trip(_count: -1) { place } } }', {
      definitions: model,
    });
    expect(errors.map(({ message }) => message)).toEqual(['Argument "_count" must be a whole number from 0 up']);
    expect((await validateFhirGraphql('{ Patient(id: 1) { birthsex } }')).errors).toHaveLength(1);
  });
});

describe('the schema', () => {
  test('has fields, types, arguments and inputs, in SDL and by introspection', async () => {
    const sdl = printFhirSchema({ model, types: ['Patient', 'Organization'] });
    const schema = buildSchema(sdl);
    for (const line of [
      '  """US Core race Extension"""\n  race: USCoreRaceExtension\n',
      '  """Sex at birth"""\n  birthsex: String\n',
      '"""US Core race Extension"""\ntype USCoreRaceExtension {\n',
      '  ): [Coding]\n',
      'input USCoreRaceExtensionInput {\n  """The OMB categories of race"""\n  ombCategory: [CodingInput]\n',
      '  """A journey"""\n  trip: [TripInput]\n',
      '  bySea: Boolean\n',
    ]) {
      expect(sdl).toContain(line);
    }
    const query = '{ PatientList { race { text ombCategory { code } } birthsex trip(bySea: true) { place } name(nickname: "x") { family } } }'; // prettier-ignore
    expect(validate(schema, parse(query.replace('(nickname: "x")', '')))).toEqual([]);
    const fields =
      '{ __type(name: "USCoreRaceExtension") { fields { name description type { kind ofType { name } name } } } }';
    expect(await clinic.data(fields)).toEqual({
      __type: {
        fields: [
          { name: 'ombCategory', description: 'The OMB categories of race', type: { kind: 'LIST', name: null, ofType: { name: 'Coding' } } },
          { name: 'detailed', description: 'Extended codes', type: { kind: 'LIST', name: null, ofType: { name: 'Coding' } } },
          { name: 'text', description: 'Race text', type: { kind: 'SCALAR', name: 'String', ofType: null } },
        ],
      },
    }); // prettier-ignore
  });

  test('without profiles is unchanged', () => {
    expect(printFhirSchema({ types: ['Patient'] })).not.toContain('birthsex');
  });
});

describe('mutations', () => {
  const create = 'mutation ($res: PatientInput!) { PatientCreate(res: $res) { id extension { url valueCode extension { url valueString valueCoding { code } } } birthsex } }'; // prettier-ignore

  test('fields become extensions, from variables and literals', async () => {
    const res = {
      extension: [{ url: 'http://x/other', valueString: 'kept' }],
      birthsex: 'M',
      race: { text: 'A', ombCategory: [ombCoding('2106-3')] },
      trip: [{ place: ['Bern'], bySea: false }, { place: 'Oslo' }],
      name: [{ family: 'B', nickname: [{ valueString: 'Bob' }] }],
    };
    const made = (await clinic.data(create, { res })) as { PatientCreate: { id: string } };
    const { resource } = (await clinic.store.read([{ project: 'clinic', type: 'Patient', id: made.PatientCreate.id }]))[0] as never as { resource: object }; // prettier-ignore
    const expected = {
      extension: [
        { url: 'http://x/other', valueString: 'kept' },
        { url: birthsex.url, valueCode: 'M' },
        { url: `${US_CORE}/us-core-race`, extension: [{ url: 'text', valueString: 'A' }, { url: 'ombCategory', valueCoding: ombCoding('2106-3') }] },
        trip(['Bern'], false),
        trip(['Oslo']),
      ],
      name: [{ family: 'B', extension: [{ url: nickname.url, valueString: 'Bob' }] }],
    }; // prettier-ignore
    expect(resource).toMatchObject(expected);
    expect(resource).not.toHaveProperty('birthsex');
    const literal = `mutation ($race: USCoreRaceExtensionInput, $sex: String) { PatientUpdate(id: "lit", res: { birthsex: $sex, race: $race, name: { family: "B" nickname: { valueString: Bob } } }) { birthsex race { text } name { nickname { valueString } } } }`;
    expect(await clinic.data(literal, { race: { text: 'C' }, sex: 'F' })).toEqual({
      PatientUpdate: { birthsex: 'F', race: { text: 'C' }, name: [{ nickname: [{ valueString: 'Bob' }] }] },
    });
  });

  test('an extension given twice is refused; null and absent fields are no extension', async () => {
    const twice = { birthsex: 'M', extension: [{ url: birthsex.url, valueCode: 'F' }] };
    expect(messages(await clinic.ask(create, { res: twice }))).toEqual([
      `Patient has the extension ${birthsex.url} both in "extension" and as a field; give it once`,
    ]);
    const none = (await clinic.data(create, { res: { birthsex: null, race: null, trip: [] } })) as {
      PatientCreate: object;
    };
    expect(none.PatientCreate).toMatchObject({ extension: null, birthsex: null });
    const wrong = await clinic.ask(create, { res: { race: { text: 7 } } });
    expect(messages(wrong).join()).toContain('race.text');
  });

  test('a value that was read can be written back', async () => {
    const { Patient } = (await clinic.data('{ Patient(id: "amy") { race { ombCategory { system code } text } birthsex } }')) as { Patient: object }; // prettier-ignore
    const made = (await clinic.data(create, { res: Patient })) as { PatientCreate: { extension: unknown } };
    const plain = [raceExtension(['2106-3', '1002-5'], 'Mixed')].map(({ url }) => url);
    expect(made.PatientCreate.extension).toMatchObject([{ url: plain[0] }, { url: birthsex.url, valueCode: 'F' }]);
  });
});

describe('access', () => {
  test('fields of hidden extensions are absent, in selection and filters', async () => {
    const extension = [{ url: nickname.url, valueString: 'Al' }, called('Bo')];
    const project = { resourceType: 'Project', id: 'clinic', name: 'Clinic' };
    const store = sparingStore(new MemoryStore({ model }));
    await repositoryOf(store, serverCaller('clinic')).update(project as never);
    await openClinic([{ ...amy, name: [{ family: 'Shaw', extension }] }], store);
    const ask = async (hiddenFields: readonly string[], text: string): Promise<unknown> => {
      const caller = await signedIn(store, { rules: [{ resourceType: 'Patient', hiddenFields: [...hiddenFields] }] });
      return (await clinic.ask(text, {}, { store, caller })).data;
    };
    const query = '{ Patient(id: "amy") { birthsex race { text } name { family nickname { valueString } } } }';
    const shown = { family: 'Shaw', nickname: [{ valueString: 'Al' }] };
    expect(await ask(['gender'], query)).toEqual({
      Patient: { birthsex: 'F', race: { text: 'Mixed' }, name: [shown] },
    });
    expect(await ask(['extension'], query)).toEqual({ Patient: { birthsex: null, race: null, name: [shown] } });
    expect(await ask(['name.extension'], query)).toEqual({
      Patient: { birthsex: 'F', race: { text: 'Mixed' }, name: [{ family: 'Shaw', nickname: null }] },
    });
    const filter = '{ Patient(id: "amy") { name(called: "Bo") { family } } }';
    expect(await ask(['gender'], filter)).toEqual({ Patient: { name: [{ family: 'Shaw' }] } });
    expect(await ask(['name.extension'], filter)).toEqual({ Patient: { name: [] } });
  });
});

describe('names', () => {
  const simple = (url: string, name: string, more: object = {}) =>
    definition({ url, name, type: 'Extension', context: [{ type: 'element', expression: 'Patient' }], differential: { element: [{ path: 'Extension', max: '1' }, { path: 'Extension.value[x]', type: [{ code: 'string' }] }] }, ...more }); // prettier-ignore
  const fieldsOf = async (
    profiles: readonly object[],
    extensionFields?: { [url: string]: string | false },
  ): Promise<string[]> => {
    const extended = await extendDefinitions(R4, { profiles: profiles as never, extensionFields });
    const plain = printFhirSchema({ types: ['Patient'] }).split('\n');
    const lines = new Set(plain);
    return printFhirSchema({ model: extended, types: ['Patient'] }).split('\n').filter((line) => !lines.has(line) && /^ {2}\w+: /.test(line)); // prettier-ignore
  };

  test('come from the host, the slice of a profile, or the url', async () => {
    const url = 'http://x/StructureDefinition/my-first_mark';
    expect(await fieldsOf([simple(url, 'Mark')])).toEqual(['  myFirstMark: String', '  myFirstMark: String']);
    expect(await fieldsOf([simple(url, 'Mark')], { [url]: 'mark' })).toEqual(['  mark: String', '  mark: String']);
    expect(await fieldsOf([simple(url, 'Mark')], { [url]: false })).toEqual([]);
    const profile = definition({ url: 'http://x/p', type: 'Patient', kind: 'resource', differential: { element: [{ path: 'Patient' }, { id: 'Patient.extension:the-mark', path: 'Patient.extension', sliceName: 'the-mark', max: '*', type: [{ code: 'Extension', profile: [url] }] }] } }); // prettier-ignore
    expect(await fieldsOf([simple(url, 'Mark'), profile])).toEqual(['  theMark: [String]', '  theMark: [String]']);
  });

  test.each([
    ['an element', 'http://x/gender', 'is an element'],
    ['a choice', 'http://x/deceased', 'is an element'],
    ['another field', 'http://x/observation-list', 'would be the field "observationList"'],
    ['no name', 'http://x/7up', 'is not a name in GraphQL'],
  ])('that clash with %s are refused, with a way to fix it', async (name, url, message) => {
    const names = name === 'another field' ? { [url]: 'ObservationList' } : undefined;
    const expected = name === 'another field' ? 'is a field of every schema' : message;
    await expect(fieldsOf([simple(url, 'Mark')], names)).rejects.toThrow(expected);
    await expect(fieldsOf([simple(url, 'Mark')], names)).rejects.toThrow(`extensionFields: { "${url}": '…' }`);
    expect(await fieldsOf([simple(url, 'Mark')], { [url]: 'mark' })).toEqual(['  mark: String', '  mark: String']);
  });

  test('of two extensions must differ, and types must not have the names of others', async () => {
    const two = [simple('http://x/a/mark', 'A'), simple('http://x/b/mark', 'B')];
    await expect(fieldsOf(two)).rejects.toThrow('is the field of another extension');
    const typed = simple('http://x/a/mark', 'HumanName', { differential: { element: [{ path: 'Extension.value[x]', type: [{ code: 'string' }, { code: 'code' }] }] } }); // prettier-ignore
    await expect(fieldsOf([typed])).rejects.toThrow('has the name of another type');
  });
});
