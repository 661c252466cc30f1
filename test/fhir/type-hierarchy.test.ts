import { describe, expect, it } from 'vitest';
import { resourceTypes, typeDefinition } from '../../src/fhir/definitions.js';
import { isA } from '../../src/fhir/definitions.js';
import { fhirPathLibrary } from '../../src/fhirpath/library.js';

describe('isA', () => {
  it.each([
    ['Age', 'Quantity', true],
    ['Quantity', 'Age', false],
    ['code', 'string', true],
    ['url', 'uri', true],
    ['Patient', 'Patient', true],
    ['Patient', 'DomainResource', true],
    ['Bundle', 'DomainResource', false],
    ['Bundle', 'Resource', true],
    ['HumanName', 'Resource', false],
    ['__proto__', 'Resource', false],
  ])('%s is a %s: %s', (type, ancestor, expected) => {
    expect(isA(type, ancestor)).toBe(expected);
  });

  it('agrees with the model of the FHIRPath library', () => {
    const { type2Parent } = fhirPathLibrary().model;
    for (const [type, parent] of Object.entries(type2Parent)) {
      const isOurs = typeDefinition(type) !== undefined && !['Element', 'BackboneElement'].includes(parent);
      if (isOurs) expect([type, parent, isA(type, parent)]).toEqual([type, parent, true]);
    }
  });

  it('takes for a DomainResource what has its elements', () => {
    for (const type of resourceTypes()) {
      expect([type, isA(type, 'DomainResource')]).toEqual([type, typeDefinition(type)!.elements.has('text')]);
    }
  });
});
