import type { FhirModel } from '../../fhir/model/fhir-model.js';
import { FhirError } from '../../fhir/error.js';

/** What the reading of search text depends on besides the text. */
export interface SearchOptions {
  /**
   * True: REST style, names may carry modifiers, chains and `_has`. False: plain parameter names only, as GraphQL
   * arguments demand. Default true.
   */
  readonly modifiers?: boolean | undefined;
  /** The service's own base: absolute references below it count as local. Default: none do. */
  readonly baseUrl?: string | undefined;
  /** What prefix `ap` measures dates from. Default: the time of the call. */
  readonly now?: Date | undefined;
}

/** Most values that one parameter may be compared to (`code=a,b,…`). */
export const MAX_VALUES = 1_000;
/** Longest single value, in UTF-16 code units. */
export const MAX_VALUE_LENGTH = 10_000;
/** Most steps of one chain, `_has` included. */
export const MAX_CHAIN = 8;
/** Most comparisons that one search may consist of, over all target types that its chains reach. */
export const MAX_COMPARISONS = 10_000;

/** The options of one search with their defaults, and the work it may still cause. */
export interface ParseContext {
  readonly model: FhirModel;
  readonly modifiers: boolean;
  readonly baseUrl: string | undefined;
  /** Milliseconds since 1970. */
  readonly now: number;
  /** True where `loinc`, `snomed`, `rxnorm` and `ucum` stand for their systems: in `_filter`. */
  readonly systemAliases: boolean;
  /** Counted down by every comparison; shared by all parts of one search. */
  readonly budget: { comparisons: number };
}

/** @returns a fresh context; one search uses one. */
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

/** The error of a limit: it names what is limited, both numbers and the way out. */
export function tooCostly(what: string, limit: number, value: number, wayOut: string): FhirError {
  return new FhirError('too-costly', `At most ${limit} ${what} are allowed, this has ${value}: ${wayOut}`, {
    details: { max: limit, value },
  });
}
