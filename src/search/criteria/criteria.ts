import type { DateTest, ValueTest } from './value-test.js';

/**
 * A search as a tree of plain data.
 *
 * Request text and access policies are parsed into it, the memory store and policy checks evaluate it (`match.ts`), SQL
 * stores translate it. All parameter codes are those of the resource type being searched (`Query.type`, or the type
 * named by a `chain` or `has` node for the criteria inside it).
 *
 * ```text
 * PatientList(family: "Kulas,Smith", gender: "male")
 *   { kind: 'and', of: [
 *     { kind: 'or', of: [
 *       { kind: 'match', parameter: 'family', test: { kind: 'string', comparator: 'starts-with', text: 'kulas' } },
 *       { kind: 'match', parameter: 'family', test: { kind: 'string', comparator: 'starts-with', text: 'smith' } } ] },
 *     { kind: 'match', parameter: 'gender', test: { kind: 'token', code: 'male' } } ] }
 * ```
 */
export type Criteria =
  | AllCriteria
  | NoneCriteria
  | AndCriteria
  | OrCriteria
  | NotCriteria
  | IdCriteria
  | LastUpdatedCriteria
  | MatchCriteria
  | MissingCriteria
  | CompositeCriteria
  | ChainCriteria
  | HasCriteria;

/** Every resource of the type. */
export interface AllCriteria {
  readonly kind: 'all';
}
/** No resource. */
export interface NoneCriteria {
  readonly kind: 'none';
}
/** A resource that all inner criteria match. */
export interface AndCriteria {
  readonly kind: 'and';
  readonly of: readonly Criteria[];
}
/** A resource that at least one inner criterion matches. */
export interface OrCriteria {
  readonly kind: 'or';
  readonly of: readonly Criteria[];
}
/** Every resource that the inner criteria do not match, including resources without any value. */
export interface NotCriteria {
  readonly kind: 'not';
  readonly of: Criteria;
}
/** The resource's id is in the list. */
export interface IdCriteria {
  readonly kind: 'id';
  readonly ids: readonly string[];
}
/** `meta.lastUpdated` as a date; separate because stores keep it in the resource's row, not in an index. */
export interface LastUpdatedCriteria {
  readonly kind: 'last-updated';
  readonly test: DateTest;
}
/**
 * At least one value of the parameter passes the test.
 *
 * The parameter is a code as defined, or one with `:identifier`, `:of-type` or `:words` (see index-entry.ts). It is never
 * a composite or one of its components: {@link CompositeCriteria} tests those.
 */
export interface MatchCriteria {
  readonly kind: 'match';
  readonly parameter: string;
  readonly test: ValueTest;
}
/**
 * `missing: true`: no value of the parameter; `false`: at least one. The parameter is named as in {@link MatchCriteria},
 * or with `:present`.
 */
export interface MissingCriteria {
  readonly kind: 'missing';
  readonly parameter: string;
  readonly missing: boolean;
}
/** A single group of component values passes all tests; `tests[n]` belongs to the parameter's component n. */
export interface CompositeCriteria {
  readonly kind: 'composite';
  readonly parameter: string;
  readonly tests: readonly ValueTest[];
}
/**
 * A resource of `type` that the reference parameter points to matches. One node per target type.
 *
 * Chains also enter resources inside the referencing one: contained resources, and the targets of `Bundle.composition`
 * and `.message`. These have no `_id` and no `_lastUpdated`, and `has` never reaches them. A chain that leaves such a
 * resource for a stored one enters no other resources inside.
 */
export interface ChainCriteria {
  readonly kind: 'chain';
  readonly parameter: string;
  readonly type: string;
  readonly of: Criteria;
  /** Restricts the targets to resources inside the referencing one, or to stored ones. Default: both. */
  readonly reach?: 'inside' | 'outside' | undefined;
}
/** A resource of `type` whose reference parameter points here matches. See https://hl7.org/fhir/R4/search.html#has. */
export interface HasCriteria {
  readonly kind: 'has';
  readonly type: string;
  readonly parameter: string;
  readonly of: Criteria;
}

/** One key of `_sort`. `parameter` may also be `_id` or `_lastUpdated`. */
export interface SortKey {
  readonly parameter: string;
  readonly descending: boolean;
}

export const ALL: Criteria = Object.freeze({ kind: 'all' });
export const NONE: Criteria = Object.freeze({ kind: 'none' });

/** The parameter refers to this resource. */
export function refersTo(
  parameter: string,
  { type, id }: { readonly type: string; readonly id: string },
): MatchCriteria {
  return { kind: 'match', parameter, test: { kind: 'reference', types: [type], id } };
}

/** The resource changed at an instant or later. @param since ISO 8601 */
export function changedSince(since: string): Criteria {
  const low = Date.parse(since);
  return { kind: 'last-updated', test: { kind: 'date', prefix: 'ge', low, high: low + 1 } };
}

/**
 * The resource's `lastUpdated` differs.
 * @param lastUpdated ISO 8601 instant, to the millisecond
 */
export function notLastUpdatedAt(lastUpdated: string): Criteria {
  const low = Date.parse(lastUpdated);
  return { kind: 'last-updated', test: { kind: 'date', prefix: 'ne', low, high: low + 1 } };
}

/** Conjunction, simplified: nested `and`s are flattened, `all` drops out, a `none` makes the whole `none`. */
export function and(criteria: readonly Criteria[]): Criteria {
  const of = criteria.flatMap((one) => (one.kind === 'and' ? one.of : one.kind === 'all' ? [] : [one]));
  if (of.some((one) => one.kind === 'none')) return NONE;
  return of.length === 0 ? ALL : of.length === 1 ? of[0]! : { kind: 'and', of };
}

/** Disjunction, simplified: nested `or`s are flattened, lists of ids joined, `none` drops out, an `all` makes the whole `all`. */
export function or(criteria: readonly Criteria[]): Criteria {
  const of = criteria.flatMap((one) => (one.kind === 'or' ? one.of : one.kind === 'none' ? [] : [one]));
  if (of.some((one) => one.kind === 'all')) return ALL;
  const distinct = withOneIdList(of);
  return distinct.length === 0 ? NONE : distinct.length === 1 ? distinct[0]! : { kind: 'or', of: distinct };
}

/** Thousands of ids are one look-up. */
function withOneIdList(alternatives: readonly Criteria[]): readonly Criteria[] {
  const lists = alternatives.filter((one) => one.kind === 'id');
  if (lists.length < 2) return alternatives;
  const ids = [...new Set(lists.flatMap((one) => one.ids))];
  return [{ kind: 'id', ids }, ...alternatives.filter((one) => one.kind !== 'id')];
}

/** Negation, simplified: a double negation cancels, `all` and `none` swap. */
export function not(criteria: Criteria): Criteria {
  if (criteria.kind === 'not') return criteria.of;
  if (criteria.kind === 'all') return NONE;
  if (criteria.kind === 'none') return ALL;
  return { kind: 'not', of: criteria };
}

/** The direct children of a criteria node: the operands of `and`, `or` and `not`, the criteria of `chain` and `has`. */
export function childrenOf(criteria: Criteria): readonly Criteria[] {
  switch (criteria.kind) {
    case 'and':
    case 'or':
      return criteria.of;
    case 'not':
    case 'chain':
    case 'has':
      return [criteria.of];
    default:
      return NO_CRITERIA;
  }
}

const NO_CRITERIA: readonly Criteria[] = [];
