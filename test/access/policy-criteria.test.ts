import { describe, expect, test } from 'vitest';
import { assertPolicyWrite } from '../../src/access/policy/assert-policy-write.js';
import type { PolicyValue } from '../../src/access/policy/parameters.js';
import { policyCriteria } from '../../src/access/policy/policy-criteria.js';
import { FhirError } from '../../src/fhir/error.js';
import type { Criteria } from '../../src/search/criteria/criteria.js';

type Values = { readonly [name: string]: PolicyValue | readonly PolicyValue[] };

function text(value: string): PolicyValue {
  return { kind: 'string', text: value };
}

function reference(type: string, id: string): PolicyValue {
  return { kind: 'reference', type, id };
}

function criteria(type: string, written: string, values: Values = {}): Criteria {
  const parameters = Object.entries(values).map(([name, value]) => [name, [value].flat()] as const);
  return policyCriteria(type, written, new Map(parameters as [string, PolicyValue[]][]));
}

function token(code: string, system?: string): object {
  return { kind: 'token', ...(system === undefined ? {} : { system }), code };
}

describe('criteria of a policy', () => {
  test('are a search of the type', () => {
    expect(criteria('Patient', 'Patient?gender=male&active=true')).toEqual({
      kind: 'and',
      of: [
        { kind: 'match', parameter: 'gender', test: token('male') },
        { kind: 'match', parameter: 'active', test: token('true') },
      ],
    });
    for (const all of ['Patient', 'Patient?', '?', '*', '*?', 'Patient?&']) {
      expect(criteria('Patient', all)).toEqual({ kind: 'all' });
    }
  });

  test('take percent-encoding as URLs have it', () => {
    expect(criteria('Patient', 'Patient?identifier=http%3A%2F%2Fx%7C1+2')).toEqual({
      kind: 'match',
      parameter: 'identifier',
      test: token('1 2', 'http://x'),
    });
    expect(criteria('Patient', 'Patient?family:exact=M%C3%BCller')).toMatchObject({ test: { text: 'Müller' } });
    expect(criteria('Patient', 'Patient?family:exact=%c3%a4%c3%a4')).toMatchObject({ test: { text: 'ää' } });
  });

  test.each([
    ['another type', 'Observation?status=final'],
    ['no question mark', 'gender=male'],
    ['a parameter without value', 'Patient?gender'],
    ['an unknown parameter', 'Patient?colour=red'],
    ['a malformed value', 'Patient?birthdate=soon'],
    ['a page', 'Patient?_count=1'],
    ['an order', 'Patient?_sort=name'],
    ['a compartment of nothing', 'Patient?_compartment=somewhere'],
  ])('are refused with %s', (_, written) => {
    expect(() => criteria('Patient', written)).toThrow(expect.objectContaining({ code: 'invalid' }));
  });
});

describe('a parameter', () => {
  const subject = { kind: 'reference', types: ['Patient'], id: '1' };

  test('stands for a whole value: a reference, its id, or a text', () => {
    const values = { patient: reference('Patient', '1'), word: text('male') };
    for (const written of ['subject=%patient', 'subject=Patient/%patient.id', 'patient=%patient.id']) {
      expect(criteria('Observation', `Observation?${written}`, values)).toMatchObject({ test: { id: '1' } });
    }
    expect(criteria('Observation', 'Observation?subject=%patient', values)).toEqual({
      kind: 'match',
      parameter: 'subject',
      test: subject,
    });
    expect(criteria('Patient', 'Patient?gender=%word', values)).toMatchObject({ test: token('male') });
    expect(criteria('Patient', 'Patient?_id=%patient.id', values)).toEqual({ kind: 'id', ids: ['1'] });
  });

  test('with several values stands for any of them', () => {
    const values = { unit: [reference('Organization', 'a'), reference('Organization', 'b')] };
    expect(criteria('Patient', 'Patient?organization=%unit', values)).toEqual({
      kind: 'or',
      of: ['a', 'b'].map((id) => ({
        kind: 'match',
        parameter: 'organization',
        test: { kind: 'reference', types: ['Organization'], id },
      })),
    });
  });

  test.each(['organization=%unit', 'organization=Organization/%unit.id', 'organization:not=%unit', '_id=%unit.id'])(
    'without a value matches nothing: %s',
    (written) => {
      expect(criteria('Patient', `Patient?${written}`)).toEqual({ kind: 'none' });
    },
  );

  test('is its whole name, even one that looks like an escape or begins like another', () => {
    const values = { facility: text('F'), fa: text('X'), ab: text('Y'), 'ab-c': text('Z') };
    expect(criteria('Patient', 'Patient?identifier=%facility', values)).toMatchObject({ test: token('F') });
    expect(criteria('Patient', 'Patient?identifier=%fa', values)).toMatchObject({ test: token('X') });
    expect(criteria('Patient', 'Patient?identifier=%ab-c', values)).toMatchObject({ test: token('Z') });
    expect(criteria('Patient', 'Patient?_filter=identifier eq %facility', values)).toMatchObject({ test: token('F') });
  });

  test.each([
    'gender=x%word',
    'gender=%word%word',
    'identifier=http://x|%word',
    '_filter=family eq "%word"',
    '_filter=family eq x%word',
  ])('inside other text is refused: %s', (written) => {
    expect(() => criteria('Patient', `Patient?${written}`, { word: text('male') })).toThrow(/whole value/);
  });
});

describe('the value of a parameter', () => {
  const HOSTILE = [
    'Patient/1,Patient/2',
    'a|b',
    '|',
    'x&gender=male',
    'x&_id=1',
    '%26gender%3Dmale',
    '%other',
    '$',
    'a$b',
    '\\',
    'a\\,b',
    '"',
    'x" or family ne "y',
    'x") or (gender eq male',
    ' or gender eq male',
    '1 2',
    '*',
    '',
  ];

  test.each(HOSTILE.filter((value) => value !== ''))('is one string and nothing more: %j', (value) => {
    const values = { word: text(value), other: text('stolen') };
    expect(criteria('Patient', 'Patient?family:exact=%word', values)).toEqual({
      kind: 'match',
      parameter: 'family',
      test: { kind: 'string', comparator: 'exact', text: value },
    });
  });

  test('that is empty is refused, as it would ask for nothing', () => {
    expect(() => criteria('Patient', 'Patient?family=%word', { word: text('') })).toThrow(/needs a value/);
  });

  test.each(HOSTILE.filter((value) => value !== ''))('is one code and nothing more: %j', (value) => {
    expect(criteria('Patient', 'Patient?identifier=%word', { word: text(value), other: text('stolen') })).toEqual({
      kind: 'match',
      parameter: 'identifier',
      test: token(value),
    });
  });

  test.each(HOSTILE.filter((value) => value.trim() !== ''))(
    'is one literal of _filter and nothing more: %j',
    (value) => {
      const found = criteria('Patient', 'Patient?_filter=gender eq female and given sw %word', { word: text(value) });
      expect(found).toMatchObject({
        kind: 'and',
        of: [{ parameter: 'gender' }, { kind: 'match', parameter: 'given', test: { comparator: 'starts-with' } }],
      });
      expect(found.kind === 'and' && found.of.length).toBe(2);
    },
  );

  test.each(HOSTILE)('names no resource but its own where an id is meant: %j', (value) => {
    const none = { kind: 'none' };
    expect(criteria('Patient', 'Patient?organization=Organization/%unit.id', { unit: text(value) })).toEqual(none);
    expect(criteria('Patient', 'Patient?_id=%unit.id', { unit: text(value) })).toEqual(none);
  });

  test('adds no comparison to a date', () => {
    expect(criteria('Patient', 'Patient?birthdate=%day', { day: text('2020-01-01') })).toMatchObject({
      test: { prefix: 'eq' },
    });
    for (const day of ['ge2020-01-01', 'ne2020-01-01', 'ap2020']) {
      expect(() => criteria('Patient', 'Patient?birthdate=%day', { day: text(day) })).toThrow(FhirError);
    }
  });
});

describe('a compartment in criteria', () => {
  test('of a patient is that of HL7', () => {
    const found = criteria('Observation', 'Observation?_compartment=%patient', { patient: reference('Patient', '1') });
    const test = { kind: 'reference', types: ['Patient'], id: '1' };
    expect(found).toEqual({
      kind: 'or',
      of: ['subject', 'performer'].map((parameter) => ({ kind: 'match', parameter, test })),
    });
    expect(criteria('Patient', 'Patient?_compartment=Patient/1')).toEqual({ kind: 'id', ids: ['1'] });
    expect(criteria('Medication', 'Medication?_compartment=Patient/1')).toEqual({ kind: 'none' });
  });

  test('of anything else is the thing itself and what refers to it', () => {
    expect(criteria('Organization', 'Organization?_compartment=Organization/1')).toMatchObject({
      kind: 'or',
      of: expect.arrayContaining([{ kind: 'id', ids: ['1'] }]),
    });
    expect(criteria('Location', 'Location?_compartment=Organization/1')).toMatchObject({
      kind: 'match',
      parameter: 'organization',
      test: { id: '1', types: ['Organization'] },
    });
  });
});

describe('writing a policy', () => {
  const rule = { resourceType: 'Patient' };

  test.each<[string, object]>([
    ['an unknown type', { resourceType: 'Pateint' }],
    ['criteria that are no search', { ...rule, criteria: 'Patient?colour=red' }],
    ['an interaction that is none', { ...rule, interaction: ['peek'] }],
    ['a hidden field that is none', { ...rule, hiddenFields: ['birthday'] }],
    ['a readonly field that is none', { ...rule, readonlyFields: ['name.x'] }],
    ['a constraint without expression', { ...rule, writeConstraint: [{}] }],
    ['a compartment of nothing', { ...rule, compartment: { reference: 'nowhere' } }],
    ['a field of no type at all', { resourceType: '*', hiddenFields: ['nonsense'] }],
  ])('is refused with %s, and says which rule', (_, broken) => {
    const policy = { resourceType: 'AccessPolicy', id: 'p', resource: [rule, broken] };
    expect(() => assertPolicyWrite(policy as never)).toThrow(
      expect.objectContaining({ code: 'policy-invalid', details: { policy: 'AccessPolicy/p', rule: 2 } }),
    );
  });

  test('is allowed with parameters that have no values yet', () => {
    const resource = [
      { resourceType: 'Patient', criteria: 'Patient?organization=%org&_id=%patient.id' },
      { resourceType: 'Observation', criteria: 'Observation?_filter=subject eq %patient' },
      { resourceType: '*', compartment: { reference: '%patient' } },
    ];
    expect(() => assertPolicyWrite({ resourceType: 'AccessPolicy', id: 'p', resource } as never)).not.toThrow();
  });
});
