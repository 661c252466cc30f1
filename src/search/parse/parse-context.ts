import type { FhirModel } from '../../fhir/model/fhir-model.js';
import { FhirError } from '../../fhir/error.js';

/** Options of search parsing. */
export interface SearchOptions {
  /**
   * True: REST style, names may carry modifiers, chains and `_has`. False: plain parameter names only, as in GraphQL
   * arguments. Default true.
   */
  readonly modifiers?: boolean | undefined;
  /** The service's own base: absolute references below it count as local. Default: none do. */
  readonly baseUrl?: string | undefined;
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
  readonly baseUrl: string | undefined;
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
    baseUrl: options.baseUrl,
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
