import { R4 } from '../../src/fhir/r4.js';

/** The page of the site that lists the search parameters of every resource type. */
export function searchParametersPage(): string {
  return `# Search parameters

The search parameters of R4 for each resource type. [Searching](searching.md) says what each kind finds, and [your own search parameters](../how-to/search-parameters.md) adds to them.

Every type also has \`_id\`, \`_lastUpdated\`, \`_tag\`, \`_profile\`, \`_security\` and \`_source\`.

${R4.resourceTypes.map(tableOf).join('')}`;
}

function tableOf(type: string): string {
  const rows = [...R4.searchParameters(type)]
    .filter(([name]) => !name.startsWith('_'))
    .sort(([one], [two]) => (one < two ? -1 : 1))
    .map(([name, { type: kind, targets }]) => {
      const target = targets === undefined ? '' : targets.length > 6 ? `${targets.length} types` : targets.join(', ');
      return `| \`${name}\` | \`${name.replaceAll('-', '_')}\` | ${kind} | ${target} |\n`;
    });
  if (rows.length === 0) return '';
  return `## ${type}\n\n| Search | In GraphQL | Kind | Refers to |\n|---|---|---|---|\n${rows.join('')}\n`;
}
