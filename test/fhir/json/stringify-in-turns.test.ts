import { afterEach, expect, test } from 'vitest';
import { parseJson, stringifyJson } from '../../../src/http.js';
import { below, createRandom, oneOf } from '../../support/kit.js';
import {
  markPlain,
  PARTS,
  stringifyInTurns,
  stringifyResultInTurns,
  type Texts,
  TEXTS,
} from '../../../src/fhir/json/stringify-json.js';
import { PACE } from '../../../src/platform/pace.js';
import { cases, SEED } from '../../support/chance.js';

const DEFAULTS = { ...PARTS };
const { size: TEXT_SIZE } = TEXTS;
const { turnMs } = PACE;

afterEach(() => {
  Object.assign(PARTS, DEFAULTS);
  TEXTS.size = TEXT_SIZE;
  PACE.turnMs = turnMs;
});

function joined(texts: Texts): string {
  return typeof texts === 'string' ? texts : texts.join('');
}

/** Values as from a text, and values that only code can create. */
function randomValue(random: () => number, depth: number): unknown {
  const list = (): unknown[] => Array.from({ length: below(6, random) }, () => randomValue(random, depth - 1));
  const object = (): object =>
    Object.fromEntries(list().map((value, index) => [oneOf(['a', 'é"\n', 'value', `n${index}`], random), value]));
  const kind = below(depth > 0 ? 12 : 7, random);
  switch (kind) {
    case 0:
      return undefined;
    case 1:
      return null;
    case 2:
      return oneOf([0, -1.5, 1e21, Number.NaN], random);
    case 3:
      return oneOf(['', 'x\n"y', '\u2028', '{'], random);
    case 4:
      return parseJson(oneOf(['{"value":1.00}', '[{"value":1.00,"low":[2.0,3]}]', '{"a":{"value":5e0}}'], random));
    case 5:
      return oneOf([new Date(0), { toJSON: () => ({ a: [1] }) }, () => 1], random);
    case 6:
      return oneOf([{}, [], [[]], { a: undefined }], random);
    default:
      return kind % 2 === 0 ? list() : object();
  }
}

test(`parts make the text of stringifyJson (seed ${SEED})`, async () => {
  const random = createRandom(SEED);
  for (let turn = 0; turn < cases(3_000, 600); turn++) {
    const value = { data: randomValue(random, 5) };
    Object.assign(PARTS, { long: 1, size: 1 + below(8, random) });
    TEXTS.size = 1 + below(40, random);
    for (const space of [0, 2]) expect(joined(await stringifyInTurns(value, space))).toBe(stringifyJson(value, space));
    expect(joined(await stringifyResultInTurns(value))).toBe(stringifyJson(value));
  }
});

test('a long answer is several texts, and a shorter one is one', async () => {
  // About as long as a part.
  const part = PARTS.size * 64;
  const value = { name: Array.from({ length: 100 }, (_, n) => ({ family: `${n}`.padEnd(part / 2, 'b') })) };
  const texts = await stringifyInTurns(value);
  expect(joined(texts)).toBe(JSON.stringify(value));
  // The last one closes the list.
  expect(texts).toHaveLength(26);
  for (const text of (texts as readonly string[]).slice(0, -1)) {
    expect(text.length).toBeGreaterThanOrEqual(TEXTS.size);
    expect(text.length).toBeLessThanOrEqual(TEXTS.size + part);
  }
  TEXTS.size = Infinity;
  expect(await stringifyInTurns(value)).toBe(JSON.stringify(value));
});

test('a result that was marked as plain is also written in parts', async () => {
  Object.assign(PARTS, { long: 1, size: 4 });
  const data = { list: Array.from({ length: 20 }, (_, id) => ({ id, name: { family: `Lee ${id}` } })) };
  markPlain(data);
  expect(await stringifyResultInTurns({ data })).toBe(JSON.stringify({ data }));
});

async function turnsOf(value: unknown): Promise<number> {
  let turns = 0;
  let isOver = false;
  const countTurns = (): void => {
    turns += 1;
    if (!isOver) setImmediate(countTurns);
  };
  setImmediate(countTurns);
  await stringifyInTurns(value);
  isOver = true;
  return turns;
}

test('a long answer is written in turns with other work, a short one at once', async () => {
  PACE.turnMs = 0;
  const resource = { resourceType: 'Patient', name: [{ family: 'Lee', given: ['Ann'] }] };
  const entry = Array.from({ length: 40_000 }, () => ({ resource }));
  expect(await turnsOf({ entry: entry.slice(0, 1_000) })).toBe(0);
  // Nine values in an entry, parts of about 2,048 values, and a look at the clock with every 16th or so.
  expect(await turnsOf({ entry })).toBeGreaterThanOrEqual(Math.floor((40_000 * 9) / 2_048 / 32));
});

test('one resource of a long answer can be long itself', async () => {
  Object.assign(PARTS, { long: 10, size: 10 });
  const deep = { a: Array.from({ length: 40 }, (_, n) => n), b: { c: Array.from({ length: 40 }, () => ({ d: 1 })) } };
  expect(await stringifyInTurns([1, deep, 2])).toBe(JSON.stringify([1, deep, 2]));
});

test('an object that contains itself has no text, as in JSON.stringify', async () => {
  Object.assign(PARTS, { long: 10, size: 10 });
  const list: unknown[] = Array.from({ length: 40 }, (_, n) => n);
  list.push({ list });
  await expect(stringifyInTurns({ list })).rejects.toThrow(TypeError);
});
