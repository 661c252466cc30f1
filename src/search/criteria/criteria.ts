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
 * resource for a stored one enters no further resources inside.
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

/** A test on one index value. */
export type ValueTest =
  ConceptTest | TokenTest | TextTest | StringTest | DateTest | NumberTest | QuantityTest | ReferenceTest | UriTest;

/**
 * Token forms: `code` (no system, noSystem not set), `system|code`, `|code` (noSystem), `system|` (no code).
 * Case-sensitive. See https://hl7.org/fhir/R4/search.html#token.
 */
export interface TokenTest {
  readonly kind: 'token';
  readonly system?: string | undefined;
  /** The value must have no system. */
  readonly noSystem?: boolean | undefined;
  readonly code?: string | undefined;
  /** An alternative code: the first one folded as string values are, see index-token.ts. */
  readonly folded?: string | undefined;
  /** The code is a MIME type or its first half, `image` or `text/html`; narrower types pass too. */
  readonly below?: boolean | undefined;
  /** Some value of the parameter differs from the other fields: `_filter`'s `ne`. */
  readonly negated?: boolean | undefined;
  /** The value has none of these codes, whether it has another one or none. Not together with the fields above but `system`. */
  readonly except?: readonly string[] | undefined;
}

/**
 * `:in`, `:above` and `:below` on a token: the value is one of the concepts that terminology names. `:not-in` is `not` around it.
 *
 * Terminology expands it to token tests before a store is asked; a store that meets one must refuse the search.
 */
export interface ConceptTest {
  readonly kind: 'concept';
  readonly request: ExpansionRequest;
}

/**
 * A set of concepts that a terminology can expand: those of a value set, or a concept with everything that it is subsumed
 * by (`above`) or that it subsumes (`below`).
 */
export type ExpansionRequest =
  | { readonly kind: 'value-set'; readonly url: string }
  | { readonly kind: 'above' | 'below'; readonly system: string; readonly code: string };

/** `:text` on a token or reference: a display or text of the value contains or begins with the folded text. */
export interface TextTest {
  readonly kind: 'text';
  readonly text: string;
}

/** Strings compare folded (see fold.ts), except `exact`, which compares `text` literally. */
export interface StringTest {
  readonly kind: 'string';
  readonly comparator: 'starts-with' | 'ends-with' | 'contains' | 'equals' | 'not-equals' | 'exact';
  /** Folded, except for `exact`. */
  readonly text: string;
}

/**
 * How a stored interval relates to the searched one. See https://hl7.org/fhir/R4/search.html#prefix.
 * With stored `[l, h)` and searched `[L, H)`:
 *
 * | prefix | stored value passes when |
 * |---|---|
 * | eq | `L <= l && h <= H` |
 * | ne | not eq |
 * | gt | `h > H` |
 * | lt | `l < L` |
 * | ge | gt or eq |
 * | le | lt or eq |
 * | sa | `l >= H` |
 * | eb | `h <= L` |
 * | ap | the intervals, the searched one widened by 10 % of its distance from now (dates) or of its value (numbers), overlap |
 * | po | the intervals overlap (`_filter` only) |
 *
 * Parsing widens the searched interval for `ap`, so that a test never depends on the clock: for it `low`/`high` are the
 * widened bounds and `ap` and `po` mean the same to an evaluator.
 */
export type Prefix = 'eq' | 'ne' | 'gt' | 'lt' | 'ge' | 'le' | 'sa' | 'eb' | 'ap' | 'po';

/** Milliseconds since 1970, half-open. */
export interface DateTest {
  readonly kind: 'date';
  readonly prefix: Prefix;
  readonly low: number;
  readonly high: number;
}

/**
 * A number. For `eq` and `ne` `[low, high)` is the interval of the precision as written (`13` is 12.5 up to 13.5), for `ap`
 * it is the value ± 10 %, for the other prefixes `low` and `high` both are the exact value. A stored number is a point
 * (`low = high`), a stored Range a closed interval; a stored value passes
 *
 * | prefix | when |
 * |---|---|
 * | eq | `low <= l && h < high` (or l = h = low when low = high) |
 * | ne | not eq |
 * | gt / lt | `h > high` / `l < low` |
 * | ge / le | `h >= high` / `l <= low` |
 * | sa / eb | `l > high` / `h < low` |
 * | ap, po | `l <= high && h >= low` |
 */
export interface NumberTest {
  readonly kind: 'number';
  readonly prefix: Prefix;
  readonly low: number;
  readonly high: number;
}

/** A {@link NumberTest} with unit: `system|code` must both be equal; `||code` is equal to the code or to the human unit. */
export interface QuantityTest {
  readonly kind: 'quantity';
  readonly prefix: Prefix;
  readonly low: number;
  readonly high: number;
  readonly system?: string | undefined;
  readonly code?: string | undefined;
}

/**
 * A reference. `types` and `id` name local resources (no `types`: any type); `url` anything absolute or a canonical,
 * with `|version` if the search has one. Without id and url, any local reference to one of the types.
 */
export interface ReferenceTest {
  readonly kind: 'reference';
  readonly types?: readonly string[] | undefined;
  readonly id?: string | undefined;
  readonly url?: string | undefined;
  /** Some value of the parameter differs: `_filter`'s `ne`. */
  readonly negated?: boolean | undefined;
}

/**
 * Uris compare whole and case-sensitive; `below`: the value begins with it as a path; `above`: the other way round.
 * `canonical`: without a version it also equals the value of any version; `not-canonical`: some value differs in that sense.
 */
export interface UriTest {
  readonly kind: 'uri';
  readonly comparator:
    | 'equals'
    | 'not-equals'
    | 'canonical'
    | 'not-canonical'
    | 'below'
    | 'above'
    | 'starts-with'
    | 'ends-with'
    | 'contains';
  readonly value: string;
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

/** Disjunction, simplified: nested `or`s are flattened, `none` drops out, an `all` makes the whole `all`. */
export function or(criteria: readonly Criteria[]): Criteria {
  const of = criteria.flatMap((one) => (one.kind === 'or' ? one.of : one.kind === 'none' ? [] : [one]));
  if (of.some((one) => one.kind === 'all')) return ALL;
  return of.length === 0 ? NONE : of.length === 1 ? of[0]! : { kind: 'or', of };
}

/** Negation, simplified: a double negation cancels, `all` and `none` swap. */
export function not(criteria: Criteria): Criteria {
  if (criteria.kind === 'not') return criteria.of;
  if (criteria.kind === 'all') return NONE;
  if (criteria.kind === 'none') return ALL;
  return { kind: 'not', of: criteria };
}
