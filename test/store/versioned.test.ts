import { expect, test } from 'vitest';
import { hideDecimalTexts } from '../../src/fhir/json/decimal-texts.js';
import { jsonText, parseJsonText, withVersion } from '../../src/store.js';

test.each([
  ['in the order of a stored resource', '"resourceType":"ChargeItem","id":"c","meta":{},"factorOverride":1.00'],
  ['in another order', '"factorOverride":1.00,"resourceType":"ChargeItem","id":"c"'],
])('a version keeps the texts of decimals that are hidden from copies: %s', (_, elements) => {
  const resource = hideDecimalTexts(parseJsonText(` {${elements}}`));
  expect(jsonText(withVersion(resource, '1', '2020-01-01T00:00:00.000Z'))).toBe(
    ' {"resourceType":"ChargeItem","id":"c","meta":{"versionId":"1","lastUpdated":"2020-01-01T00:00:00.000Z"},"factorOverride":1.00}',
  );
});
