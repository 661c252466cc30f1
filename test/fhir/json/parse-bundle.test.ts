import { afterEach, expect, test } from 'vitest';
import { parseBundle, parseWithDecimals } from '../../../src/fhir/json/parse-json.js';
import { stringifyJson } from '../../../src/http.js';
import { below, createRandom, oneOf } from '../../support/kit.js';
import { PACE, Pace } from '../../../src/platform/pace.js';
import { cases, SEED } from '../../support/chance.js';
import { countTurns } from '../../support/count-turns.js';

const { turnMs } = PACE;
afterEach(() => void (PACE.turnMs = turnMs));

const parse = (text: string, maxValues = 1_000_000): Promise<unknown> => parseBundle(text, maxValues, new Pace());

const NAMES = ['"a"', '"value"', '"__proto__"', '"constructor"', '"1"', '""', '"é\\"\\\\"', '"\\u0061"'];
const SCALARS = ['0', '-0', '1e3', '1.5', 'true', 'null', '""', '"]"', '"\\\\"', '"a\\"{[,:"', '"é"', '"\\n"'];

/** A JSON text, with blanks anywhere. Below the items of lists there are decimals. */
function randomText(random: () => number, depth: number, isBelow = false): string {
  const blank = (): string => (below(4, random) === 0 ? oneOf([' ', '\n\t', '\r '], random) : '');
  const some = (make: () => string): string => Array.from({ length: below(6, random) }, make).join(',');
  const value = (): string => `${blank()}${randomText(random, depth - 1, isBelow)}${blank()}`;
  switch (depth === 0 ? 0 : below(4, random)) {
    case 0:
    case 1:
      return oneOf(isBelow ? [...SCALARS, '1.00'] : SCALARS, random);
    case 2:
      return `[${blank()}${some(value)}]`;
    default:
      isBelow = true;
      return `{${blank()}${some(() => `${blank()}${oneOf(NAMES, random)}${blank()}:${value()}`)}}`;
  }
}

/** One of its characters is missing, changed, or added. */
function damaged(text: string, random: () => number): string {
  const at = below(text.length + 1, random);
  const added = oneOf(['', ',', '[', ']', '{', '}', '"', ':', '\\', '1', 'x', '\u0001'], random);
  return text.slice(0, at) + added + text.slice(at + below(2, random));
}

async function outcomeOf(read: () => unknown): Promise<unknown> {
  try {
    return JSON.stringify(await read());
  } catch (error) {
    return (error as Error).name;
  }
}

test(`a Bundle that is parsed by entries gives the result or the error of JSON.parse (seed ${SEED})`, async () => {
  const random = createRandom(SEED);
  for (let turn = 0; turn < cases(8_000, 4_000); turn++) {
    const whole = `${oneOf(['', ' '], random)}${randomText(random, 1 + below(5, random))}`;
    const text = below(3, random) === 0 ? damaged(whole, random) : whole;
    expect(await outcomeOf(() => parse(text)), text).toStrictEqual(await outcomeOf(() => parseWithDecimals(text)));
  }
});

test.each([
  '{"a":[{"b":1} {"c":2}]}',
  '{"a":[{"b":1},]}',
  '{"a":[,{"b":1}]}',
  '{"a":[{"b":1}}}',
  '{"a":[{"b":1}',
  '{"a":[1]} {"a":[1]}',
  '{"a":1[2]}',
])('only valid separators are accepted between entries: %s', async (text) => {
  await expect(parse(text)).rejects.toThrow(SyntaxError);
});

test('other work runs between entries, whose decimals keep their digits', async () => {
  PACE.turnMs = 0;
  const entry = Array.from({ length: 200 }, (_, n) => `{"resource":{"value":${n}.00}}`);
  const text = `{"resourceType":"Bundle","entry":[${entry.join()}],"total":200}`;
  const { result, turns } = await countTurns(() => parse(text));
  expect(turns).toBeGreaterThanOrEqual(199);
  expect(stringifyJson(result)).toBe(text);
});

test('the values of each entry are counted, and those around the entries', async () => {
  const bundle = (names: number): string =>
    JSON.stringify({ type: 'batch', entry: [{}, { resource: { name: Array<string>(names).fill('x') } }], link: [] });
  expect(await parse(bundle(10), 13)).toMatchObject({ entry: [{}, { resource: {} }] });
  await expect(parse(bundle(11), 13)).rejects.toMatchObject({ code: 'too-costly', message: /^Bundle\.entry\[1\] has/ });
  const around = `{"type":"batch","entry":[{}],${Array.from({ length: 20 }, (_, n) => `"a${n}":{}`).join()}}`;
  await expect(parse(around, 13)).rejects.toMatchObject({ code: 'too-costly', message: /without its entries/ });
});
