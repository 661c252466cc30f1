import { describe, expect, test } from 'vitest';
import { idOf, parseReference, referenceTo } from '../../src/fhir/reference.js';

const BASE = 'https://own.base/fhir';
/** Types that references probably have. */
const LIKELY = ['Pat', 'Group', 'Patient'];

describe('parseReference', () => {
  test.each<[string, unknown]>([
    ['Patient/1', { kind: 'local', type: 'Patient', id: '1' }],
    ['Patient/a-B.9', { kind: 'local', type: 'Patient', id: 'a-B.9' }],
    [`Patient/${'x'.repeat(64)}`, { kind: 'local', type: 'Patient', id: 'x'.repeat(64) }],
    ['Patient/1/_history/2', { kind: 'local', type: 'Patient', id: '1', version: '2' }],
    [`${BASE}/Patient/1`, { kind: 'local', type: 'Patient', id: '1' }],
    [`${BASE}/Patient/1/_history/2`, { kind: 'local', type: 'Patient', id: '1', version: '2' }],
    ['#', { kind: 'container' }],
    ['#med', { kind: 'contained', id: 'med' }],
    ['##', { kind: 'contained', id: '#' }],
    [
      'urn:uuid:0c3151bd-1cbf-4d64-b04d-cd9187a4c6e0',
      { kind: 'urn', urn: 'urn:uuid:0c3151bd-1cbf-4d64-b04d-cd9187a4c6e0' },
    ],
    ['urn:oid:1.2.3', { kind: 'urn', urn: 'urn:oid:1.2.3' }],
  ])('%.90s', (text, expected) => {
    expect(parseReference(text, BASE)).toEqual(expected);
    expect(parseReference(text, BASE, LIKELY)).toEqual(expected);
  });

  // Their tails look like local ids.
  test.each([
    'https://other.base/fhir/Patient/1',
    'http://own.base/fhir/Patient/1',
    'https://own.base/fhirPatient/1',
    'https://own.base/fhir/../Patient/1',
    'https://own.base/fhir//Patient/1',
    'https://own.base/fhir/Patient/1/',
    'https://own.base/fhir/Patient/1?x',
    'https://own.base/fhir/Patient',
    'HTTPS://OWN.BASE/fhir/Patient/1',
    'ftp:Patient/1',
    'javascript:Patient/1',
    'x:',
  ])('%s is foreign', (url) => {
    expect(parseReference(url, BASE)).toEqual({ kind: 'foreign', url });
    expect(parseReference(url, BASE, LIKELY)).toEqual({ kind: 'foreign', url });
  });

  test.each([
    '',
    'Patient',
    'Patient/',
    '/Patient/1',
    'Patient/1/',
    'Patient//1',
    'patient/1',
    'Patient/1/2',
    'Patient/a_b',
    'Patient/ä',
    `Patient/${'x'.repeat(65)}`,
    'Patient/1/_history',
    'Patient/1/_history/',
    'Patient/1/_history/a/b',
    'Patient/1#med',
    'Patient/1?x=y',
    'Patient/1\n',
    ' Patient/1',
    'Pat9ent/1',
    '1',
  ])('%j is not a reference', (text) => {
    expect(parseReference(text, BASE)).toBeUndefined();
    expect(parseReference(text, BASE, LIKELY)).toBeUndefined();
  });

  test('without a base all URLs are foreign', () => {
    const url = `${BASE}/Patient/1`;
    expect(parseReference(url)).toEqual({ kind: 'foreign', url });
  });

  test('parses the output of referenceTo', () => {
    expect(parseReference(referenceTo('Patient', 'a-1'))).toEqual({ kind: 'local', type: 'Patient', id: 'a-1' });
  });
});

describe('idOf', () => {
  test.each<[string | { readonly reference?: string }, string | undefined]>([
    ['1', '1'],
    ['a-B.9', 'a-B.9'],
    ['Patient/1', '1'],
    ['Patient/1/_history/2', '1'],
    [{ reference: 'Patient/1' }, '1'],
    [{ reference: '1' }, '1'],
    [{}, undefined],
    ['', undefined],
    ['Group/1', undefined],
    [{ reference: 'Group/1' }, undefined],
    ['https://other.base/Patient/1', undefined],
    ['urn:uuid:1', undefined],
    ['#1', undefined],
    ['x'.repeat(65), undefined],
  ])('of %j for a Patient is %j', (value, id) => {
    expect(idOf(value, 'Patient')).toBe(id);
  });
});
