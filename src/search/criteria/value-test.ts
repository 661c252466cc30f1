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
  /** Some value of the parameter differs from the fields above: `_filter`'s `ne`. */
  readonly negated?: boolean | undefined;
  /**
   * The value has none of these codes; it may have another code, or no code. Of the fields above, only `system` can be
   * combined with it.
   */
  readonly except?: readonly string[] | undefined;
}

/**
 * `:in`, `:above` and `:below` on a token: the value is one of the concepts in the terminology's expansion. `:not-in`
 * is `not` around it.
 *
 * The terminology replaces it by token tests before the store call; a store that receives one must refuse the search.
 */
export interface ConceptTest {
  readonly kind: 'concept';
  readonly request: ExpansionRequest;
}

/**
 * A set of concepts that a terminology can expand: the concepts of a value set, or a concept with all concepts that
 * subsume it (`above`) or that it subsumes (`below`).
 */
export type ExpansionRequest =
  | { readonly kind: 'value-set'; readonly url: string }
  | { readonly kind: 'above' | 'below'; readonly system: string; readonly code: string };

/** `:text` on a token or reference: a display or text of the value contains the folded text, anywhere. */
export interface TextTest {
  readonly kind: 'text';
  readonly text: string;
}

/**
 * Strings compare folded (see fold.ts), except `exact`, which compares `text` literally.
 *
 * `words-start-with` and `words-equal` test the words of names, as their index entries have them (see `nameWords`): the
 * value begins with the first word of `text`, and each other one begins a word. `words-equal` adds a blank to each word.
 */
export interface StringTest {
  readonly kind: 'string';
  readonly comparator:
    'starts-with' | 'ends-with' | 'contains' | 'equals' | 'not-equals' | 'exact' | 'words-start-with' | 'words-equal';
  /** Folded, except for `exact`. */
  readonly text: string;
}

/** How values begin that pass `words-start-with` or `words-equal`, and what else is in them after a blank is put before. */
export function wordParts({ comparator, text }: StringTest): {
  readonly start: string;
  readonly parts: readonly string[];
} {
  const end = comparator === 'words-equal' ? ' ' : '';
  const [first, ...others] = text.split(' ') as [string, ...string[]];
  return { start: first + end, parts: others.map((word) => ` ${word}${end}`) };
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
  /**
   * How `url` compares with a canonical. Default: without a version, it equals every version. `exact`: only itself.
   * `below`: `url|1` equals `url|1` and versions that begin with `1.`.
   */
  readonly version?: 'exact' | 'below' | undefined;
  /** Some value of the parameter differs: `_filter`'s `ne`. */
  readonly negated?: boolean | undefined;
}

/**
 * Uris compare whole and case-sensitive; `below`: the value begins with the searched uri as a path; `above`: the
 * reverse. `canonical`: without a version it also equals the value of any version; `not-canonical`: some value differs
 * in that sense.
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

/** The codes that the test compares with: the code and the alternative. Undefined if it compares systems only. */
export function testedCodes({ code, folded }: TokenTest): readonly string[] | undefined {
  if (code === undefined) return undefined;
  return folded === undefined || folded === code ? [code] : [code, folded];
}

/** The codes that a passing value can have. Undefined if values with other codes, or without a code, can pass too. */
export function requiredCodes(test: ValueTest): readonly string[] | undefined {
  return test.kind === 'token' && test.below !== true && test.negated !== true ? testedCodes(test) : undefined;
}
