import { afterEach, expect, test } from 'vitest';
import { copyForHost, copyForHostInTurns } from '../../../src/fhir/json/copy-json.js';
import { DECIMAL_TEXTS } from '../../../src/fhir/json/decimal-texts.js';
import { parseJson } from '../../../src/fhir/json/parse-json.js';
import { PARTS } from '../../../src/fhir/json/parts.js';
import { stringifyJson } from '../../../src/fhir/json/stringify-json.js';
import type { AnyResource } from '../../../src/fhir/resource.js';
import { PACE } from '../../../src/platform/loop-turn.js';
import { inOneGo } from '../../../src/platform/pace.js';
import { jsonLines, writingJsonLines } from '../../../src/store/json-text.js';
import { createRandom } from '../../../src/testing/random.js';
import { randomResources } from '../../../src/testing/random-resources.js';
import { cases, SEED } from '../../support/chance.js';
import { countTurns } from '../../support/count-turns.js';

const DEFAULTS = { ...PARTS };
const { turnMs } = PACE;
afterEach(() => {
  Object.assign(PARTS, DEFAULTS);
  PACE.turnMs = turnMs;
});

const ODD = parseJson('{"resourceType":"Basic","factor":1.00,"list":[1.0,2,3.50],"value":[{"low":2.00},{"low":7}]}');

test(`copies and texts made in parts equal those made at once (seed ${SEED})`, async () => {
  const random = createRandom(SEED);
  const resources = [ODD as AnyResource, ...randomResources(random)].slice(0, cases(1_000, 60));
  for (const resource of resources) {
    const copy = copyForHost(resource);
    const lines = jsonLines(resource);
    for (const size of [2, 3, 8]) {
      Object.assign(PARTS, { long: 1, size });
      const copied = await copyForHostInTurns(resource);
      expect(copied).toStrictEqual(copy);
      expect(stringifyJson(copied)).toBe(stringifyJson(copy));
      expect(inOneGo(writingJsonLines(resource))).toBe(lines);
    }
    // From some number of values on it is long.
    for (const long of [10, 20, 40, DEFAULTS.long]) {
      Object.assign(PARTS, { long, size: 8 });
      expect(inOneGo(writingJsonLines(resource))).toBe(lines);
    }
    Object.assign(PARTS, DEFAULTS);
  }
});

test('a copy shares nothing with its original, and hides the texts of decimals', async () => {
  Object.assign(PARTS, { long: 1, size: 2 });
  const copied = (await copyForHostInTurns(ODD)) as { value: object[]; list: unknown };
  expect(copied.value[0]).not.toBe((ODD as typeof copied).value[0]);
  expect(copied.list).not.toBe((ODD as typeof copied).list);
  expect(Object.getOwnPropertyDescriptor(copied, DECIMAL_TEXTS)?.enumerable).toBe(false);
});

test('a long value is copied and written with other work between its parts', async () => {
  PACE.turnMs = 0;
  const resource = { resourceType: 'Basic', list: Array.from({ length: 40_000 }, (_, value) => ({ value })) };
  const copying = await countTurns(() => copyForHostInTurns(resource));
  expect(copying.turns).toBeGreaterThan(20);
  let steps = 0;
  for (const _ of writingJsonLines(resource)) steps += 1;
  expect(steps).toBeGreaterThan(20);
});
