import { afterEach, expect, test } from 'vitest';
import { parseWithDecimals } from '../../../src/fhir/json/note-decimals.js';
import { PARSED_PARTS, parseInTurns } from '../../../src/fhir/json/parse-in-turns.js';
import { stringifyJson } from '../../../src/fhir/json/stringify-json.js';
import { PACE } from '../../../src/platform/loop-turn.js';
import { below, createRandom, oneOf } from '../../../src/testing/random.js';
import { cases, SEED } from '../../support/chance.js';
import { countTurns } from '../../support/count-turns.js';

const DEFAULTS = { ...PARSED_PARTS };
const { turnMs } = PACE;

afterEach(() => {
  Object.assign(PARSED_PARTS, DEFAULTS);
  PACE.turnMs = turnMs;
});

const NAMES = ['"a"', '"value"', '"__proto__"', '"constructor"', '"1"', '""', '"é\\"\\\\"', '"\\u0061"'];
const SCALARS = ['0', '1.00', '-0', '1e3', '1.5', 'true', 'null', '""', '"]"', '"\\\\"', '"a\\"{[,:"', '"é"', '"\\n"'];

/** A JSON text, with blanks anywhere. */
function randomText(random: () => number, depth: number): string {
  const blank = (): string => (below(4, random) === 0 ? oneOf([' ', '\n\t', '\r '], random) : '');
  const some = (make: () => string): string => Array.from({ length: below(6, random) }, make).join(',');
  const value = (): string => `${blank()}${randomText(random, depth - 1)}${blank()}`;
  switch (depth === 0 ? 0 : below(4, random)) {
    case 0:
    case 1:
      return oneOf(SCALARS, random);
    case 2:
      return `[${blank()}${some(value)}]`;
    default:
      return `{${blank()}${some(() => `${blank()}${oneOf(NAMES, random)}${blank()}:${value()}`)}}`;
  }
}

/** One of its characters is missing, changed, or added. */
function damaged(text: string, random: () => number): string {
  const at = below(text.length + 1, random);
  const added = oneOf(['', ',', '[', ']', '{', '}', '"', ':', '\\', '1', 'x', '\u0001'], random);
  return text.slice(0, at) + added + text.slice(at + below(2, random));
}

async function outcomeOf(parse: () => unknown): Promise<unknown> {
  try {
    const value = await parse();
    return { json: JSON.stringify(value), decimals: stringifyJson(value) };
  } catch (error) {
    return (error as Error).name;
  }
}

test(`parsing in parts gives the result or the error of JSON.parse (seed ${SEED})`, async () => {
  const random = createRandom(SEED);
  for (let turn = 0; turn < cases(8_000, 4_000); turn++) {
    const whole = `${oneOf(['', ' '], random)}${randomText(random, 1 + below(5, random))}`;
    const text = below(3, random) === 0 ? damaged(whole, random) : whole;
    Object.assign(PARSED_PARTS, { long: 0, size: 1 + below(12, random) });
    const parts = await outcomeOf(() => parseInTurns(text));
    expect(parts, text).toStrictEqual(await outcomeOf(() => parseWithDecimals(text)));
  }
});

test('a long text is read in turns with other work, including its decimals', async () => {
  Object.assign(PARSED_PARTS, { long: 1_000, size: 100 });
  PACE.turnMs = 0;
  const items = Array.from({ length: 200 }, (_, n) => `{"n":${n},"value":${n}.00}`);
  const { result, turns } = await countTurns(() =>
    parseInTurns(`{"resourceType":"Observation","component":[${items.join()}]}`),
  );
  expect(turns).toBeGreaterThan(30);
  expect(stringifyJson(result)).toContain('{"n":199,"value":199.00}');
});

test('a long text that nests deeper than any resource is refused before it is parsed', async () => {
  PARSED_PARTS.long = 0;
  const deep = (levels: number): string => `${'['.repeat(levels)}${']'.repeat(levels)}`;
  await expect(parseInTurns(deep(1_001))).rejects.toMatchObject({ code: 'invalid' });
  expect(await parseInTurns(deep(1_000))).toStrictEqual(JSON.parse(deep(1_000)));
});

test.each([
  '[[1,2,3] [1,2,3]]',
  '{"a":[1,2,3] "b":[1,2,3]}',
  '[[1,2,3],]',
  '[,[1,2,3]]',
  '{"a":1[1,2,3]}',
  '[[1,2,3]] 1',
  ' x[1,2,3]',
])('only valid separators are accepted between parts: %s', async (text) => {
  Object.assign(PARSED_PARTS, { long: 0, size: 1 });
  await expect(parseInTurns(text)).rejects.toThrow(SyntaxError);
});
