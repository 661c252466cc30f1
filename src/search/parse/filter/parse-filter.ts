import { FhirError } from '../../../fhir/error.js';
import { orList, quote } from '../../../fhir/messages.js';
import type { FhirModel } from '../../../fhir/model/fhir-model.js';
import { ALL, and, not, or, type Criteria } from '../../criteria/criteria.js';
import type { ValueTest } from '../../criteria/value-test.js';
import { followReference, walkName } from '../chain.js';
import {
  createParseContext,
  type ParseContext,
  requireParameter,
  type SearchOptions,
  spend,
} from '../parse-context.js';
import { comparisonCriteria } from './filter-operators.js';
import { parseFilterSyntax, type FilterComparison, type FilterExpression, type FilterStep } from './filter-syntax.js';

/**
 * Parses a `_filter` expression into criteria for a resource type.
 *
 * It is evaluated left to right, with `and` and `or` of equal precedence. `eq` on strings compares the whole folded
 * text; `ne` requires some value that differs. Chains may name their target type (`subject:Patient.name`) and filter
 * along the way (`subject[gender eq male].name`). `options.modifiers` is ignored. See
 * https://hl7.org/fhir/R4/search_filter.html.
 *
 * @throws FhirError `invalid` - bad syntax, an unknown name or a malformed value; `details.offset` gives the location.
 * @throws FhirError `unsupported` - an operator that needs data that the index lacks, such as `gt` on strings.
 * @throws FhirError `too-costly` - too long, too deep, or too many comparisons.
 * @example
 * parseFilter('Patient', 'given eq "peter" and birthdate ge 2014-10-10');
 */
export function parseFilter(model: FhirModel, type: string, text: string, options?: SearchOptions): Criteria {
  return parseFilterIn(createParseContext(model, options), type, text);
}

/** {@link parseFilter} within a larger search. */
export function parseFilterIn(context: ParseContext, type: string, text: string): Criteria {
  return criteriaOf(type, parseFilterSyntax(text), { ...context, systemAliases: true });
}

function criteriaOf(type: string, expression: FilterExpression, context: ParseContext): Criteria {
  switch (expression.kind) {
    case 'and':
      return and(expression.of.map((one) => criteriaOf(type, one, context)));
    case 'or':
      return or(expression.of.map((one) => criteriaOf(type, one, context)));
    case 'not':
      return not(criteriaOf(type, expression.of, context));
    case 'comparison':
      return withOffset(expression.offset, () => comparisonFrom(type, expression, 0, context));
  }
}

/** The criteria of a comparison for the resource reached after `index` steps of its path. */
function comparisonFrom(type: string, comparison: FilterComparison, index: number, context: ParseContext): Criteria {
  const { path, operator, value } = comparison;
  const { name, filter } = path[index]!;
  const next = path[index + 1];
  if (next === undefined) {
    return walkName(type, name, context, (last, code, modifier) => {
      if (modifier !== undefined) {
        throw new FhirError('invalid', `"_filter" has operators in place of modifiers, so ${quote(name)} takes none`);
      }
      spend(context, 1);
      return comparisonCriteria(last, requireParameter(context.model, last, code), operator, value, context);
    });
  }
  return walkName(type, name, context, (last, code, target) => {
    const group = filter === undefined ? undefined : filterGroup(last, code);
    if (group !== undefined && filter !== undefined && index + 2 === path.length) {
      spend(context, group.parts.size);
      return groupCriteria(last, group, filter, { step: next, operator, value }, context);
    }
    return followReference(last, code, target, context, (reached) =>
      and([
        filter === undefined ? ALL : criteriaOf(reached, filter, context),
        comparisonFrom(reached, comparison, index + 1, context),
      ]),
    );
  });
}

/** Adds the offset to errors about names and values; errors of a nested filter keep their own. */
function withOffset(offset: number, make: () => Criteria): Criteria {
  try {
    return make();
  } catch (error) {
    if (!(error instanceof FhirError) || error.details?.['offset'] !== undefined) throw error;
    throw error.with({ message: `${error.message} (at offset ${offset} of "_filter")`, details: { offset } });
  }
}

/** A repeating element that `_filter` can name, so that tests apply to one repetition. */
interface FilterGroup {
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
function filterGroup(type: string, name: string): FilterGroup | undefined {
  return GROUPS.get(`${type}.${name}`);
}

/**
 * `characteristic[code eq gender].value eq mixed`: each part is compared once, all within the same repetition.
 *
 * @throws FhirError `invalid` - a part is missing, unknown or compared twice.
 * @throws FhirError `unsupported` - the filter in brackets is not a conjunction of comparisons.
 */
function groupCriteria(
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
