import { FhirError } from '../../../fhir/error.js';
import type { Criteria } from '../../criteria/criteria.js';
import type { ValueTest } from '../../criteria/value-test.js';
import { comparisonCriteria } from './filter-operators.js';
import type { FilterComparison, FilterExpression, FilterStep } from './filter-syntax.js';
import type { ParseContext } from '../parse-context.js';
import { orList, quote } from '../../../fhir/messages/quote.js';
import { requireParameter } from '../require-parameter.js';

/** A repeating element that `_filter` can name, so that tests apply to one repetition. */
export interface FilterGroup {
  /** The composite parameter whose components are the element's parts. */
  readonly composite: string;
  /** The name of a part within the filter → code of the component. */
  readonly parts: ReadonlyMap<string, string>;
}

const GROUPS: ReadonlyMap<string, FilterGroup> = new Map([
  [
    'Group.characteristic',
    {
      composite: 'characteristic-value',
      parts: new Map([
        ['code', 'characteristic'],
        ['value', 'value'],
      ]),
    },
  ],
  [
    'DocumentReference.relatesTo',
    {
      composite: 'relationship',
      parts: new Map([
        ['code', 'relation'],
        ['target', 'relatesto'],
      ]),
    },
  ],
]);

/**
 * The additional `_filter` parameter named by a step with a filter, if any.
 *
 * Of the specification's table only these have search parameters behind them in R4. See
 * https://hl7.org/fhir/R4/search_filter.html#params.
 */
export function filterGroup(type: string, name: string): FilterGroup | undefined {
  return GROUPS.get(`${type}.${name}`);
}

/**
 * `characteristic[code eq gender].value eq mixed`: each part is compared once, all within the same repetition.
 *
 * @throws FhirError `invalid` - a part is missing, unknown or compared twice.
 * @throws FhirError `unsupported` - the filter in brackets is not a conjunction of comparisons.
 */
export function groupCriteria(
  type: string,
  group: FilterGroup,
  filter: FilterExpression,
  last: { readonly step: FilterStep; readonly operator: string; readonly value: string },
  context: ParseContext,
): Criteria {
  const tests = new Map<string, ValueTest>();
  const comparisons = [
    ...comparisonsOf(filter).map(({ path, operator, value }) => ({ step: path[0]!, operator, value })),
    last,
  ];
  for (const { step, operator, value } of comparisons) {
    const code = group.parts.get(step.name);
    if (code === undefined || tests.has(code)) {
      const parts = orList([...group.parts.keys()]);
      throw new FhirError('invalid', `Each of ${parts} has to be compared once here, but not ${quote(step.name)}`);
    }
    const criteria = comparisonCriteria(type, requireParameter(context.model, type, code), operator, value, context);
    if (criteria.kind !== 'match' || criteria.test.kind === 'concept') {
      throw new FhirError('unsupported', `Operator ${quote(operator)} is not supported in the parts of a group`);
    }
    tests.set(code, criteria.test);
  }
  const components = context.model.searchParameter(type, group.composite)?.components ?? [];
  return {
    kind: 'composite',
    parameter: group.composite,
    tests: components.map(({ code }) => {
      const test = tests.get(code);
      if (test !== undefined) return test;
      throw new FhirError('invalid', `Each of ${orList([...group.parts.keys()])} has to be compared here`);
    }),
  };
}

function comparisonsOf(filter: FilterExpression): readonly FilterComparison[] {
  if (filter.kind === 'and') return filter.of.flatMap(comparisonsOf);
  if (filter.kind === 'comparison' && filter.path.length === 1) return [filter];
  throw new FhirError('unsupported', 'Only comparisons joined by "and" are supported in the brackets of a group');
}
