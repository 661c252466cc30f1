import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { copyForHost, copyFromHost, sameJson, sameJsonText } from '../../../src/fhir/json/copy-json.js';
import { copyObject, DECIMAL_TEXTS, decimalText, setDecimalText } from '../../../src/fhir/json/decimal-texts.js';
import { parseJson, stringifyJson } from '../../../src/http.js';
import type { AnyResource } from '../../../src/index.js';
import { R4 } from '../../../src/store.js';
import { hasOddDecimal, noteDecimals } from '../../../src/fhir/json/parse-json.js';
import { validateResource } from '../../../src/fhir/validate-resource.js';
import { cases, SEED } from '../../support/chance.js';
import { decimalText as decimals, withDecimals } from '../../support/decimals.js';

const RUNS = { seed: SEED, numRuns: cases(3_000, 300) };

/** JSON of any shape. `#0` represents a decimal, in objects and their lists, as in FHIR. */
const shapes = fc.letrec<{ value: unknown }>((tie) => ({
  value: fc.oneof(
    { maxDepth: 4, withCrossShrink: true },
    fc.constantFrom('#0', '#1', '#2', '#3', true, null, 7, 0.5, '', 'a: 1.00, b', '{"x":1.0}', '\\": 2.0 }', '\n'),
    fc.string(),
    fc.dictionary(names(), tie('value'), { maxKeys: 4 }),
    // Lists of lists have no position for texts, and FHIR has none of them.
    fc.array(tie('value'), { maxLength: 4 }).map((items) => items.map((item) => (Array.isArray(item) ? null : item))),
  ),
}));

function names(): fc.Arbitrary<string> {
  return fc.oneof(fc.constantFrom('value', 'a', '1', '__proto__', 'constructor', 'q"\\', 'ü', '\u2028'), fc.string());
}

/** An object around it, so that decimals have a place. */
const texts = fc
  .tuple(shapes.value, fc.array(decimals(), { minLength: 4, maxLength: 4 }))
  .map(([value, written]) => withDecimals({ resource: value }, written));

describe('decimals in JSON texts', () => {
  test('are written as read, with any surroundings', () => {
    fc.assert(
      fc.property(texts, (text) => {
        expect(stringifyJson(parseJson(text))).toBe(inOrder(text));
      }),
      RUNS,
    );
  });

  test('are written as read in several lines, too', () => {
    fc.assert(
      fc.property(texts, fc.constantFrom(1, 2, 4), (text, space) => {
        const lines = stringifyJson(parseJson(text), space);
        expect(lines.replace(/-?\d[\d.eE+-]*/g, '0')).toBe(
          JSON.stringify(JSON.parse(text), undefined, space).replace(/-?\d[\d.eE+-]*/g, '0'),
        );
        expect(stringifyJson(parseJson(lines))).toBe(inOrder(text));
      }),
      RUNS,
    );
  });

  test('are numbers: parsing gives the same values as JSON.parse', () => {
    fc.assert(
      fc.property(texts, (text) => {
        expect(copyForHost(parseJson(text))).toEqual(copyForHost(JSON.parse(text)));
        expect(JSON.stringify(parseJson(text))).toBe(JSON.stringify(JSON.parse(text)));
      }),
      RUNS,
    );
  });

  test('are searched for whenever JavaScript would write one differently', () => {
    fc.assert(
      fc.property(texts, (text) => {
        if (JSON.stringify(JSON.parse(text)) !== inOrder(text)) expect(hasOddDecimal(text), text).toBe(true);
      }),
      RUNS,
    );
    for (const number of ['9007199254740993', '0.0000001', '-0', '1.0', '1e5', '66.899999999999991']) {
      expect(hasOddDecimal(`[${number}]`), number).toBe(true);
    }
    expect(hasOddDecimal('{"a":1,"b":[0.5,100,-7.25],"c":"1.00","d":"2020-01-01T10:00:00.000Z","e":"a 1.0, b"}')).toBe(
      false,
    );
  });

  test('are copied next to a member with the name of the prototype, which stays a member', () => {
    const text = '{"a":{"__proto__":{"b":1.00},"constructor":{"c":2.0}}}';
    for (const copied of [copyForHost(parseJson(text)), copyFromHost(parseJson(text))]) {
      expect(Object.getPrototypeOf((copied as { readonly a: object }).a)).toBe(Object.prototype);
      expect(stringifyJson(copied)).toBe(text);
    }
  });

  test('keep their texts with surrounding white space', () => {
    const parsed = parseJson('{ "value" :\n\t1.00 ,"list": [ 2.50 ,\r\n1 , 3.0 ] }');
    expect(stringifyJson(parsed)).toBe('{"value":1.00,"list":[2.50,1,3.0]}');
  });

  test('follow JSON.parse if a name is repeated', () => {
    for (const [text, written] of [
      ['{"a":1.00,"a":1}', '{"a":1}'],
      ['{"a":1,"a":1.00}', '{"a":1.00}'],
      ['{"a":1.00,"a":2}', '{"a":2}'],
      ['{"a":1.00,"a":"1.00"}', '{"a":"1.00"}'],
      ['{"a":{"b":1.00},"a":{"b":1}}', '{"a":{"b":1}}'],
      ['{"a":{"b":1.00},"a":[1]}', '{"a":[1]}'],
      ['{"a":[1.00,2.0],"a":[1,2.0]}', '{"a":[1,2.0]}'],
    ] as const) {
      expect(stringifyJson(parseJson(text)), text).toBe(written);
    }
  });

  test('never reach a prototype', () => {
    noteDecimals('{"a":{"__proto__":{"b":1.00},"constructor":{"b":1.00}},"a":{}}', { a: {} });
    const parsed = parseJson('{"a":{"__proto__":{"b":1.00},"constructor":{"b":2.0}},"a":{},"c":{"__proto__":1.0}}');
    expect(stringifyJson(parsed)).toBe('{"a":{},"c":{"__proto__":1.0}}');
    for (const shared of [Object.prototype, Object]) expect(DECIMAL_TEXTS in shared).toBe(false);
  });
});

describe('a text of a decimal', () => {
  test('is valid only while it is a text of the current number', () => {
    const quantity = parseJson('{"value":1.00,"list":[1.0,2.0]}') as { value: unknown; list: unknown[] };
    quantity.value = 2;
    quantity.list.shift();
    expect(stringifyJson(quantity)).toBe('{"value":2,"list":[2]}');
    quantity.value = '1.00';
    expect(stringifyJson(quantity)).toBe('{"value":"1.00","list":[2]}');
    quantity.value = 1;
    expect(stringifyJson(quantity)).toBe('{"value":1.00,"list":[2]}');
  });

  test('that is not a JSON number is never written', () => {
    for (const text of [' 1', '1.', '01', '+1', '0x1', '1,"a":1', '1_0', '']) {
      const quantity = { value: Number(text) || 1 };
      setDecimalText(quantity, 'value', text);
      expect(stringifyJson(quantity), text).toBe(JSON.stringify(quantity));
    }
    const infinite = { value: Infinity };
    setDecimalText(infinite, 'value', '1e400');
    expect(stringifyJson(infinite)).toBe('{"value":null}');
  });

  test('cannot be changed through a copy of its object', () => {
    const quantity = parseJson('{"value":1.00,"list":[1.0]}') as { value: number; list: number[] };
    const copy = { ...quantity };
    setDecimalText(copy, 'value', '1.000');
    expect(stringifyJson(quantity)).toBe('{"value":1.00,"list":[1.0]}');
    expect(stringifyJson(copy)).toBe('{"value":1.000,"list":[1.0]}');
    const held = (quantity as { [DECIMAL_TEXTS]?: { list: string[] } })[DECIMAL_TEXTS]!;
    expect([Object.isFrozen(held), Object.isFrozen(held.list)]).toEqual([true, true]);
  });

  test('does not affect equality, except on request', () => {
    const [one, other] = [parseJson('{"a":[{"value":1.00}]}'), { a: [{ value: 1 }] }];
    expect([sameJson(one, other), sameJsonText(one, other)]).toEqual([true, false]);
    expect(sameJsonText(one, parseJson('{"a":[{"value":1.00}]}'))).toBe(true);
    expect(sameJsonText(parseJson('{"a":[1.0,2]}'), parseJson('{"a":[1,2]}'))).toBe(false);
    // A text of a former number is not a text of the current number.
    const former = parseJson('{"value":1.00}') as { value: number };
    former.value = 2;
    expect(sameJsonText(former, { value: 2 })).toBe(true);
  });

  test('is hidden in resources that leave the library, and found again in returned resources', () => {
    const left = copyForHost(parseJson('{"value":1.00,"inner":{"list":[2.0]}}')) as { value: number; inner: object };
    expect(left).toEqual({ value: 1, inner: { list: [2] } });
    expect(Object.getOwnPropertySymbols({ ...left })).toEqual([]);
    expect(stringifyJson(left)).toBe('{"value":1.00,"inner":{"list":[2.0]}}');
    const back = copyFromHost(left);
    expect(stringifyJson({ ...back, inner: { ...back.inner } })).toBe('{"value":1.00,"inner":{"list":[2.0]}}');
    expect(stringifyJson(copyObject(left))).toBe('{"value":1.00,"inner":{"list":[2.0]}}');
    expect(decimalText(left, 'value')).toBe('1.00');
  });
});

test('counts with all its digits for the size of a resource', () => {
  const resource = (digits: number) =>
    parseJson(`{"resourceType":"Observation","valueQuantity":{"value":1.${'0'.repeat(digits)}}}`) as AnyResource;
  const codes = (digits: number) =>
    validateResource(R4, resource(digits), { strict: false, maxBytes: 500 }).map(({ code }) => code);
  expect(codes(400)).toEqual([]);
  expect(codes(500)).toEqual(['too-costly']);
});

test('stringifyJson writes all other values like JSON.stringify', () => {
  const holder = parseJson('{"value":1.00}');
  for (const value of [undefined, null, 1, 'a', [undefined, () => 1], { a: undefined, b: new Date(0), c: () => 1 }]) {
    expect(stringifyJson(value)).toBe(JSON.stringify(value));
    const around = `{"holder":{"value":1.00},"list":[${JSON.stringify(value) ?? 'null'}]}`;
    expect(stringifyJson({ holder, skipped: undefined, list: [value] })).toBe(around);
  }
  const circle: { [name: string]: unknown } = { holder };
  circle['self'] = circle;
  expect(() => stringifyJson(circle)).toThrow(TypeError);
  const own = { ...(holder as object), toJSON: () => 'own' };
  expect(stringifyJson([own, holder])).toBe('["own",{"value":1.00}]');
});

/** The text with members in the order of JavaScript objects: whole numbers first, repeated names once. */
function inOrder(text: string): string {
  const parts: string[] = [];
  const marked = JSON.parse(text, (_, value: unknown, { source }: { source?: string } = {}) => {
    if (typeof value !== 'number' || source === undefined) return value;
    return `\u0000${parts.push(source) - 1}`;
  }) as unknown;
  return JSON.stringify(marked).replace(/"\\u0000(\d+)"/g, (_, index: string) => parts[Number(index)]!);
}
