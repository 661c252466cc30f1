import { expect, test } from 'vitest';
import { R4 } from '../../src/store.js';
import { componentTraits, valueTraits } from '../../src/search/index/value-traits.js';

test.each([
  ['Observation', 'value-concept', 'none'],
  ['Observation', 'value-string', 'all'],
  ['Condition', 'onset-info', 'all'],
  ['ValueSet', 'version', 'all'],
])('values of one type of a choice have only this type: %s %s', (type, code, strings) => {
  expect(valueTraits(R4, type, R4.searchParameter(type, code)!).strings).toBe(strings);
});

test('so do those of a component', () => {
  const parameter = R4.searchParameter('Observation', 'code-value-concept')!;
  expect(parameter.components!.map((one) => componentTraits(R4, 'Observation', parameter, one).strings)).toEqual([
    'none',
    'none',
  ]);
});

test.each([
  ['Observation', 'status', ['http://hl7.org/fhir/observation-status']],
  ['Observation', 'code', []],
  ['DocumentReference', 'contenttype', []],
])('the systems that all codes are bound to: %s %s', (type, code, systems) => {
  expect(valueTraits(R4, type, R4.searchParameter(type, code)!).boundTo).toEqual(systems);
});
