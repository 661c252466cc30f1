import { R4 } from '../../src/store.js';
import { describe, expect, it } from 'vitest';
import { fhirPathModel, loadFhirPath } from '../../src/fhirpath/library.js';

await loadFhirPath();

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
    expect(R4.isA(type, ancestor)).toBe(expected);
  });

  it('agrees with the model of the FHIRPath library', () => {
    const { type2Parent } = fhirPathModel(R4);
    for (const [type, parent] of Object.entries(type2Parent)) {
      const isOurs = R4.typeDefinition(type) !== undefined && !['Element', 'BackboneElement'].includes(parent);
      if (isOurs) expect([type, parent, R4.isA(type, parent)]).toEqual([type, parent, true]);
    }
  });

  it('a type with the elements of a DomainResource is a DomainResource', () => {
    for (const type of R4.resourceTypes) {
      expect([type, R4.isA(type, 'DomainResource')]).toEqual([type, R4.typeDefinition(type)!.elements.has('text')]);
    }
  });
});
