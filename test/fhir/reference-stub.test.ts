import { describe, expect, it } from 'vitest';
import { referenceStub } from '../../src/fhir/reference.js';

describe('referenceStub', () => {
  it.each([
    [{ reference: 'Patient/1' }, { resourceType: 'Patient', id: '1' }],
    [{ reference: 'Patient/1/_history/2' }, { resourceType: 'Patient', id: '1' }],
    [
      { reference: 'Patient/1', type: 'Group' },
      { resourceType: 'Patient', id: '1' },
    ],
    [{ type: 'Patient', identifier: { value: '7' } }, { resourceType: 'Patient' }],
    [{ reference: 'urn:uuid:7', type: 'Patient' }, { resourceType: 'Patient' }],
    [{ reference: 'http://x.org/fhir/Patient/1' }, { resourceType: 'Patient' }],
    [{ reference: 'http://x.org/fhir/Patient/1/_history/2' }, { resourceType: 'Patient' }],
    [{ reference: 'http://x.org/about' }, undefined],
    [{ reference: 'urn:uuid:7' }, undefined],
    [{ reference: '#p' }, undefined],
    [{ reference: 7 }, undefined],
    [{}, undefined],
    ['Patient/1', undefined],
    [null, undefined],
  ])('%j gives %j', (reference, expected) => {
    expect(referenceStub(reference)).toEqual(expected);
  });
});
