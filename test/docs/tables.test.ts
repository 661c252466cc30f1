import { expect, test } from 'vitest';
import { R4 } from '../../src/store.js';
import { DEFAULT_LIMITS } from '../../src/index.js';
import { searchParametersPage } from '../../tools/site/search-parameters.js';
import { readPage } from '../support/pages.js';

test('the page of search parameters lists those of every type', () => {
  const tables = searchParametersPage().split('\n## ').slice(1);
  const types = tables.map((table) => table.split('\n')[0]!);
  expect(types).toEqual(R4.resourceTypes.filter((type) => types.includes(type)));
  expect(R4.resourceTypes.length - types.length).toBe(13);
  const slot = tables.find((table) => table.startsWith('Slot\n'))!;
  expect(slot).toContain('| `appointment-type` | `appointment_type` | token |  |\n');
  expect(slot).toContain('| `schedule` | `schedule` | reference | Schedule |\n');
});

test('the page of limits has every limit with its default', () => {
  const rows = [...readPage('limits').matchAll(/^\| `(\w+)` \| ([\d,]+|none)(?: ms)? \|/gm)];
  const documented = Object.fromEntries(
    rows.map(([, name, value]) => [name!, value === 'none' ? undefined : Number(value!.replaceAll(',', ''))]),
  );
  for (const [name, value] of Object.entries(DEFAULT_LIMITS)) {
    if (typeof value === 'number') expect([name, documented[name]]).toEqual([name, value]);
  }
});
