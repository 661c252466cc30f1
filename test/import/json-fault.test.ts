import fc from 'fast-check';
import { expect, test } from 'vitest';
import { findJsonFault } from '../../src/fhir/json/json-fault.js';
import { cases } from '../support/chance.js';

/** JSON with some characters put in, taken out or replaced. */
const damaged = fc
  .tuple(
    fc.json(),
    fc.array(
      fc.record({
        at: fc.nat(),
        cut: fc.integer({ min: 0, max: 2 }),
        paste: fc.oneof(
          fc.constant(''),
          fc.constantFrom(...'{}[],:"\\-+.0eEtfnu \n\u0001'),
          fc.string({ maxLength: 2 }),
        ),
      }),
      { maxLength: 3 },
    ),
  )
  .map(([json, damages]) =>
    damages.reduce((text, { at, cut, paste }) => {
      const start = at % (text.length + 1);
      return text.slice(0, start) + paste + text.slice(start + cut);
    }, json),
  );

test('finds an error exactly where JSON.parse fails', () => {
  fc.assert(
    fc.property(damaged, (text) => {
      expect(findJsonFault(text) === undefined).toBe(isJson(text));
    }),
    { numRuns: cases(2000, 600) },
  );
});

test('the text before the error has no error of its own, except its end', () => {
  fc.assert(
    fc.property(damaged, (text) => {
      const fault = findJsonFault(text);
      if (fault === undefined) return;
      expect([undefined, fault]).toContain(findJsonFault(text.slice(0, fault)));
    }),
    { numRuns: cases(2000, 600) },
  );
});

test('accepts any depth', () => {
  const depth = 500_000;
  expect(findJsonFault('['.repeat(depth))).toBe(depth);
  expect(findJsonFault('['.repeat(depth) + ']'.repeat(depth))).toBeUndefined();
});

function isJson(text: string): boolean {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}

test.each([
  [`"${'a'.repeat(1_000)}`, 1_001],
  [`"${'a'.repeat(1_000)}\n"`, 1_001],
  [`"a\\n${'a'.repeat(1_000)}\\x"`, 1_005],
  [`"\\u00zz"`, 5],
])('a fault in a string is found where it is: %#', (text, offset) => {
  expect(findJsonFault(text)).toBe(offset);
});
