import { describe, expect, it } from 'vitest';
import { type IndexValue, R4, type ValueTest } from '../../src/store.js';
import { finds, refusal, interval, testOf, text } from './harness.js';

const point = (value: number): IndexValue => ({ kind: 'number', low: value, high: value });
const range = (low: number, high: number): IndexValue => ({ kind: 'number', low, high });
const forever = -1e15;
const evermore = 1e15;

/** Section of https://hl7.org/fhir/R4/search.html, type, parameter, value searched, value stored, whether it is found. */
type Case = readonly [
  section: string,
  type: string,
  parameter: string,
  value: string,
  stored: IndexValue,
  found: boolean,
];

const probability = ['RiskAssessment', 'probability'] as const;
const birthdate = ['Patient', 'birthdate'] as const;
const date = ['Encounter', 'date'] as const;
const family = ['Patient', 'family'] as const;
const code = ['Observation', 'code'] as const;
const quantity = ['Observation', 'value-quantity'] as const;
const url = ['ValueSet', 'url'] as const;

const UCUM = 'http://unitsofmeasure.org';
const mg: IndexValue = { kind: 'quantity', low: 5.4, high: 5.4, system: UCUM, code: 'mg', unit: 'milligram' };
const day14 = interval('2013-01-14T00:00:00Z', '2013-01-15T00:00:00Z');
const from21Jan: IndexValue = { kind: 'date', low: Date.parse('2013-01-21'), high: evermore };
const from15Mar: IndexValue = { kind: 'date', low: Date.parse('2013-03-15'), high: evermore };
const until21Jan: IndexValue = { kind: 'date', low: forever, high: Date.parse('2013-01-22') };
const loinc: IndexValue = { kind: 'token', system: 'http://loinc.org', code: '8302-2' };
const bare: IndexValue = { kind: 'token', code: '8302-2' };

const CASES: readonly Case[] = [
  // 3.1.1.4.6 number: implicit precision of eq and ne, exact value of the others
  ['4.6', ...probability, '100', point(99.5), true],
  ['4.6', ...probability, '100', point(100.49), true],
  ['4.6', ...probability, '100', point(100.5), false],
  ['4.6', ...probability, '100.00', point(99.995), true],
  ['4.6', ...probability, '100.00', point(100.005), false],
  ['4.6', ...probability, '100.00', point(99.99), false],
  ['4.6', ...probability, '1e2', point(95), true],
  ['4.6', ...probability, '1e2', point(94.9), false],
  ['4.6', ...probability, '1e2', point(105), false],
  ['4.6', ...probability, '2E2', point(195), true],
  ['4.6', ...probability, '2E2', point(194.9), false],
  // with an exponent, digits that are written count: 1.00e2 has three
  ['4.6', ...probability, '1.00e2', point(99.5), true],
  ['4.6', ...probability, '1.00e2', point(99.4), false],
  ['4.6', ...probability, '1.00e2', point(100.5), false],
  ['4.6', ...probability, '1.0e2', point(95), true],
  ['4.6', ...probability, '1.0e2', point(94.9), false],
  ['4.6', ...probability, '10e1', point(95), true],
  ['4.6', ...probability, '10e1', point(105), false],
  ['4.6', ...probability, '100e0', point(99.5), true],
  ['4.6', ...probability, '100e0', point(100.5), false],
  ['4.6', ...probability, '5.40e-3', point(0.005395), true],
  ['4.6', ...probability, '5.40e-3', point(0.0053949), false],
  ['4.6', ...probability, '5.40e-3', point(0.005405), false],
  ['4.6', ...probability, 'ne5.40e-3', point(0.005405), true],
  ['4.6', ...probability, 'ne1.00e2', point(100.4), false],
  // one digit is worth two, at any position
  ['4.6', ...probability, '0.1e3', point(95), true],
  ['4.6', ...probability, '0.1e3', point(94.9), false],
  ['4.6', ...probability, '-1e2', point(-105), true],
  ['4.6', ...probability, '-1e2', point(-95), false],
  ['4.6', ...probability, '0e0', point(-0.05), true],
  ['4.6', ...probability, '0.0e0', point(0.05), false],
  ['4.6', ...probability, '0.00e0', point(0.005), false],
  ['4.6', ...probability, '5.40', point(5.395), true],
  ['4.6', ...probability, '5.40', point(5.405), false],
  ['4.6', ...probability, '-2', point(-2.5), true],
  ['4.6', ...probability, '-2', point(-1.5), false],
  ['4.6', ...probability, 'lt100', point(100), false],
  ['4.6', ...probability, 'lt100', point(99.999), true],
  ['4.6', ...probability, 'le100', point(100), true],
  ['4.6', ...probability, 'le100', point(100.1), false],
  ['4.6', ...probability, 'gt100', point(100), false],
  ['4.6', ...probability, 'gt100', point(100.1), true],
  ['4.6', ...probability, 'ge100', point(100), true],
  ['4.6', ...probability, 'ge100', point(99.9), false],
  ['4.6', ...probability, 'ne100', point(100.4), false],
  ['4.6', ...probability, 'ne100', point(100.5), true],
  ['4.6', ...probability, 'sa100', point(100), false],
  ['4.6', ...probability, 'sa100', point(100.1), true],
  ['4.6', ...probability, 'eb100', point(99.9), true],
  ['4.6', ...probability, 'eb100', point(100), false],
  ['4.6', ...probability, 'ap100', point(110), true],
  ['4.6', ...probability, 'ap100', point(110.1), false],
  ['4.6', ...probability, 'ap-100', point(-91), true],
  ['4.6', ...probability, 'ap-100', point(-89), false],
  // a stored Range
  ['4.6', ...probability, '0.5', range(0.46, 0.54), true],
  ['4.6', ...probability, '0.5', range(0.4, 0.54), false],
  ['4.6', ...probability, 'gt0.5', range(0.2, 0.6), true],
  ['4.6', ...probability, 'sa0.5', range(0.2, 0.6), false],
  ['4.6', ...probability, 'sa0.5', range(0.51, 0.6), true],
  ['4.6', ...probability, 'eb0.5', range(0.2, 0.49), true],
  ['4.6', ...probability, 'ap0.5', range(0.55, 0.9), true],
  // 3.1.1.4.7 date: the specification's own table
  ['4.7', ...date, 'eq2013-01-14', interval('2013-01-14T00:00:00Z', '2013-01-14T00:01:00Z'), true],
  ['4.7', ...date, 'eq2013-01-14', interval('2013-01-14T10:00:00Z', '2013-01-14T10:01:00Z'), true],
  ['4.7', ...date, 'eq2013-01-14', interval('2013-01-15T00:00:00Z', '2013-01-15T00:01:00Z'), false],
  ['4.7', ...date, 'ne2013-01-14', interval('2013-01-15T00:00:00Z', '2013-01-15T00:01:00Z'), true],
  ['4.7', ...date, 'ne2013-01-14', interval('2013-01-14T00:00:00Z', '2013-01-14T00:01:00Z'), false],
  ['4.7', ...date, 'lt2013-01-14T10:00', day14, true],
  ['4.7', ...date, 'gt2013-01-14T10:00', day14, true],
  ['4.7', ...date, 'ge2013-03-14', from21Jan, true],
  ['4.7', ...date, 'le2013-03-14', from21Jan, true],
  ['4.7', ...date, 'sa2013-03-14', from15Mar, true],
  ['4.7', ...date, 'sa2013-03-14', from21Jan, false],
  ['4.7', ...date, 'sa2013-03-14', until21Jan, false],
  ['4.7', ...date, 'eb2013-03-14', from15Mar, false],
  ['4.7', ...date, 'eb2013-03-14', from21Jan, false],
  ['4.7', ...date, 'eb2013-03-14', until21Jan, true],
  // an open period is never contained
  ['4.7', ...date, 'eq2013', from21Jan, false],
  ['4.7', ...date, 'gt2013-01-14', day14, false],
  ['4.7', ...date, 'lt2013-01-14', day14, false],
  ['4.7', ...date, 'ge2013-01-14', day14, true],
  ['4.7', ...date, 'le2013-01-14', day14, true],
  // precision, from the year down to the millisecond, and zones
  ['4.7', ...birthdate, '2013', day14, true],
  ['4.7', ...birthdate, '2013-01', day14, true],
  ['4.7', ...birthdate, '2013-02', day14, false],
  ['4.7', ...birthdate, '2013-01-14T00:00:00.000Z', day14, false],
  ['4.7', ...date, '2013-01-14T02:00:00+02:00', interval('2013-01-14T00:00:00Z', '2013-01-14T00:00:01Z'), true],
  // 3.1.1.4.8 string
  ['4.8', ...family, 'eve', text('Evelyn'), true],
  ['4.8', ...family, 'eve', text('Severine'), false],
  ['4.8', `${family[0]}`, 'family:contains', 'eve', text('Severine'), true],
  ['4.8', `${family[0]}`, 'family:exact', 'Eve', text('Eve'), true],
  ['4.8', `${family[0]}`, 'family:exact', 'Eve', text('eve'), false],
  ['4.8', `${family[0]}`, 'family:exact', 'Eve', text('Evelyn'), false],
  ['4.8', ...family, 'MULLER', text('Müller'), true],
  ['4.8', ...family, 'müller', text('Muller'), true],
  ['4.8', ...family, 'obrien', text("O'Brien"), true],
  ['4.8', ...family, 'smith  jones', text('Smith-Jones'), true],
  ['4.8', ...family, 'a\\,b', text('a,b'), true],
  // 3.1.1.4.10 token: strings ignore case, codes do not
  ['4.10', 'AuditEvent', 'altid', 'ANN@Example.ORG', { kind: 'token', code: 'ann@example.org' }, true],
  ['4.10', 'AuditEvent', 'altid', 'ann', { kind: 'token', code: 'ann@example.org' }, false],
  ['4.10', 'Observation', 'value-concept', 'Positive', { kind: 'token', code: 'positive' }, false],
  ['4.10', 'Patient', 'deceased', 'True', { kind: 'token', code: 'true' }, true],
  ['4.10', 'Observation', 'value-concept', 'POS', { kind: 'token', code: 'POS' }, true],
  ['4.10', 'Observation', 'value-concept', 'pos', { kind: 'token', code: 'POS' }, false],
  ['4.10', 'Observation', 'value-concept', 'http://x|POS', { kind: 'token', system: 'http://x', code: 'pos' }, false],
  ['4.10', 'Patient', 'gender', 'Male', { kind: 'token', code: 'male' }, false],
  // MIME types
  ['4.10', 'DocumentReference', 'contenttype:below', 'image', { kind: 'token', code: 'image/png' }, true],
  ['4.10', 'DocumentReference', 'contenttype:below', 'image', { kind: 'token', code: 'imagery/png' }, false],
  ['4.10', 'DocumentReference', 'contenttype:below', 'image/png', { kind: 'token', code: 'image/png' }, true],
  ['4.10', 'DocumentReference', 'contenttype:below', 'image/p', { kind: 'token', code: 'image/png' }, false],
  ['4.10', 'DocumentReference', 'contenttype:below', 'text/xml', { kind: 'token', code: 'text/xml;charset=x' }, true],
  ['4.10', 'DocumentReference', 'contenttype:below', 'text/xml', { kind: 'token', code: 'text/xml ; a=b' }, true],
  ['4.10', 'DocumentReference', 'contenttype:below', 'text/xml', { kind: 'token', code: 'text/xml-dtd' }, false],
  // 3.1.1.4.9 uri
  ['4.9', 'Patient', '_profile', 'http://p/a', { kind: 'uri', value: 'http://p/a|2' }, true],
  ['4.9', 'Patient', '_profile', 'http://p/a', { kind: 'uri', value: 'http://p/ab|2' }, false],
  ['4.9', 'Patient', '_profile', 'http://p/a\\|2', { kind: 'uri', value: 'http://p/a|2' }, true],
  ['4.9', 'Patient', '_profile', 'http://p/a|2', { kind: 'uri', value: 'http://p/a|2' }, true],
  ['4.9', 'Patient', '_profile', 'http://p/a|2', { kind: 'uri', value: 'http://p/a|3' }, false],
  ['4.9', 'Patient', '_profile', 'http://p/a|2', { kind: 'uri', value: 'http://p/a' }, false],
  ['4.9', 'ValueSet', 'url', 'http://p/a', { kind: 'uri', value: 'http://p/a|2' }, false],
  [
    '4.9',
    ...url,
    'http://acme.org/fhir/ValueSet/123',
    { kind: 'uri', value: 'http://acme.org/fhir/ValueSet/123' },
    true,
  ],
  [
    '4.9',
    ...url,
    'http://acme.org/fhir/ValueSet/123',
    { kind: 'uri', value: 'http://acme.org/fhir/ValueSet/1234' },
    false,
  ],
  ['4.9', ...url, 'http://acme.org/FHIR', { kind: 'uri', value: 'http://acme.org/fhir' }, false],
  ['4.9', ...url, 'urn:oid:1.2.3.4.5', { kind: 'uri', value: 'urn:oid:1.2.3.4.5' }, true],
  [
    '4.9',
    'ValueSet',
    'url:below',
    'http://acme.org/fhir/',
    { kind: 'uri', value: 'http://acme.org/fhir/ValueSet/1' },
    true,
  ],
  [
    '4.9',
    'ValueSet',
    'url:below',
    'http://acme.org/fhir',
    { kind: 'uri', value: 'http://acme.org/fhir/ValueSet/1' },
    true,
  ],
  ['4.9', 'ValueSet', 'url:below', 'http://acme.org/fhir', { kind: 'uri', value: 'http://acme.org/fhirless' }, false],
  ['4.9', 'ValueSet', 'url:above', 'http://acme.org/a/_history/5', { kind: 'uri', value: 'http://acme.org/a' }, true],
  ['4.9', 'ValueSet', 'url:above', 'http://acme.org/a', { kind: 'uri', value: 'http://acme.org/a/b' }, false],
  // 3.1.1.4.10 token
  ['4.10', ...code, '8302-2', loinc, true],
  ['4.10', ...code, '8302-2', bare, true],
  ['4.10', ...code, 'http://loinc.org|8302-2', loinc, true],
  ['4.10', ...code, 'http://loinc.org|8302-2', bare, false],
  ['4.10', ...code, '|8302-2', loinc, false],
  ['4.10', ...code, '|8302-2', bare, true],
  ['4.10', ...code, 'http://loinc.org|', loinc, true],
  ['4.10', ...code, 'http://loinc.org|', bare, false],
  ['4.10', ...code, 'A', { kind: 'token', code: 'a' }, false],
  ['4.10', ...code, 'a\\|b', { kind: 'token', code: 'a|b' }, true],
  ['4.10', 'Observation', 'code:text', 'body', { kind: 'token', code: '1', texts: ['Height of the Body'] }, true],
  ['4.10', 'Observation', 'code:text', 'body', { kind: 'token', code: 'body' }, false],
  // 3.1.1.4.11 quantity
  ['4.11', ...quantity, `5.4|${UCUM}|mg`, mg, true],
  ['4.11', ...quantity, `5.4|${UCUM}|kg`, mg, false],
  ['4.11', ...quantity, '5.4|http://other|mg', mg, false],
  ['4.11', ...quantity, '5.4||mg', mg, true],
  ['4.11', ...quantity, '5.4||milligram', mg, true],
  ['4.11', ...quantity, '5.4||kg', mg, false],
  ['4.11', ...quantity, '5.4', mg, true],
  ['4.11', ...quantity, '5', mg, true],
  ['4.11', ...quantity, '5.40', mg, true],
  ['4.11', ...quantity, '5.3', mg, false],
  ['4.11', ...quantity, `le5.4|${UCUM}|mg`, mg, true],
  ['4.11', ...quantity, `ap5|${UCUM}|mg`, mg, true],
  ['4.11', ...quantity, 'ne5.4||mg', mg, false],
  ['4.11', ...quantity, `ne5.4|${UCUM}|kg`, mg, false],
  // 3.1.1.4.12 reference
  ['4.12', 'Observation', 'subject', '23', { kind: 'reference', type: 'Group', id: '23' }, true],
  ['4.12', 'Observation', 'patient', '23', { kind: 'reference', type: 'Group', id: '23' }, false],
  ['4.12', 'Observation', 'subject', 'Patient/23', { kind: 'reference', type: 'Patient', id: '23' }, true],
  ['4.12', 'Observation', 'subject', 'Patient/23/_history/4', { kind: 'reference', type: 'Patient', id: '23' }, true],
  ['4.12', 'Observation', 'subject', 'Patient/23', { kind: 'reference', type: 'Group', id: '23' }, false],
  ['4.12', 'Observation', 'subject:Patient', '23', { kind: 'reference', type: 'Patient', id: '23' }, true],
  ['4.12', 'Observation', 'subject:Patient', '23', { kind: 'reference', type: 'Group', id: '23' }, false],
  ['4.12', 'Observation', 'subject', 'http://a/Patient/23', { kind: 'reference', type: 'Patient', id: '23' }, false],
  ['4.12', 'Observation', 'subject', 'http://a/Patient/23', { kind: 'reference', url: 'http://a/Patient/23' }, true],
  ['4.12', 'Observation', 'subject', 'urn:uuid:1', { kind: 'reference', url: 'urn:uuid:1' }, true],
  // 3.1.1.4.13 canonicals
  ['4.13', 'QuestionnaireResponse', 'questionnaire', 'http://a/q', { kind: 'reference', url: 'http://a/q|1.0' }, true],
  [
    '4.13',
    'QuestionnaireResponse',
    'questionnaire',
    'http://a/q|1.0',
    { kind: 'reference', url: 'http://a/q|1.0' },
    true,
  ],
  [
    '4.13',
    'QuestionnaireResponse',
    'questionnaire',
    'http://a/q|1',
    { kind: 'reference', url: 'http://a/q|1.0' },
    false,
  ],
  ['4.13', 'QuestionnaireResponse', 'questionnaire', 'http://a/q', { kind: 'reference', url: 'http://a/quiz' }, false],
];

describe('one searched value against one stored value', () => {
  it.each(CASES)('§%s %s %s=%s finds %j: %s', (_section, type, parameter, value, stored, found) => {
    expect(finds(type, parameter, value, stored)).toBe(found);
  });
});

describe('options of value reading', () => {
  const now = new Date('2020-01-11T00:00:00Z');

  it('widens ap by a tenth of the gap between now and the date', () => {
    // The gap from the end of the day (2020-01-02) to now is 9 days.
    expect(testOf('Patient', 'birthdate', 'ap2020-01-01', { now })).toEqual({
      kind: 'date',
      prefix: 'ap',
      low: Date.parse('2020-01-01T00:00:00Z') - 0.9 * 86_400_000,
      high: Date.parse('2020-01-02T00:00:00Z') + 0.9 * 86_400_000,
    });
  });

  it('does not change ap if now is in the date', () => {
    expect(testOf('Patient', 'birthdate', 'ap2020', { now })).toMatchObject({
      low: Date.parse('2020-01-01T00:00:00Z'),
      high: Date.parse('2021-01-01T00:00:00Z'),
    });
  });

  it('treats only references below the own base as local', () => {
    const model = R4.withBaseUrl('https://own.example/fhir');
    const testAt = (reference: string): ValueTest => testOf('Observation', 'subject', reference, undefined, model);
    const own = testAt('https://own.example/fhir/Patient/1');
    expect(own).toEqual({ kind: 'reference', types: ['Patient'], id: '1' });
    const foreign = testAt('https://other.example/Patient/1');
    expect(foreign).toEqual({ kind: 'reference', url: 'https://other.example/Patient/1' });
  });
});

describe('malformed values', () => {
  it.each([
    ['Patient', 'birthdate', 'yesterday'],
    ['Patient', 'birthdate', '2021-02-30'],
    ['Patient', 'birthdate', 'gt'],
    ['Patient', 'birthdate', '2021-01-01T10'],
    ['Patient', 'birthdate', '2021-01-01T10:00:00 02:00'],
    ['RiskAssessment', 'probability', 'half'],
    ['RiskAssessment', 'probability', '1e9999'],
    ['RiskAssessment', 'probability', '0x10'],
    ['RiskAssessment', 'probability', 'po1'],
    ['Observation', 'value-quantity', '5.4|mg'],
    ['Observation', 'value-quantity', '|http://unitsofmeasure.org|mg'],
    ['Observation', 'code', '|'],
    ['Observation', 'code', 'a|b|c'],
    ['Observation', 'code', 'a\\b'],
    ['Observation', 'code', 'a\\'],
    ['Observation', 'subject', '#contained'],
    ['Observation', 'subject', 'Patient/'],
    ['Observation', 'subject', 'Patience/1'],
    ['Observation', 'subject:Patient', 'Group/1'],
    ['Observation', 'code-value-quantity', 'a'],
    ['Observation', 'code-value-quantity', 'a$5$6'],
    ['Observation', 'code-value-quantity', 'a$b'],
    ['Observation', 'code-value-quantity', '$5'],
    ['Patient', 'active:missing', 'perhaps'],
    ['Patient', 'family', ''],
    ['Patient', 'family', 'a,,b'],
    ['Patient', '_lastUpdated', 'x'],
    ['ValueSet', 'url:below', 'urn:oid:1.2'],
  ])('%s?%s=%s is invalid', (type, name, value) => {
    expect(refusal(() => testOf(type, name, value)).code).toBe('invalid');
  });

  it('quotes at most 40 characters of the value', () => {
    const { message } = refusal(() => testOf('Patient', 'birthdate', 'z'.repeat(500)));
    expect(message).toContain(`"${'z'.repeat(39)}…"`);
    expect(message).not.toContain('z'.repeat(40));
  });
});
