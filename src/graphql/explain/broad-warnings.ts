import type { FhirModel } from '../../fhir/model/fhir-model.js';
import type { Criteria, LastUpdatedCriteria, MatchCriteria } from '../../search/criteria/criteria.js';
import type { ValueTest } from '../../search/criteria/value-test.js';
import type { SearchQuery } from '../../store/search-query.js';

/**
 * Warnings for parts of a search that visit every match, however few are returned, so that their cost grows with the
 * data. Pages of any other sort cost their rows, and counts of one condition are read from its index; see
 * docs/internals/index.md.
 */
export function broadWarnings(
  model: FhirModel,
  { type, criteria, sort = [], limit, total }: Pick<SearchQuery, 'type' | 'criteria' | 'sort' | 'limit' | 'total'>,
): readonly string[] {
  if (isNarrow(criteria)) return [];
  const warnings: string[] = [];
  const [first] = sort;
  if (first !== undefined && limit !== 0 && model.searchParameter(type, first.parameter)?.type === 'reference') {
    warnings.push(`no index has the order of ${first.parameter}, so every match is read and sorted: narrow the search`);
  }
  if (total === true && !isCountedByIndex(criteria)) {
    warnings.push('every match is tested to be counted: leave the number out, or narrow the search');
  }
  return warnings;
}

/** Some condition identifies its subject: one patient, one identifier. */
function isNarrow(criteria: Criteria): boolean {
  switch (criteria.kind) {
    case 'and':
      return criteria.of.some(isNarrow);
    case 'or':
      return criteria.of.every(isNarrow);
    case 'id':
    case 'none':
      return true;
    case 'match': {
      const { parameter, test } = criteria;
      if (test.kind === 'reference') return test.negated !== true && (test.id !== undefined || test.url !== undefined);
      return parameter === 'identifier' && test.kind === 'token' && test.code !== undefined && test.negated !== true;
    }
    default:
      return false;
  }
}

function isCountedByIndex(criteria: Criteria): boolean {
  switch (criteria.kind) {
    case 'all':
    case 'none':
    case 'missing':
    case 'last-updated':
      return true;
    case 'match':
      return criteria.test.kind !== 'text';
    case 'not':
      return isCountedByIndex(criteria.of);
    case 'or': {
      const [first] = criteria.of;
      return criteria.of.every(
        (one) =>
          one.kind === 'match' && first?.kind === 'match' && one.parameter === first.parameter && isCountedByIndex(one),
      );
    }
    default:
      return false;
  }
}

/**
 * Warnings for lists of values such as `date: ["ge2024-02", "lt2024-03"]`. The values of a list are alternatives, so
 * the two ends of a range exclude no value.
 */
export function openRangeWarnings(criteria: Criteria): readonly string[] {
  return Array.from(
    new Set(openParameters(criteria)),
    (parameter) =>
      `the values of ${parameter} are alternatives that leave no value out: write both ends of a range in _filter, joined by "and"`,
  );
}

function openParameters(criteria: Criteria): readonly string[] {
  switch (criteria.kind) {
    case 'and':
      return criteria.of.flatMap(openParameters);
    case 'or':
      return isOpen(criteria.of) ? [parameterOf(criteria.of[0]!)!] : [];
    default:
      return [];
  }
}

/** Alternatives for one parameter, of which one has no upper end, another has no lower end, and the two overlap. */
function isOpen(alternatives: readonly Criteria[]): boolean {
  const [first] = alternatives;
  const parameter = first && parameterOf(first);
  if (parameter === undefined || alternatives.some((one) => parameterOf(one) !== parameter)) return false;
  const tests = alternatives.map((one) => (one as MatchCriteria | LastUpdatedCriteria).test);
  return tests.some((above) => tests.some((below) => overlap(above, below)));
}

function parameterOf(criteria: Criteria): string | undefined {
  if (criteria.kind === 'last-updated') return '_lastUpdated';
  return criteria.kind === 'match' ? criteria.parameter : undefined;
}

function overlap(above: ValueTest, below: ValueTest): boolean {
  if (!('prefix' in above && 'prefix' in below)) return false;
  if (!ABOVE.has(above.prefix) || !BELOW.has(below.prefix)) return false;
  if (above.kind === 'quantity' && below.kind === 'quantity') {
    if (above.code !== below.code || above.system !== below.system) return false;
  }
  return (above.prefix === 'ge' ? above.low : above.high) <= (below.prefix === 'le' ? below.high : below.low);
}

const ABOVE: ReadonlySet<string> = new Set(['gt', 'ge', 'sa']);
const BELOW: ReadonlySet<string> = new Set(['lt', 'le', 'eb']);
