import { beforeAll, describe, expect, test } from 'vitest';
import { extendDefinitions } from '../../src/definitions.js';
import { validateResource } from '../../src/index.js';
import { type FhirModel, R4 } from '../../src/store.js';
import type { JsonObject } from '../../src/fhir/resource.js';
import { amy, definition, nickname, ombCoding, raceExtension, usCore, US_CORE, usCorePatient } from './us-core.js';

let model: FhirModel;
beforeAll(async () => {
  model = await extendDefinitions(R4, usCore);
});

/** `code expression` of each finding; information left out. */
async function findings(
  resource: unknown,
  profiles: true | readonly string[] = [usCorePatient.url],
  definitions = model,
): Promise<readonly string[]> {
  const { outcome, valid } = await validateResource(resource, { definitions, profiles });
  const found = outcome.issue.filter(({ severity }) => severity !== 'information');
  expect(valid).toBe(!found.some(({ severity }) => severity === 'error'));
  return found.map(({ code, expression = [] }) => `${code} ${expression.join()}`);
}

async function withProfile(elements: readonly JsonObject[], more: JsonObject = {}): Promise<FhirModel> {
  const type = String(elements[0]!['path']).split('.')[0]!;
  const profile = { url: 'http://x/p', type, kind: 'resource', differential: { element: elements }, ...more };
  return extendDefinitions(R4, { profiles: [definition(profile)] });
}

const own = ['http://x/p'];

describe('US Core', () => {
  test('a resource that conforms is valid, and nothing is unchecked', async () => {
    const result = await validateResource(amy, { definitions: model, profiles: [usCorePatient.url] });
    expect(result).toEqual({
      valid: true,
      unchecked: [],
      outcome: {
        resourceType: 'OperationOutcome',
        issue: [{ severity: 'information', code: 'informational', details: { text: 'The resource is valid' } }],
      },
    });
    expect(await findings(amy, true)).toEqual([]);
  });

  test.each<readonly [string, JsonObject, readonly string[]]>([
    ['a missing element', { gender: undefined }, ['required Patient.gender']],
    ['a missing list', { identifier: undefined }, ['required Patient.identifier']],
    [
      'a missing element of an item',
      { identifier: [...amy.identifier, { value: '2' }] },
      ['required Patient.identifier[1].system'],
    ],
    ['an invariant', { name: [{ text: 'Amy' }] }, ['invariant Patient']],
    ['an extension twice', { extension: [...amy.extension, amy.extension[1]] }, ['structure Patient.extension']],
    [
      'a code outside its value set',
      { extension: [{ url: `${US_CORE}/us-core-birthsex`, valueCode: 'X' }] },
      ['code-invalid Patient.extension[0].value.ofType(code)'],
    ],
    [
      'a value of another type',
      { extension: [{ url: `${US_CORE}/us-core-birthsex`, valueString: 'F' }] },
      ['structure Patient.extension[0].value.ofType(string)'],
    ],
    [
      'a missing part of a complex extension',
      { extension: [raceExtension(['2106-3'])] },
      ['required Patient.extension[0].extension'],
    ],
    [
      'too many parts of a complex extension',
      { extension: [raceExtension(['1002-5', '2028-9', '2054-5', '2076-8', '2106-3', '1002-5'], 'all')] },
      ['structure Patient.extension[0].extension'],
    ],
    [
      'a coding of another system',
      {
        extension: [
          {
            url: `${US_CORE}/us-core-race`,
            extension: [
              { url: 'text', valueString: 'x' },
              { url: 'ombCategory', valueCoding: { ...ombCoding('2106-3'), system: 'http://x' } },
            ],
          },
        ],
      },
      ['code-invalid Patient.extension[0].extension[1].value.ofType(Coding)'],
    ],
    [
      'an extension where it must not be used',
      { name: [{ family: 'Shaw', extension: [{ url: `${US_CORE}/us-core-birthsex`, valueCode: 'F' }] }] },
      ['structure Patient.name[0].extension[0]'],
    ],
  ])('finds %s, with its location', async (_, change, expected) => {
    expect(await findings({ ...amy, ...change })).toEqual(expected);
  });

  test('messages never have values of the resource', async () => {
    const secret = 'Zanzibar';
    const patient = {
      ...amy,
      gender: undefined,
      name: [{ text: secret }],
      extension: [{ url: `${US_CORE}/us-core-birthsex`, valueCode: secret }, raceExtension([secret])],
      identifier: [{ value: secret }],
    };
    const { outcome, valid } = await validateResource(patient, { definitions: model, profiles: [usCorePatient.url] });
    expect(valid).toBe(false);
    expect(outcome.issue.length).toBeGreaterThan(5);
    expect(JSON.stringify(outcome)).not.toContain(secret);
  });

  test('an unknown profile is an error if requested, and unchecked if only claimed', async () => {
    expect(await findings(amy, ['http://x/unknown'])).toEqual(['not-found Patient']);
    const claims = { ...amy, meta: { profile: ['http://x/unknown'] } };
    const { valid, unchecked } = await validateResource(claims, { definitions: model, profiles: true });
    expect([valid, unchecked.map(({ profile }) => profile)]).toEqual([true, ['http://x/unknown']]);
  });

  test('a profile for another type is an error', async () => {
    expect(await findings({ resourceType: 'Basic', code: { text: 'x' } })).toEqual(['invalid Basic']);
  });

  test('the definitions of FHIR apply too, unless strict is off', async () => {
    const odd = { ...amy, shoeSize: 43 };
    expect(await findings(odd)).toEqual(['structure Patient.shoeSize']);
    const { valid } = await validateResource(odd, { definitions: model, profiles: [usCorePatient.url], strict: false });
    expect(valid).toBe(true);
    expect((await validateResource({ resourceType: 'Patient', gender: 'x' })).valid).toBe(false);
  });

  test('a resource that no store can keep is not checked further', async () => {
    for (const resource of [null, 7, [], {}, { resourceType: 'Nothing' }, { resourceType: 'Patient', id: '/' }]) {
      const { valid } = await validateResource(resource, { definitions: model, profiles: true });
      expect(valid).toBe(false);
    }
    await expect(validateResource(amy, { profiles: 'x' as never })).rejects.toMatchObject({ code: 'invalid' });
  });
});

describe('rules of profiles', () => {
  const observation = { resourceType: 'Observation', status: 'final', code: { coding: [{ system: 'http://loinc.org', code: '8867-4' }] } }; // prettier-ignore

  test.each<readonly [string, readonly JsonObject[], JsonObject, readonly string[]]>([
    ['a fixed value', [{ path: 'Observation.status', fixedCode: 'amended' }], {}, ['value Observation.status']],
    [
      'a pattern',
      [{ path: 'Observation.code', patternCodeableConcept: { coding: [{ code: '1' }] } }],
      {},
      ['value Observation.code'],
    ],
    [
      'a pattern that fits',
      [{ path: 'Observation.code', patternCodeableConcept: { coding: [{ code: '8867-4' }] } }],
      { code: { coding: [{ code: '1' }, { ...observation.code.coding[0], display: 'Heart rate' }] } },
      [],
    ],
    [
      'the type of a choice',
      [{ path: 'Observation.value[x]', type: [{ code: 'Quantity' }] }],
      { valueString: 'a' },
      ['structure Observation.value.ofType(string)'],
    ],
    ['a choice that is required', [{ path: 'Observation.value[x]', min: 1 }], {}, ['required Observation.value']],
    [
      'an element that is forbidden',
      [{ path: 'Observation.note', max: '0' }],
      { note: [{ text: 'a' }] },
      ['structure Observation.note'],
    ],
    [
      'the target of a reference',
      [
        {
          path: 'Observation.subject',
          type: [{ code: 'Reference', targetProfile: ['http://hl7.org/fhir/StructureDefinition/Patient'] }],
        },
      ],
      { subject: { reference: 'Group/1' } },
      ['value Observation.subject.reference'],
    ],
    [
      'a contained target',
      [
        {
          path: 'Observation.subject',
          type: [{ code: 'Reference', targetProfile: ['http://hl7.org/fhir/StructureDefinition/Patient'] }],
        },
      ],
      { subject: { reference: '#g' }, contained: [{ resourceType: 'Group', id: 'g', type: 'person', actual: true }] },
      ['value Observation.subject.reference'],
    ],
    [
      'the length of a text',
      [{ path: 'Observation.value[x]', maxLength: 2 }],
      { valueString: 'abc' },
      ['too-long Observation.value.ofType(string)'],
    ],
    [
      'an invariant on items, with %resource',
      [
        {
          path: 'Observation.component',
          constraint: [
            {
              key: 'c-1',
              severity: 'error',
              human: 'Same status',
              expression: "%resource.status = 'final' and code.text.exists()",
            },
          ],
        },
      ],
      { component: [{ code: { text: 'a' } }, { code: { coding: [{ code: 'b' }] } }] },
      ['invariant Observation.component[1]'],
    ],
    [
      'a warning',
      [
        {
          path: 'Observation',
          constraint: [{ key: 'c-2', severity: 'warning', human: 'Better with a note', expression: 'note.exists()' }],
        },
      ],
      {},
      ['invariant Observation'],
    ],
    [
      'a profile given as snapshot',
      [{ path: 'Observation.component', min: 2, max: '999999999999999999999' }],
      { component: [{ code: { text: 'a' } }] },
      ['required Observation.component'],
    ],
    [
      'an element inside a datatype',
      [{ path: 'Observation.code.coding.display', min: 1 }],
      {},
      ['required Observation.code.coding[0].display'],
    ],
  ])('%s', async (name, elements, change, expected) => {
    const all = [{ path: 'Observation' }, ...elements];
    const form = name.endsWith('snapshot') ? { differential: undefined, snapshot: { element: all } } : {};
    expect(await findings({ ...observation, ...change }, own, await withProfile(all, form))).toEqual(expected);
  });

  test('a differential is based on the profiles that it derives from', async () => {
    const level = (number: number, base: string, element: JsonObject): JsonObject =>
      definition({
        url: `http://x/${number}`,
        type: 'Observation',
        baseDefinition: base,
        differential: { element: [element] },
      });
    const definitions = await extendDefinitions(R4, {
      profiles: [
        level(1, 'http://hl7.org/fhir/StructureDefinition/Observation', { path: 'Observation.subject', min: 1 }),
        level(2, 'http://x/1|1.0', { path: 'Observation.encounter', min: 1 }),
        level(3, 'http://x/2', { path: 'Observation.issued', min: 1 }),
      ] as never,
    });
    expect(await findings(observation, ['http://x/3'], definitions)).toEqual([
      'required Observation.issued',
      'required Observation.encounter',
      'required Observation.subject',
    ]);
  });

  test('slices by pattern, value and type', async () => {
    const elements = [
      { path: 'Observation' },
      { id: 'Observation.category', path: 'Observation.category', slicing: { discriminator: [{ type: 'pattern', path: '$this' }], rules: 'open' } },
      { id: 'Observation.category:vital', path: 'Observation.category', sliceName: 'vital', min: 1, max: '1', patternCodeableConcept: { coding: [{ code: 'vital-signs' }] } },
      { id: 'Observation.component', path: 'Observation.component', slicing: { discriminator: [{ type: 'value', path: 'code.coding.code' }], rules: 'closed' } },
      { id: 'Observation.component:sys', path: 'Observation.component', sliceName: 'sys', max: '1' },
      { id: 'Observation.component:sys.code', path: 'Observation.component.code', patternCodeableConcept: { coding: [{ code: '8480-6' }] } },
      { id: 'Observation.component:sys.value[x]', path: 'Observation.component.value[x]', min: 1 },
      { id: 'Observation.value[x]', path: 'Observation.value[x]' },
      { id: 'Observation.value[x]:valueQuantity', path: 'Observation.value[x]', sliceName: 'valueQuantity', type: [{ code: 'Quantity' }] },
      { id: 'Observation.value[x]:valueQuantity.code', path: 'Observation.value[x].code', min: 1 },
    ]; // prettier-ignore
    const definitions = await withProfile(elements);
    const category = [{ coding: [{ system: 'http://x', code: 'vital-signs' }] }];
    const systolic = { code: { coding: [{ code: '8480-6' }] } };
    const other = { code: { coding: [{ code: '1' }] }, valueString: 'a' };
    expect(await findings({ ...observation, category }, own, definitions)).toEqual([]);
    expect(await findings({ ...observation, category: [{ text: 'a' }] }, own, definitions)).toEqual([
      'required Observation.category',
    ]);
    expect(
      await findings(
        { ...observation, category, valueQuantity: { value: 1 }, component: [systolic, other] },
        own,
        definitions,
      ),
    ).toEqual([
      'required Observation.component[0].value',
      'structure Observation.component[1]',
      'required Observation.value.ofType(Quantity).code',
    ]);
    const twice = { ...systolic, valueString: 'a' };
    expect(await findings({ ...observation, category, component: [twice, twice] }, own, definitions)).toEqual([
      'structure Observation.component',
    ]);
  });

  test('unchecked rules are listed with their element and the reason', async () => {
    const definitions = await withProfile([
      { path: 'Observation', constraint: [{ key: 'x-1', severity: 'error', human: 'x', expression: "code.memberOf('http://x')" }, { key: 'x-2', severity: 'error', human: 'x' }] },
      { path: 'Observation.code', binding: { strength: 'required', valueSet: 'http://x/vs' } },
      { id: 'Observation.performer', path: 'Observation.performer', slicing: { discriminator: [{ type: 'profile', path: 'resolve()' }], rules: 'open' } },
      { id: 'Observation.performer:a', path: 'Observation.performer', sliceName: 'a', min: 1, type: [{ code: 'Reference', targetProfile: ['http://x/unknown'] }] },
      { path: 'Observation.value[x]', minValueQuantity: { value: 3 }, type: [{ code: 'Quantity', profile: ['http://x/unknown'] }] },
    ], { baseDefinition: 'http://x/base' }); // prettier-ignore
    const { valid, unchecked, outcome } = await validateResource(observation, { definitions, profiles: own });
    expect(valid).toBe(true);
    expect(new Set(unchecked.map(({ element, reason }) => `${element}: ${reason.split(':')[0]}`))).toEqual(
      new Set([
        'Observation: the base http',
        'Observation: the invariant x-1',
        'Observation: the invariant x-2',
        'Observation.code: the required binding to http',
        'Observation.performer:a: the target http',
        'Observation.performer:a: the slice',
        'Observation.value[x]: minValue or maxValue',
        'Observation.value[x]: the profile http',
      ]),
    );
    expect(unchecked.find(({ element }) => element === 'Observation.code')).toEqual({
      profile: 'http://x/p',
      element: 'Observation.code',
      reason: 'the required binding to http://x/vs: its value set is not among the definitions',
    });
    expect(outcome.issue.filter(({ code }) => code === 'not-supported')).toHaveLength(unchecked.length);
  });
});

test('nickname can be on names too', async () => {
  const definitions = await extendDefinitions(R4, { profiles: [nickname] });
  const extension = [{ url: nickname.url, valueString: 'Al' }];
  const resource = { resourceType: 'Patient', name: [{ extension }], contact: [{ name: { extension }, extension }] };
  expect(await findings(resource, [], definitions)).toEqual(['structure Patient.contact[0].extension[0]']);
});
