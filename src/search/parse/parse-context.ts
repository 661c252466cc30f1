import { FhirError } from '../../fhir/error.js';
import { didYouMean, quote } from '../../fhir/messages.js';
import type { SearchParameterDefinition } from '../../fhir/model/definition-types.js';
import type { FhirModel } from '../../fhir/model/fhir-model.js';
import { getOrCreate } from '../../platform/collections.js';
import type { ChainCriteria, Criteria, MatchCriteria, SortKey } from '../criteria/criteria.js';
import { requiredCodes } from '../criteria/value-test.js';

/** Options of search parsing. */
export interface SearchOptions {
  /**
   * True: REST style, names may carry modifiers, chains and `_has`. False: plain parameter names only, as in GraphQL
   * arguments. Default true.
   */
  readonly modifiers?: boolean | undefined;
  /** The reference time of prefix `ap`. Default: the time of the call. */
  readonly now?: Date | undefined;
}

/** Maximum number of values of one parameter (`code=a,b,…`). */
export const MAX_VALUES = 1_000;
/** Maximum length of a single value, in UTF-16 code units. */
export const MAX_VALUE_LENGTH = 10_000;
/** Maximum number of steps of one chain, including `_has`. */
export const MAX_CHAIN = 8;
/** Maximum number of comparisons of one search, over all target types of its chains. */
export const MAX_COMPARISONS = 10_000;

/** The options of one search with defaults, and its remaining budget. */
export interface ParseContext {
  readonly model: FhirModel;
  readonly modifiers: boolean;
  /** Milliseconds since 1970. */
  readonly now: number;
  /** Whether `loinc`, `snomed`, `rxnorm` and `ucum` are aliases of their systems, as in `_filter`. */
  readonly systemAliases: boolean;
  /** Decremented by every comparison; shared by all parts of one search. */
  readonly budget: { comparisons: number };
}

/** @returns a new context, for one search only */
export function createParseContext(model: FhirModel, options: SearchOptions = {}): ParseContext {
  return {
    model,
    modifiers: options.modifiers ?? true,
    now: (options.now ?? new Date()).getTime(),
    systemAliases: false,
    budget: { comparisons: MAX_COMPARISONS },
  };
}

/**
 * Counts comparisons against the budget of the search.
 *
 * @throws FhirError `too-costly` - the search consists of more than {@link MAX_COMPARISONS}.
 */
export function spend(context: ParseContext, comparisons: number): void {
  context.budget.comparisons -= comparisons;
  if (context.budget.comparisons >= 0) return;
  const value = MAX_COMPARISONS - context.budget.comparisons;
  throw tooCostly(
    'comparisons in one search',
    MAX_COMPARISONS,
    value,
    'name the target types of chains or ask in parts',
  );
}

/** The error of an exceeded limit; the message has the limit, the value and a remedy. */
export function tooCostly(what: string, limit: number, value: number, wayOut: string): FhirError {
  return new FhirError('too-costly', `At most ${limit} ${what} are allowed, this has ${value}: ${wayOut}`, {
    details: { max: limit, value },
  });
}

/**
 * Highest cost of a search without the conditions of access rules. See {@link criteriaCost}.
 *
 * Searches of real systems cost up to about 25. A condition that every resource passes takes about 0.4 µs per resource.
 * Beyond 60 conditions it takes more, because SQLite searches all open cursors when it closes one: 60 conditions take
 * 1.4 s over 60,000 resources, 100 take 5 s and 240 take 37 s, if the search counts its matches.
 */
export const MAX_SEARCH_COST = 64;

/** Highest cost of a search with the conditions of access rules. A dozen rules that hide different fields cost 200. */
export const MAX_RESTRICTED_COST = 400;

/**
 * Refuses a search that would keep a store busy for too long, before the store call.
 *
 * @param sort each key takes an index look-up per match
 * @throws FhirError `too-costly` - with `details.max` and `details.value`
 */
export function assertAffordable(
  { criteria, sort = [] }: { readonly criteria: Criteria; readonly sort?: readonly SortKey[] | undefined },
  limit = MAX_SEARCH_COST,
): void {
  const cost = criteriaCost(criteria) + sort.length;
  if (cost <= limit) return;
  throw tooCostly(
    'look-ups per resource in one search',
    limit,
    Math.ceil(Math.min(cost, Number.MAX_SAFE_INTEGER)),
    'use fewer conditions, name the target types of chains, or search in several requests',
  );
}

/**
 * The cost of deciding whether one resource matches: about the number of index look-ups.
 *
 * | criteria | cost |
 * |---|---|
 * | a condition | 1 |
 * | `:text`, which reads the stored resource on some stores | 10 |
 * | a composite | 1 per component |
 * | alternatives for one parameter | the first, and 1/50 for each further one, as they are one look-up; codes, references and uris are a list: 1/500; of dates and numbers, which SQLite prepares in the square of their number, 1/4 |
 * | a chain | 2, and its criteria |
 * | alternatives of one reference, by type (`subject:Patient…` or `subject:Group…`) | 0.6 each, the costliest of their criteria, and a tenth of all, as a reference is of one type |
 * | a `_has`, which reads many resources | 4, and its criteria |
 *
 * Shared nodes count once per occurrence but are visited only once, so the cost of criteria that would multiply is
 * known before they do.
 */
export function criteriaCost(criteria: Criteria): number {
  return costOf(criteria, new Map());
}

function costOf(criteria: Criteria, known: Map<Criteria, number>): number {
  return getOrCreate(known, criteria, () => newCostOf(criteria, known));
}

function newCostOf(criteria: Criteria, known: Map<Criteria, number>): number {
  switch (criteria.kind) {
    case 'all':
    case 'none':
      return 0;
    case 'and':
      return sum(criteria.of, (one) => costOf(one, known));
    case 'or':
      return (
        alternativesCost(criteria.of.filter(({ kind }) => kind === 'match') as readonly MatchCriteria[]) +
        chainsCost(criteria.of.filter(({ kind }) => kind === 'chain') as readonly ChainCriteria[], known) +
        sum(criteria.of, (one) => (COSTED_TOGETHER.has(one.kind) ? 0 : costOf(one, known)))
      );
    case 'not':
      return costOf(criteria.of, known);
    case 'id':
    case 'last-updated':
    case 'missing':
      return 1;
    case 'match':
      return matchCost(criteria);
    case 'composite':
      return sum(criteria.tests, ({ kind }) => (kind === 'text' ? TEXT_COST : 1));
    case 'chain':
      return CHAIN_COST + costOf(criteria.of, known);
    case 'has':
      return HAS_COST + costOf(criteria.of, known);
  }
}

const TEXT_COST = 10;
const CHAIN_COST = 2;
const TYPED_CHAIN_COST = 0.6;
const HAS_COST = 4;
const ALTERNATIVE_COST = 1 / 50;
const LISTED_COST = 1 / 500;
const INTERVAL_COST = 1 / 4;

function alternativesCost(matches: readonly MatchCriteria[]): number {
  const parameters = new Set<string>();
  return sum(matches, (one) => {
    const isFirst = !parameters.has(one.parameter);
    parameters.add(one.parameter);
    if (isFirst || one.test.kind === 'text') return matchCost(one);
    if (isListed(one)) return LISTED_COST;
    return INTERVALS.has(one.test.kind) ? INTERVAL_COST : ALTERNATIVE_COST;
  });
}

const INTERVALS: ReadonlySet<string> = new Set(['date', 'number', 'quantity']);

const COSTED_TOGETHER: ReadonlySet<Criteria['kind']> = new Set(['match', 'chain']);

/** At most one of the chains over a reference leads on, because a reference has one type. */
function chainsCost(chains: readonly ChainCriteria[], known: Map<Criteria, number>): number {
  return sum([...Map.groupBy(chains, ({ parameter }) => parameter).values()], (alike) => {
    if (new Set(alike.map(({ type }) => type)).size < alike.length) return sum(alike, (one) => costOf(one, known));
    const costs = alike.map(({ of }) => costOf(of, known));
    const all = sum(costs, (cost) => cost);
    return Math.min(CHAIN_COST * alike.length + all, TYPED_CHAIN_COST * alike.length + Math.max(...costs) + all / 10);
  });
}

/** Stores combine alternatives that differ only in code, id or uri into one list. */
function isListed({ test }: MatchCriteria): boolean {
  if (test.kind === 'token') return requiredCodes(test) !== undefined;
  if (test.kind === 'uri') return test.comparator === 'equals';
  return test.kind === 'reference' && test.id !== undefined && test.negated !== true;
}

function matchCost({ test }: MatchCriteria): number {
  return test.kind === 'text' ? TEXT_COST : 1;
}

function sum<Item>(items: readonly Item[], costOf: (item: Item) => number): number {
  return items.reduce((total, item) => total + costOf(item), 0);
}

/** Parameters of the specification that are not based on elements and are not supported. */
const UNSUPPORTED: ReadonlySet<string> = new Set(['_text', '_content', '_query', '_list', '_type', '_score']);

/**
 * Looks up the definition of a search parameter.
 *
 * @throws FhirError `invalid` - unknown type or unknown parameter (then with `details.unknownParameter`); the message
 * suggests similar names.
 * @throws FhirError `unsupported` - defined by FHIR, but not supported (`_text`, type `special`).
 */
export function requireParameter(model: FhirModel, type: string, code: string): SearchParameterDefinition {
  const definition = model.searchParameter(requireResourceType(model, type), code);
  if (UNSUPPORTED.has(code)) throw new FhirError('unsupported', `Search parameter "${code}" is not supported`);
  if (definition === undefined) {
    const suggestion = didYouMean(code, model.searchParameters(type).keys());
    throw new FhirError('invalid', `Unknown search parameter ${quote(code)} of ${type}.${suggestion}`, {
      details: { unknownParameter: code.slice(0, 40), type },
    });
  }
  if (definition.type === 'special') {
    throw new FhirError(
      'unsupported',
      `Search parameter "${code}" of ${type} is of type special, which is not supported`,
    );
  }
  return definition;
}

/**
 * Asserts that a name is a resource type and returns it.
 *
 * @throws FhirError `invalid` - unknown; the message suggests similar names.
 */
export function requireResourceType(model: FhirModel, name: unknown): string {
  if (typeof name !== 'string') throw new FhirError('invalid', 'The name of a resource type must be a string');
  if (model.isResourceType(name)) return name;
  throw new FhirError('invalid', `Unknown resource type ${quote(name)}.${didYouMean(name, model.resourceTypes)}`);
}
