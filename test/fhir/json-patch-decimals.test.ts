import { expect, test } from 'vitest';
import { applyJsonPatch } from '../../src/fhir/json-patch.js';
import { parseJson, stringifyJson } from '../../src/http.js';
import type { AnyResource, FhirError } from '../../src/index.js';

const START =
  '{"resourceType":"R","q":{"value":1.00,"unit":"kg"},"list":[1.0,1,2.50],"items":[{"value":3.0},{"value":3}]}';

/** The members after the type, as the patch leaves them. */
function patched(operations: string, text = START): string {
  const resource = parseJson(text) as AnyResource;
  const result = stringifyJson(applyJsonPatch(resource, parseJson(operations)));
  expect(stringifyJson(resource)).toBe(text);
  return result.replace('{"resourceType":"R",', '{');
}

test.each([
  ['leaves others alone', '[{"op":"replace","path":"/q/unit","value":"g"}]', '"unit":"kg"', '"unit":"g"'],
  ['replaces one by another', '[{"op":"replace","path":"/q/value","value":42.256500}]', '1.00', '42.256500'],
  ['replaces a number by the same number', '[{"op":"replace","path":"/q/value","value":1}]', '1.00', '1'],
  [
    'adds one in an object',
    '[{"op":"replace","path":"/q","value":{"value":7.0}}]',
    '{"value":1.00,"unit":"kg"}',
    '{"value":7.0}',
  ],
  ['removes an item of a list', '[{"op":"remove","path":"/list/0"}]', '[1.0,1,2.50]', '[1,2.50]'],
  ['adds an item to a list', '[{"op":"add","path":"/list/1","value":1.000}]', '[1.0,1,2.50]', '[1.0,1.000,1,2.50]'],
  ['adds an item at the end', '[{"op":"add","path":"/list/-","value":0.10}]', '[1.0,1,2.50]', '[1.0,1,2.50,0.10]'],
  ['replaces a whole list', '[{"op":"replace","path":"/list","value":[2.0,2]}]', '[1.0,1,2.50]', '[2.0,2]'],
  [
    'moves one',
    '[{"op":"move","from":"/q/value","path":"/list/1"}]',
    '{"value":1.00,"unit":"kg"},"list":[1.0,1,2.50]',
    '{"unit":"kg"},"list":[1.0,1.00,1,2.50]',
  ],
  ['copies one', '[{"op":"copy","from":"/list/2","path":"/q/value"}]', '1.00', '2.50'],
  [
    'swaps objects',
    '[{"op":"move","from":"/items/0","path":"/items/1"}]',
    '[{"value":3.0},{"value":3}]',
    '[{"value":3},{"value":3.0}]',
  ],
  [
    'tests their value',
    '[{"op":"test","path":"/q/value","value":1},{"op":"test","path":"/list","value":[1,1.0,2.5]},{"op":"test","path":"/items","value":[{"value":3},{"value":3.00}]}]',
    '',
    '',
  ],
])('a patch %s', (_, operations, from, to) => {
  expect(patched(operations)).toBe(START.replace('{"resourceType":"R",', '{').replace(from, to));
});

test.each([
  ['a test of another value', '[{"op":"test","path":"/q/value","value":1.01}]', 'unprocessable'],
  ['a test of another list', '[{"op":"test","path":"/list","value":[1.0,1.0,2.51]}]', 'unprocessable'],
  ['a test of a decimal against an object', '[{"op":"test","path":"/q/value","value":{}}]', 'unprocessable'],
  ['an element inside a decimal', '[{"op":"add","path":"/q/value/text","value":1}]', 'unprocessable'],
  ['a removal inside a decimal', '[{"op":"remove","path":"/q/value/text"}]', 'unprocessable'],
])('a patch is refused: %s', (_, operations, code) => {
  expect(() => patched(operations)).toThrow(expect.objectContaining({ code }) as FhirError);
});

test('a patch with values that are not JSON is left to the checks of the write', () => {
  const date = new Date(0);
  const made = applyJsonPatch({ resourceType: 'R' }, [{ op: 'add', path: '/date', value: date }]);
  expect((made as unknown as { date: unknown }).date).toBe(date);
});

test('a patch of an object with very many decimals takes time linear in their number', () => {
  const members = Array.from({ length: 50_000 }, (_, index) => `"d${index}":1.0`).join(',');
  expect(patched(`[{"op":"add","path":"/many","value":{${members}}}]`, '{"resourceType":"R"}')).toBe(
    `{"many":{${members}}}`,
  );
});
