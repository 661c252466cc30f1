import type { FhirModel } from '../../fhir/model/fhir-model.js';
import type { Criteria } from '../../search/criteria/criteria.js';
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
