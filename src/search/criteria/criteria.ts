import { FhirError } from '../../fhir/error.js';
import { getOrCreate, pushTo } from '../../platform/collections.js';
import type { DateTest, ExpansionRequest, ValueTest } from './value-test.js';

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

/** Maximum nesting of criteria; parsers stay far below it. */
const MAX_DEPTH = 1_000;

/**
 * Removes repeated conditions without changing the meaning: `gender=male` given 400 times is one index lookup. Equality
 * ignores the order of parts. Conditions shared by several alternatives are factored out.
 *
 * Takes linear time in the number of nodes; shared nodes are visited once. Unchanged nodes keep their identity.
 *
 * @throws FhirError `too-costly` - criteria nested deeper than 1,000 levels
 */
export function simplifyCriteria(criteria: Criteria): Criteria {
  return 'of' in criteria ? new Simplifier().simplify(criteria, 0).criteria : criteria;
}

/** Criteria with a number; equal criteria have equal numbers. */
interface Simplified {
  readonly criteria: Criteria;
  readonly number: number;
}

class Simplifier {
  readonly #done = new Map<Criteria, Simplified>();
  readonly #byKey = new Map<string, Simplified>();

  simplify(criteria: Criteria, depth: number): Simplified {
    const known = this.#done.get(criteria);
    if (known !== undefined) return known;
    if (depth > MAX_DEPTH) throw tooDeep();
    const simplified = this.#numbered(this.#simplified(criteria, depth), depth);
    this.#done.set(criteria, simplified);
    return simplified;
  }

  #simplified(criteria: Criteria, depth: number): Criteria {
    switch (criteria.kind) {
      case 'and':
      case 'or': {
        const parts = new Set(criteria.of.map((one) => this.simplify(one, depth + 1).criteria));
        const isKept = parts.size === criteria.of.length && criteria.of.every((one) => parts.has(one));
        const distinct = isKept
          ? criteria
          : this.#withoutRepeats(criteria.kind === 'and' ? and([...parts]) : or([...parts]), depth);
        return distinct.kind === 'or' ? this.#factored(distinct, depth) : distinct;
      }
      case 'not': {
        const of = this.simplify(criteria.of, depth + 1).criteria;
        return of === criteria.of ? criteria : not(of);
      }
      case 'chain':
      case 'has': {
        const of = this.simplify(criteria.of, depth + 1).criteria;
        return of === criteria.of ? criteria : { ...criteria, of };
      }
      default:
        return criteria;
    }
  }

  /** Flattened parts may repeat conditions of the outer list. */
  #withoutRepeats(criteria: Criteria, depth: number): Criteria {
    if (criteria.kind !== 'and' && criteria.kind !== 'or') return criteria;
    const parts = [...new Set(criteria.of.map((one) => this.simplify(one, depth + 1).criteria))];
    if (parts.length === criteria.of.length) return criteria;
    return criteria.kind === 'and' ? and(parts) : or(parts);
  }

  /**
   * Factors out conditions shared by all alternatives, unless a single index lookup answers the whole: `a and x or b
   * and x` as `(a or b) and x`.
   */
  #factored(criteria: OrCriteria, depth: number): Criteria {
    const holders = new Map<Criteria, AndCriteria[]>();
    for (const part of criteria.of) {
      for (const one of part.kind === 'and' ? part.of : []) {
        if (!('of' in one)) continue;
        pushTo(holders, one, part as AndCriteria);
      }
    }
    let [most, shared]: [readonly AndCriteria[], Criteria | undefined] = [[], undefined];
    for (const [one, found] of holders) if (found.length > Math.max(1, most.length)) [most, shared] = [found, one];
    if (shared === undefined) return criteria;
    const apart = or(most.map(({ of }) => and(of.filter((one) => one !== shared))));
    const joined = and([shared, this.simplify(apart, depth + 1).criteria]);
    return this.simplify(or([...criteria.of.filter((one) => !most.includes(one as AndCriteria)), joined]), depth + 1)
      .criteria;
  }

  /** Equal criteria are represented by the first of them. */
  #numbered(criteria: Criteria, depth: number): Simplified {
    const known = this.#done.get(criteria);
    if (known !== undefined) return known;
    const key = this.#keyOf(criteria, depth);
    return getOrCreate(this.#byKey, key, () => ({ criteria, number: this.#byKey.size }));
  }

  #keyOf(criteria: Criteria, depth: number): string {
    const numberOf = (one: Criteria): number => this.simplify(one, depth + 1).number;
    switch (criteria.kind) {
      case 'and':
      case 'or':
        return `${criteria.kind} ${criteria.of
          .map(numberOf)
          .sort((a, b) => a - b)
          .join()}`;
      case 'not':
        return `not ${numberOf(criteria.of)}`;
      case 'chain':
        return `chain ${criteria.reach ?? ''} ${criteria.type} ${criteria.parameter} ${numberOf(criteria.of)}`;
      case 'has':
        return `has ${criteria.type} ${criteria.parameter} ${numberOf(criteria.of)}`;
      default:
        return JSON.stringify(criteria);
    }
  }
}

function tooDeep(): FhirError {
  return new FhirError(
    'too-costly',
    `Criteria may be nested ${MAX_DEPTH} levels deep, these are deeper: simplify them`,
    { details: { max: MAX_DEPTH } },
  );
}

/** A code of a code system. */
export interface Concept {
  readonly system?: string | undefined;
  readonly code: string;
  readonly display?: string | undefined;
}

/** Concepts by {@link expansionKey}. */
export interface Expansions {
  get(key: string): readonly Concept[] | undefined;
}

/** No expansions. */
export const NO_EXPANSIONS: Expansions = new Map();

/** Sample expansions, until the terminology is called: every set has one concept. */
export const SAMPLE_EXPANSIONS: Expansions = { get: () => [{ system: 'urn:sample', code: 'sample' }] };

/** The expansions that criteria need, each once, by a text that is equal for equal ones. */
export function expansionsIn(...criteria: readonly Criteria[]): ReadonlyMap<string, ExpansionRequest> {
  const found = new Map<string, ExpansionRequest>();
  const pending = [...criteria];
  for (let node = pending.pop(); node !== undefined; node = pending.pop()) {
    if (node.kind === 'match' && node.test.kind === 'concept') {
      found.set(expansionKey(node.test.request), node.test.request);
    }
    for (const child of childrenOf(node)) pending.push(child);
  }
  return found;
}

export function expansionKey(request: ExpansionRequest): string {
  return JSON.stringify(request.kind === 'value-set' ? [request.url] : [request.kind, request.system, request.code]);
}

/**
 * Replaces tests of concepts by tests of their codes. An empty expansion matches nothing.
 *
 * @param expansions by {@link expansionKey}
 * @throws FhirError `unsupported` - an expansion is missing
 */
export function withExpansions(criteria: Criteria, expansions: Expansions): Criteria {
  switch (criteria.kind) {
    case 'and':
      return and(criteria.of.map((one) => withExpansions(one, expansions)));
    case 'or':
      return or(criteria.of.map((one) => withExpansions(one, expansions)));
    case 'not':
      return not(withExpansions(criteria.of, expansions));
    case 'chain':
    case 'has':
      return { ...criteria, of: withExpansions(criteria.of, expansions) };
    case 'match': {
      const { test, parameter } = criteria;
      if (test.kind !== 'concept') return criteria;
      const concepts = expansions.get(expansionKey(test.request));
      if (concepts === undefined) throw needsTerminology();
      return or(
        concepts.map(({ system, code }) => ({ kind: 'match', parameter, test: { kind: 'token', system, code } })),
      );
    }
    default:
      return criteria;
  }
}

/** @throws FhirError `unsupported` - some tests of concepts are left */
export function assertExpanded(criteria: Criteria): void {
  if (expansionsIn(criteria).size > 0) throw needsTerminology();
}

/** The error of a search by concepts without a terminology. */
export function needsTerminology(): FhirError {
  return new FhirError(
    'unsupported',
    'A search by value sets or hierarchies of codes (:in, :not-in, :above, :below; in, ni, ss and sb of _filter) needs a terminology, and this service has none',
  );
}
