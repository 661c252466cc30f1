import { expect, test } from 'vitest';
import { R4 } from '../../src/fhir/r4.js';
import { DEFAULT_LIMITS } from '../../src/index.js';
import { readPage } from '../support/pages.js';

// Tables that are made from code. `npx vitest run test/docs/tables.test.ts -u` writes the page.
test('the page of search parameters lists those of every type', async () => {
  const tables = R4.resourceTypes.map((type) => {
    const rows = [...R4.searchParameters(type)]
      .filter(([name]) => !name.startsWith('_'))
      .sort(([one], [two]) => (one < two ? -1 : 1))
      .map(([name, { type: kind, targets }]) => {
        const target = targets === undefined ? '' : targets.length > 6 ? `${targets.length} types` : targets.join(', ');
        return `| \`${name}\` | \`${name.replaceAll('-', '_')}\` | ${kind} | ${target} |`;
      });
    const table = `| Search | In GraphQL | Kind | Refers to |\n|---|---|---|---|\n${rows.join('\n')}\n`;
    return rows.length === 0 ? '' : `## ${type}\n\n${table}`;
  });
  const intro = `The search parameters of R4 for each resource type. This page is generated. [Searching](searching.md) says what
each kind finds, and [your own search parameters](../how-to/search-parameters.md) adds to them.

Every type also has \`_id\`, \`_lastUpdated\`, \`_tag\`, \`_profile\`, \`_security\` and \`_source\`.
`;
  const page = `# Search parameters\n\n${intro}\n${tables.filter((table) => table !== '').join('\n')}`;
  await expect(page).toMatchFileSnapshot('../../docs/reference/search-parameters-by-type.md');
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
