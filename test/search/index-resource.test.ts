import type { AnyResource } from '../../src/index.js';
import { indexEntries, type IndexEntry, R4 } from '../../src/store.js';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { cases } from '../support/chance.js';

describe('token values', () => {
  it('include each coding of a CodeableConcept, with its texts', () => {
    const code = {
      coding: [
        { system: 'http://loinc.org', code: '8302-2', display: 'Height' },
        { code: 'H', display: 'Body height' },
      ],
      text: 'Body height',
    };
    expect(valuesOf({ resourceType: 'Observation', code }, 'code')).toEqual([
      { kind: 'token', system: 'http://loinc.org', code: '8302-2', texts: ['Height', 'Body height'] },
      { kind: 'token', code: 'H', texts: ['Body height'] },
    ]);
  });

  it('include the text of a concept without codings, for :text', () => {
    expect(valuesOf({ resourceType: 'Observation', code: { text: 'Height' } }, 'code')).toEqual([
      { kind: 'token', texts: ['Height'] },
    ]);
  });

  it('include identifiers with the text of their type', () => {
    const identifier = [{ system: 'urn:mrn', value: '7', type: { text: 'MRN' } }, { value: '8' }];
    expect(valuesOf({ resourceType: 'Patient', identifier }, 'identifier')).toEqual([
      { kind: 'token', system: 'urn:mrn', code: '7', texts: ['MRN'] },
      { kind: 'token', code: '8' },
    ]);
  });

  it('include contact points by their value, sorted by system', () => {
    const telecom = [
      { system: 'phone', value: '555' },
      { system: 'email', value: 'a@b.c' },
    ];
    const patient = { resourceType: 'Patient', telecom };
    expect(valuesOf(patient, 'phone')).toEqual([{ kind: 'token', code: '555' }]);
    expect(valuesOf(patient, 'email')).toEqual([{ kind: 'token', code: 'a@b.c' }]);
    expect(valuesOf(patient, 'telecom')).toHaveLength(2);
  });

  it('include a bound code without system and with the system of its value set', () => {
    expect(valuesOf({ resourceType: 'Patient', gender: 'male' }, 'gender')).toEqual([
      { kind: 'token', code: 'male' },
      { kind: 'token', system: 'http://hl7.org/fhir/administrative-gender', code: 'male' },
    ]);
  });

  it('include booleans as codes', () => {
    expect(valuesOf({ resourceType: 'Patient', active: false }, 'active')).toEqual([{ kind: 'token', code: 'false' }]);
  });

  it.each([
    [{}, 'false'],
    [{ deceasedBoolean: false }, 'false'],
    [{ deceasedBoolean: true }, 'true'],
    [{ deceasedDateTime: '2020' }, 'true'],
    [{ _deceasedDateTime: { extension: [{ url: 'urn:x', valueCode: 'unknown' }] } }, 'true'],
  ])('include whether a patient has died: %j', (deceased, code) => {
    expect(valuesOf({ resourceType: 'Patient', ...deceased }, 'deceased')).toEqual([{ kind: 'token', code }]);
  });

  it('include the type of a profile from the reference alone', () => {
    const membership = { resourceType: 'ProjectMembership', profile: { reference: 'Practitioner/1' } };
    expect(valuesOf(membership, 'profile-type')).toEqual([{ kind: 'token', code: 'Practitioner' }]);
  });

  it('include tags, profiles, labels and source of meta', () => {
    const meta = {
      tag: [{ system: 'urn:t', code: 'x' }],
      security: [{ code: 'R' }],
      profile: ['http://p|1'],
      source: 'urn:src',
    };
    const resource = { resourceType: 'Slot', meta };
    expect(valuesOf(resource, '_tag')).toEqual([{ kind: 'token', system: 'urn:t', code: 'x' }]);
    expect(valuesOf(resource, '_security')).toEqual([{ kind: 'token', code: 'R' }]);
    expect(valuesOf(resource, '_profile')).toEqual([{ kind: 'uri', value: 'http://p|1' }]);
    expect(valuesOf(resource, '_source')).toEqual([{ kind: 'uri', value: 'urn:src' }]);
  });

  it('exclude data that stores keep separately', () => {
    const resource = { resourceType: 'Slot', id: '1', meta: { lastUpdated: '2020-01-01T00:00:00Z' } };
    expect(indexEntries(R4, resource)).toEqual([]);
  });
});

describe('string values', () => {
  it('include each part of a name and of an address', () => {
    const patient = {
      resourceType: 'Patient',
      name: [{ family: 'Müller', given: ['Ann', 'Bea'], prefix: ['Dr.'], suffix: ['II'], text: 'Ann Müller' }],
      address: [{ line: ['1 Main St'], city: 'Bern', district: 'D', state: 'BE', postalCode: '3000', country: 'CH' }],
    };
    expect(textsOf(patient, 'name')).toEqual(['Müller', 'Ann', 'Bea', 'Dr.', 'II', 'Ann Müller']);
    expect(textsOf(patient, 'address')).toEqual(['1 Main St', 'Bern', 'D', 'BE', '3000', 'CH']);
    expect(valuesOf(patient, 'family')).toEqual([{ kind: 'string', text: 'Müller', folded: 'muller' }]);
  });

  it('skip the nulls between given names', () => {
    expect(textsOf({ resourceType: 'Patient', name: [{ given: ['Ann', null, 'Bea'] }] }, 'given')).toEqual([
      'Ann',
      'Bea',
    ]);
  });
});

describe('date values', () => {
  const day = { kind: 'date', low: Date.UTC(2020, 0, 2), high: Date.UTC(2020, 0, 3) };

  it('are the intervals of the precision of dates', () => {
    expect(valuesOf({ resourceType: 'Patient', birthDate: '2020-01-02' }, 'birthdate')).toEqual([day]);
  });

  it('of periods reach from the start of their start to the end of their end, open if one is absent', () => {
    const period = (value: object): unknown => valuesOf({ resourceType: 'Encounter', period: value }, 'date')[0];
    expect(period({ start: '2020-01-02', end: '2020-01-02' })).toEqual(day);
    expect(period({ start: '2020-01-02' })).toEqual({ ...day, high: 1e15 });
    expect(period({ end: '2020-01-02' })).toEqual({ ...day, low: -1e15 });
    expect(period({})).toBeUndefined();
    expect(period({ start: '2021', end: '2020' })).toBeUndefined();
  });

  it('of a timing are the interval of its events and bounds', () => {
    const timing = (effectiveTiming: object): unknown[] =>
      valuesOf({ resourceType: 'Observation', effectiveTiming }, 'date');
    expect(timing({ event: ['2020-01-02', '2019'] })).toEqual([{ ...day, low: Date.UTC(2019, 0, 1) }]);
    expect(timing({ repeat: { boundsPeriod: { start: '2020-01-02', end: '2020-01-02' } } })).toEqual([day]);
    expect(timing({ event: ['2020-01-02'], repeat: { boundsPeriod: { end: '2020-01-01' } } })).toEqual([
      { ...day, low: -1e15 },
    ]);
    expect(timing({ repeat: { frequency: 1 } })).toEqual([]);
  });

  it('skip values that are not dates', () => {
    expect(valuesOf({ resourceType: 'Patient', birthDate: '2021-02-30' }, 'birthdate')).toEqual([]);
  });
});

describe('number and quantity values', () => {
  const quantity = (value: object): unknown[] =>
    valuesOf({ resourceType: 'Observation', valueQuantity: value }, 'value-quantity');

  it('of a quantity have its coded and its human-readable unit', () => {
    expect(quantity({ value: 5.4, unit: 'mg', system: 'http://unitsofmeasure.org', code: 'mg' })).toEqual([
      { kind: 'quantity', low: 5.4, high: 5.4, system: 'http://unitsofmeasure.org', code: 'mg', unit: 'mg' },
    ]);
  });

  it.each([
    ['<', -1e300, 5],
    ['<=', -1e300, 5],
    ['>', 5, 1e300],
    ['>=', 5, 1e300],
  ])('are widened by the comparator %s', (comparator, low, high) => {
    expect(quantity({ value: 5, comparator })).toEqual([{ kind: 'quantity', low, high }]);
  });

  it('include ranges, money and the origin of sampled data', () => {
    const group = {
      resourceType: 'Group',
      characteristic: [{ valueRange: { low: { value: 1, code: 'a' }, high: { value: 9 } } }],
    };
    expect(valuesOf(group, 'characteristic-range')).toEqual([{ kind: 'quantity', low: 1, high: 9, code: 'a' }]);
    const invoice = { resourceType: 'Invoice', totalNet: { value: 10, currency: 'CHF' } };
    expect(valuesOf(invoice, 'totalnet')).toEqual([
      { kind: 'quantity', low: 10, high: 10, system: 'urn:iso:std:iso:4217', code: 'CHF', unit: 'CHF' },
    ]);
    const observation = { resourceType: 'Observation', valueSampledData: { origin: { value: 2, code: 'mV' } } };
    expect(valuesOf(observation, 'value-quantity')).toEqual([{ kind: 'quantity', low: 2, high: 2, code: 'mV' }]);
  });

  it('of numbers are points, and of ranges intervals', () => {
    const risk = (prediction: object): unknown[] =>
      valuesOf({ resourceType: 'RiskAssessment', prediction: [prediction] }, 'probability');
    expect(risk({ probabilityDecimal: 0.5 })).toEqual([{ kind: 'number', low: 0.5, high: 0.5 }]);
    expect(risk({ probabilityRange: { high: { value: 3 } } })).toEqual([{ kind: 'number', low: -1e300, high: 3 }]);
  });

  it.each([
    ['stat', 50],
    ['routine', 20],
    [undefined, 10],
  ])('rank the priority %s as %i', (priority, rank) => {
    expect(valuesOf({ resourceType: 'ServiceRequest', priority }, 'priority-order')).toEqual([
      { kind: 'number', low: rank, high: rank },
    ]);
  });
});

describe('reference and uri values', () => {
  const subject = (value: object): IndexEntry[] =>
    indexEntries(R4, { resourceType: 'Observation', subject: value } as AnyResource);

  it('of local references are type and id, for any version', () => {
    expect(subject({ reference: 'Patient/1/_history/2' })).toEqual([
      { parameter: 'patient', group: 0, value: { kind: 'reference', type: 'Patient', id: '1' } },
      { parameter: 'subject', group: 0, value: { kind: 'reference', type: 'Patient', id: '1' } },
    ]);
  });

  it('exclude a reference from a parameter for another type', () => {
    expect(subject({ reference: 'Group/1' }).map((entry) => entry.parameter)).toEqual(['subject']);
  });

  it('of foreign references are their URL, never a local resource', () => {
    expect(subject({ reference: 'http://other.org/fhir/Patient/1' })).toEqual([
      { parameter: 'patient', group: 0, value: { kind: 'reference', url: 'http://other.org/fhir/Patient/1' } },
      { parameter: 'subject', group: 0, value: { kind: 'reference', url: 'http://other.org/fhir/Patient/1' } },
    ]);
    expect(subject({ reference: 'urn:uuid:7' })).toEqual([
      { parameter: 'subject', group: 0, value: { kind: 'reference', url: 'urn:uuid:7' } },
    ]);
  });

  it('of logical references are under the :identifier modifier', () => {
    const token = { kind: 'token', system: 'urn:mrn', code: '7' };
    expect(subject({ type: 'Patient', identifier: { system: 'urn:mrn', value: '7' } })).toEqual([
      { parameter: 'patient:identifier', group: 0, value: token },
      { parameter: 'subject:identifier', group: 0, value: token },
    ]);
  });

  it('include references without a target', () => {
    const present = { parameter: 'subject:present', group: 0, value: { kind: 'token' } };
    for (const value of [{ reference: '#p' }, { display: 'Ann' }, { reference: '#' }, { identifier: {} }]) {
      expect(subject(value)).toEqual([present]);
    }
    expect(subject({ type: 'Patient' })).toEqual([{ ...present, parameter: 'patient:present' }, present]);
    for (const value of [{}, { display: '' }, { extension: [{ url: 'x', valueCode: 'y' }] }, { id: 'x' }]) {
      expect(subject(value)).toEqual([]);
    }
  });

  it('include values of referenced contained resources, with their numbers', () => {
    const observation = {
      resourceType: 'Observation',
      contained: [
        { resourceType: 'Patient', id: 'p', gender: 'male', link: [{ other: { reference: '#q' } }] },
        { resourceType: 'Patient', id: 'q', link: [{ other: { reference: '#p' } }] },
        { resourceType: 'Patient', id: 'unused', gender: 'male' },
        { resourceType: 'Nonsense', id: 'n' },
      ],
      subject: { reference: '#p' },
      device: { reference: '#n' },
    } as unknown as AnyResource;
    const link = (parameter: string, group: number, to: number): IndexEntry => {
      return { parameter, group, value: { kind: 'number', low: to, high: to } };
    };
    const inside = indexEntries(R4, observation).filter(({ parameter }) => parameter.includes('#'));
    expect(inside.filter(({ value }) => value.kind === 'number')).toEqual([
      link('patient#Patient', 0, 1),
      link('subject#Patient', 0, 1),
      link('#Patient.link#Patient', 1, 2),
      link('#Patient.link#Patient', 2, 1),
    ]);
    expect(inside.filter(({ parameter }) => parameter === '#Patient.gender')).toEqual([
      { parameter: '#Patient.gender', group: 1, value: { kind: 'token', code: 'male' } },
      {
        parameter: '#Patient.gender',
        group: 1,
        value: { kind: 'token', system: 'http://hl7.org/fhir/administrative-gender', code: 'male' },
      },
    ]);
  });

  it('of canonicals are references, including the version', () => {
    const activity = {
      resourceType: 'PlanDefinition',
      relatedArtifact: [{ type: 'depends-on', resource: 'http://l|2' }],
    };
    expect(valuesOf(activity, 'depends-on')).toEqual([{ kind: 'reference', url: 'http://l|2' }]);
    expect(valuesOf(activity, 'composed-of')).toEqual([]);
  });

  it('include the first entry of a document as its composition', () => {
    const bundle = {
      resourceType: 'Bundle',
      entry: [
        { fullUrl: 'http://elsewhere/Composition/c', resource: { resourceType: 'Composition', id: 'c' } },
        { resource: { resourceType: 'Patient', id: 'p' } },
      ],
    };
    expect(valuesOf(bundle, 'composition')).toEqual([{ kind: 'reference', url: 'http://elsewhere/Composition/c' }]);
  });

  it('of uris are unchanged', () => {
    expect(valuesOf({ resourceType: 'ValueSet', url: 'http://A/b' }, 'url')).toEqual([
      { kind: 'uri', value: 'http://A/b' },
    ]);
  });
});

describe('composite values', () => {
  const component = (code: string, value: number): object => ({
    code: { coding: [{ code }] },
    valueQuantity: { value },
  });

  it('group the values that belong together', () => {
    const observation = { resourceType: 'Observation', component: [component('sys', 120), component('dia', 80)] };
    expect(entriesOf(observation, 'component-code-value-quantity$')).toEqual([
      { parameter: 'component-code-value-quantity$0', group: 1, value: { kind: 'token', code: 'sys' } },
      { parameter: 'component-code-value-quantity$1', group: 1, value: { kind: 'quantity', low: 120, high: 120 } },
      { parameter: 'component-code-value-quantity$0', group: 2, value: { kind: 'token', code: 'dia' } },
      { parameter: 'component-code-value-quantity$1', group: 2, value: { kind: 'quantity', low: 80, high: 80 } },
    ]);
  });

  it('number the groups of all alternatives consecutively', () => {
    const observation = { resourceType: 'Observation', ...component('bp', 1), component: [component('sys', 120)] };
    expect(entriesOf(observation, 'combo-code-value-quantity$').map((entry) => entry.group)).toEqual([1, 1, 2, 2]);
  });

  it('omit a group that lacks a part', () => {
    const observation = {
      resourceType: 'Observation',
      component: [{ code: { coding: [{ code: 'x' }] } }, component('sys', 120)],
    };
    const entries = entriesOf(observation, 'component-code-value-quantity$');
    expect(entries.map((entry) => entry.group)).toEqual([1, 1]);
  });

  it('reach the resource from a component', () => {
    const sequence = {
      resourceType: 'MolecularSequence',
      referenceSeq: { chromosome: { coding: [{ code: '1' }] } },
      variant: [{ start: 5, end: 6 }],
    };
    expect(entriesOf(sequence, 'chromosome-variant-coordinate$').map((entry) => entry.value)).toEqual([
      { kind: 'token', code: '1' },
      { kind: 'number', low: 5, high: 5 },
      { kind: 'number', low: 6, high: 6 },
    ]);
  });
});

describe('every resource', () => {
  it('has equal entries only once', () => {
    const coding = { system: 's', code: 'c' };
    const many = Array.from({ length: 60 }, (_, index) => ({ system: 's', code: `c${index % 30}` }));
    expect(valuesOf({ resourceType: 'Slot', meta: { tag: [coding, { ...coding }] } }, '_tag')).toHaveLength(1);
    expect(valuesOf({ resourceType: 'Slot', meta: { tag: many } }, '_tag')).toHaveLength(30);
  });

  it('has no entries for an unknown type', () => {
    for (const resourceType of ['Nothing', '__proto__', 'constructor', 'HumanName']) {
      expect(indexEntries(R4, { resourceType })).toEqual([]);
    }
  });

  it('is not changed', () => {
    const resource = deepFreeze({
      resourceType: 'MolecularSequence',
      referenceSeq: { chromosome: { coding: [{ code: '1' }] } },
      variant: [{ start: 5, end: 6 }],
    });
    expect(indexEntries(R4, resource).length).toBeGreaterThan(0);
  });

  it('skips malformed elements and never throws', () => {
    const anyJson = fc.jsonValue({ maxDepth: 4 });
    const elements = fc.dictionary(
      fc.constantFrom('code', 'subject', 'name', 'valueQuantity', 'effectivePeriod', 'component', 'meta', 'identifier'),
      anyJson,
    );
    fc.assert(
      fc.property(fc.constantFrom(...R4.resourceTypes), elements, (resourceType, body) => {
        const entries = indexEntries(R4, { ...body, resourceType });
        for (const { value } of entries) {
          if (value.kind === 'date' || value.kind === 'number' || value.kind === 'quantity') {
            expect(Number.isFinite(value.low) && Number.isFinite(value.high) && value.low <= value.high).toBe(true);
          }
        }
      }),
      { numRuns: cases(500) },
    );
  });

  it('has compiled parameters', () => {
    for (const resourceType of R4.resourceTypes) expect(() => indexEntries(R4, { resourceType })).not.toThrow();
  });
});

function entriesOf(resource: object, parameter: string): IndexEntry[] {
  return indexEntries(R4, resource as AnyResource).filter((entry) => entry.parameter.startsWith(parameter));
}

function valuesOf(resource: object, parameter: string): unknown[] {
  return indexEntries(R4, resource as AnyResource)
    .filter((entry) => entry.parameter === parameter)
    .map((entry) => entry.value);
}

function textsOf(resource: object, parameter: string): string[] {
  return valuesOf(resource, parameter).map((value) => (value as { text: string }).text);
}

function deepFreeze<Value>(value: Value): Value {
  if (typeof value === 'object' && value !== null) Object.values(value).forEach(deepFreeze);
  return Object.freeze(value);
}
