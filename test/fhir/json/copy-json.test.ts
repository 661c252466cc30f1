import { afterEach, expect, test } from 'vitest';
import { copyBundleForHost, copyForHost } from '../../../src/fhir/json/copy-json.js';
import { DECIMAL_TEXTS } from '../../../src/fhir/json/decimal-texts.js';
import { parseJson, stringifyJson } from '../../../src/http.js';
import { PACE } from '../../../src/platform/pace.js';
import { countTurns } from '../../support/count-turns.js';

const { turnMs } = PACE;
afterEach(() => void (PACE.turnMs = turnMs));

const ODD = '{"resourceType":"Basic","factor":1.00,"list":[1.0,2,3.50],"value":[{"low":2.00},{"low":7}]}';

test('a copy shares nothing with its original, and hides the texts of decimals', () => {
  const original = parseJson(ODD) as { value: object[]; list: unknown };
  const copied = copyForHost(original);
  expect(stringifyJson(copied)).toBe(ODD);
  expect(copied.value[0]).not.toBe(original.value[0]);
  expect(copied.list).not.toBe(original.list);
  expect(Object.getOwnPropertyDescriptor(copied, DECIMAL_TEXTS)?.enumerable).toBe(false);
});

test('a Bundle is copied with other work between its entries', async () => {
  PACE.turnMs = 0;
  const text = `{"resourceType":"Bundle","entry":[${Array(50).fill(`{"resource":${ODD}}`).join()}],"total":50}`;
  const bundle = parseJson(text) as { entry: object[] };
  const { result, turns } = await countTurns(() => copyBundleForHost(bundle));
  expect(turns).toBeGreaterThanOrEqual(49);
  expect(stringifyJson(result)).toBe(text);
  expect(result.entry[0]).not.toBe(bundle.entry[0]);
  const other = parseJson('{"entry":{"a":1.0}}') as { entry: unknown };
  expect(stringifyJson(await copyBundleForHost(other))).toBe('{"entry":{"a":1.0}}');
});
