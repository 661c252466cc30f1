import { describe, expect, test } from 'vitest';
import { withDecimalsOf, keepFields } from '../../src/access/fields/keep-fields.js';
import { parseJson, stringifyJson } from '../../src/http.js';
import type { AnyResource } from '../../src/index.js';
import { R4 } from '../../src/store.js';

const VALUE = ['valueQuantity.value'];

function observation(elements: string): AnyResource {
  return parseJson(`{"resourceType":"Observation"${elements}}`) as AnyResource;
}

function quantity(value: string): AnyResource {
  return observation(`,"valueQuantity":{"value":${value},"unit":"kg"}`);
}

/** How a client that writes `asked` over `shown` has the resource stored. */
function stored(shown: AnyResource, asked: AnyResource, paths = VALUE): string {
  return stringifyJson(withDecimalsOf(shown, asked, paths));
}

describe('a decimal that its writer cannot change keeps its stored text', () => {
  test.each([
    ['1.00', '1'],
    ['1', '1.00'],
    ['1.00', '1.0'],
    ['1.00', '1.00'],
  ])('%s over which the client writes %s', (shown, asked) => {
    expect(stored(quantity(shown), quantity(asked))).toBe(stringifyJson(quantity(shown)));
  });

  test('only at the given paths', () => {
    expect(stored(quantity('1.00'), quantity('1'), [])).toBe(stringifyJson(quantity('1')));
    expect(stored(quantity('1.00'), quantity('1'), ['referenceRange.low.value'])).toBe(stringifyJson(quantity('1')));
    const both = (value: string): string =>
      `,"referenceRange":[{"low":{"value":${value}},"high":{"value":${value}}},{"high":{"value":${value}}}]`;
    expect(stored(observation(both('2.0')), observation(both('2')), ['referenceRange.low.value'])).toBe(
      '{"resourceType":"Observation","referenceRange":[{"low":{"value":2.0},"high":{"value":2}},{"high":{"value":2}}]}',
    );
  });

  test('in a whole element, including its extensions', () => {
    const whole = (value: string): string =>
      `,"valueQuantity":{"value":${value}},"_valueInteger":{"extension":[{"url":"u","valueDecimal":${value}}]}`;
    expect(stored(observation(whole('3.0')), observation(whole('3')), ['valueQuantity', 'valueInteger'])).toBe(
      stringifyJson(observation(whole('3.0'))),
    );
  });

  test('and elements that only one side has are stored as sent', () => {
    expect(stored(observation(',"component":[]'), quantity('1.00'))).toBe(stringifyJson(quantity('1.00')));
    expect(stored(quantity('1.00'), observation(',"status":"final"'))).toBe(
      '{"resourceType":"Observation","status":"final"}',
    );
    expect(stored(quantity('1.00'), observation(',"valueQuantity":"1"'))).toBe(
      '{"resourceType":"Observation","valueQuantity":"1"}',
    );
    expect(stored(observation(',"valueQuantity":"1"'), quantity('1.00'))).toBe(stringifyJson(quantity('1.00')));
    const list = ',"valueQuantity":[{"value":1.0}]';
    expect(stored(quantity('1.00'), observation(list))).toBe(stringifyJson(observation(list)));
    expect(stored(observation(list), quantity('1.00'))).toBe(stringifyJson(quantity('1.00')));
  });

  test('and elements that one side lacks stay absent', () => {
    const keys = (shown: string, asked: string, path: string): unknown => {
      const { resourceType: _, ...kept } = withDecimalsOf(observation(shown), observation(asked), [path]) as object & {
        readonly resourceType: string;
      };
      return Object.keys(kept);
    };
    const range = ',"referenceRange":[{"text":"x"}]';
    const value = ',"valueQuantity":{"value":1.00}';
    expect(keys(value, value, 'valueQuantity')).toEqual(['valueQuantity']);
    expect(keys(value, value, 'valueQuantity.value')).toEqual(['valueQuantity']);
    expect(keys(`${value}${range}`, value, 'referenceRange.low')).toEqual(['valueQuantity']);
    expect(keys(value, `${value}${range}`, 'referenceRange.low')).toEqual(['valueQuantity', 'referenceRange']);
    expect(keys(`${value}${range}`, value, 'referenceRange')).toEqual(['valueQuantity']);
    expect(keys(value, `${value}${range}`, 'referenceRange')).toEqual(['valueQuantity', 'referenceRange']);
  });

  test('and without a decimal text on either side it is the same resource object', () => {
    const asked = quantity('1.5');
    expect(withDecimalsOf(quantity('1.5'), asked, VALUE)).toBe(asked);
    const other = quantity('1.00');
    expect(withDecimalsOf(quantity('1.00'), other, [])).toBe(other);
  });
});

test('a readonly field keeps its decimals, the next field takes those of the writer', () => {
  const both = (value: string): AnyResource =>
    observation(`,"valueQuantity":{"value":${value}},"component":[{"valueQuantity":{"value":${value}}}]`);
  const fixed = {
    kept: new Set<string>(),
    readonly: ['valueQuantity.value', 'note'],
    shown: both('1.00'),
    unread: false,
  };
  const result = keepFields(R4, both('1.00'), both('1.0'), fixed);
  expect(stringifyJson((result as { readonly after: AnyResource }).after)).toBe(
    '{"resourceType":"Observation","valueQuantity":{"value":1.00},"component":[{"valueQuantity":{"value":1.0}}]}',
  );
  const asked = both('1.0');
  const nothing = keepFields(R4, both('1.00'), asked, { ...fixed, readonly: ['note'] });
  expect((nothing as { readonly after: AnyResource }).after).toBe(asked);
});
