import { beforeAll, describe, expect, test } from 'vitest';
import { failures, openClinic, type Clinic } from './harness.js';

const RACE = 'http://example.org/race';
const note = (text: string): object => ({ extension: [{ url: 'urn:note', valueString: text }] });

let clinic: Clinic;
beforeAll(async () => {
  clinic = await openClinic([
    {
      resourceType: 'Patient',
      id: '1',
      birthDate: '1970',
      _birthDate: { id: 'b', ...note('about') },
      _gender: note('unknown'),
      extension: [
        {
          url: RACE,
          extension: [
            { url: 'ombCategory', valueCoding: { code: '2106-3', display: 'White' } },
            { url: 'text', valueString: 'White' },
          ],
        },
        { url: 'urn:gp', valueReference: { reference: 'Practitioner/1' } },
        { url: 'urn:amount', valueMoney: { value: 12.5, currency: 'EUR' } },
      ],
      name: [
        {
          given: ['Ann', null, 'Bea'],
          _given: [null, note('middle'), null],
          _family: note('none'),
        },
      ],
    },
    { resourceType: 'Practitioner', id: '1', gender: 'female' },
    {
      resourceType: 'Bundle',
      id: '1',
      type: 'collection',
      entry: [
        { fullUrl: 'urn:uuid:1', resource: { resourceType: 'Patient', id: 'x', gender: 'other' } },
        { fullUrl: 'urn:uuid:2' },
        { resource: { resourceType: 'Observation', id: 'y', subject: { reference: 'Practitioner/1' } } },
        { resource: { resourceType: 'Nothing', id: 'z' } },
        { resource: { id: 'no type' } },
      ],
    },
    {
      resourceType: 'Parameters',
      id: '1',
      parameter: [
        { name: 'a', valueString: 'x' },
        { name: 'b', resource: { resourceType: 'Patient', id: 'in', active: true } },
        {
          name: 'c',
          part: [
            { name: 'd', valueInteger: 4 },
            { name: 'e', resource: { resourceType: 'Group', id: 'g' } },
          ],
        },
      ],
    },
  ]);
});

describe('extensions', () => {
  test('are selected by url, each value under its own alias', async () => {
    const query = `{ Patient(id: 1) {
      race: extension(url: "${RACE}") {
        category: extension(url: "ombCategory") { coding: valueCoding { code } }
        text: extension(url: "text") { text: valueString }
      }
      amount: extension(url: "urn:amount") { valueMoney { value currency } valueString }
      none: extension(url: "urn:none") { url }
    } }`;
    expect(await clinic.data(query)).toEqual({
      Patient: {
        race: [{ category: [{ coding: { code: '2106-3' } }], text: [{ text: 'White' }] }],
        amount: [{ valueMoney: { value: 12.5, currency: 'EUR' }, valueString: null }],
        none: [],
      },
    });
  });

  test('lead on through their references', async () => {
    const query = `{ Patient(id: 1) { extension(url: "urn:gp") {
      valueReference { resource { ... on Practitioner { gender } } }
    } } }`;
    expect(await clinic.data(query)).toEqual({
      Patient: { extension: [{ valueReference: { resource: { gender: 'female' } } }] },
    });
  });
});

describe('the siblings of primitives', () => {
  test('have ids and extensions, also for absent values', async () => {
    const query = `{ Patient(id: 1) {
      birthDate _birthDate { id extension { url valueString } }
      gender _gender { id extension { valueString } }
      active _active { id }
    } }`;
    expect(await clinic.data(query)).toEqual({
      Patient: {
        birthDate: '1970',
        _birthDate: { id: 'b', extension: [{ url: 'urn:note', valueString: 'about' }] },
        gender: null,
        _gender: { id: null, extension: [{ valueString: 'unknown' }] },
        active: null,
        _active: null,
      },
    });
  });

  test('of lists have null at positions that are missing on either side', async () => {
    const query = '{ Patient(id: 1) { name { given _given { extension { valueString } } family _family { id } } } }';
    expect(await clinic.data(query)).toEqual({
      Patient: {
        name: [
          {
            given: ['Ann', null, 'Bea'],
            _given: [null, { extension: [{ valueString: 'middle' }] }, null],
            family: null,
            _family: { id: null },
          },
        ],
      },
    });
  });

  test.each(['_id { id }', '_name { id }', '_contained { id }', '_extension { id }'])(
    'do not exist for elements that are not primitive: %s',
    async (selection) => {
      const result = await clinic.ask(`{ Patient(id: 1) { ${selection} } }`);
      expect(failures(result)).toEqual(['invalid (1:20)']);
    },
  );
});

describe('resources inside resources', () => {
  test('in a Bundle, by type; an entry that is not a resource is null', async () => {
    const query = `{ Bundle(id: 1) { type entry { fullUrl resource {
      id resourceType __typename
      ... on Patient { gender }
      ... on Observation { subject { resource(optional: true) { ... on Practitioner { gender } } } }
    } } } }`;
    expect(await clinic.data(query)).toEqual({
      Bundle: {
        type: 'collection',
        entry: [
          {
            fullUrl: 'urn:uuid:1',
            resource: { id: 'x', resourceType: 'Patient', __typename: 'Patient', gender: 'other' },
          },
          { fullUrl: 'urn:uuid:2', resource: null },
          {
            fullUrl: null,
            resource: {
              id: 'y',
              resourceType: 'Observation',
              __typename: 'Observation',
              // Relative, and no fullUrl says to which server.
              subject: { resource: null },
            },
          },
          { fullUrl: null, resource: null },
          { fullUrl: null, resource: null },
        ],
      },
    });
  });

  test('in Parameters, at any depth', async () => {
    const query = `{ Parameters(id: 1) { parameter {
      name valueString resource { ... on Patient { active } }
      part { name valueInteger resource { id } }
    } } }`;
    const rest = { valueString: null, resource: null, part: null };
    expect(await clinic.data(query)).toEqual({
      Parameters: {
        parameter: [
          { ...rest, name: 'a', valueString: 'x' },
          { ...rest, name: 'b', resource: { active: true } },
          {
            ...rest,
            name: 'c',
            part: [
              { name: 'd', valueInteger: 4, resource: null },
              { name: 'e', valueInteger: null, resource: { id: 'g' } },
            ],
          },
        ],
      },
    });
  });

  test('filters on contained test each resource', async () => {
    const { data } = await openClinic([
      {
        resourceType: 'Observation',
        id: '1',
        contained: [
          { resourceType: 'Patient', id: 'p', active: true },
          { resourceType: 'Group', id: 'g' },
          { resourceType: 'Patient', id: 'q', active: false },
        ],
      },
    ]);
    const query = `{ Observation(id: 1) {
      p: contained(id: "p") { resourceType }
      groups: contained(resourceType: "Group") { id }
      active: contained(fhirpath: "active = true") { id }
      second: contained(_offset: 1, _count: 1) { id }
    } }`;
    expect(await data(query)).toEqual({
      Observation: {
        p: [{ resourceType: 'Patient' }],
        groups: [{ id: 'g' }],
        active: [{ id: 'p' }],
        second: [{ id: 'g' }],
      },
    });
  });
});
