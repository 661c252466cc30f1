import {
  type Concurrency,
  type ConcurrencyOptions,
  parseConcurrency,
  UNLIMITED,
} from '../access/limits/call-limits.js';
import {
  DEFAULT_STREAM_LIMITS,
  parseStreamLimits,
  type StreamLimitOptions,
  type StreamLimits,
} from '../access/limits/call-limits.js';
import { FhirError } from '../fhir/error.js';
import { DEFAULT_TEXT_BYTES } from '../store/text-budget.js';

/**
 * The limits of one request. Exceeding one is an error `too-costly` with the limit, the value and a remedy; nothing is
 * truncated silently. Real dashboards (depth 15, a dozen searches) stay within the defaults.
 */
export interface Limits {
  /** Maximum length of the query text, in UTF-16 code units. Default 200,000. */
  readonly queryLength: number;
  /**
   * Maximum number of tokens of a document; for documents parsed elsewhere without token counts, of names and values.
   * Default 10,000.
   */
  readonly tokens: number;
  /** Maximum nesting of selections, fragments expanded. Default 30. */
  readonly depth: number;
  /** Maximum number of selections of a plan, fragments counted per expansion. Default 20,000. */
  readonly fields: number;
  /** Maximum number of store calls. Default 200. */
  readonly storeCalls: number;
  /** Maximum number of calls of resolvers of the host's fields. Default 200. */
  readonly resolverCalls: number;
  /** Maximum number of resources in one list. Default 10,000. */
  readonly listSize: number;
  /** Maximum number of resources read, once for each time they appear in the answer. Default 100,000. */
  readonly rows: number;
  /**
   * Maximum size of the resources read, in bytes of their JSON texts as UTF-8, once for each time they are read. The whole
   * text counts, however few of its elements are selected. Default 134,217,728 (128 MiB).
   */
  readonly bytes: number;
  /**
   * Maximum number of values of an answer: its objects and their fields, including absent ones, and one more for each 100
   * characters of a text of more than 1,000. Default 1,000,000.
   */
  readonly values: number;
  /**
   * Maximum cost, in resources with few fields: the cost so far plus the least that is still to come, checked before
   * every level of store calls. Mutations are refused by their estimated cost, before they write. Default 100,000.
   */
  readonly cost: number;
  /**
   * Maximum number of steps of all FHIRPath evaluations; a single one may take 250,000. Each distinct expression counts
   * at least 20,000. Default 2,000,000.
   */
  readonly fhirpathSteps: number;
  /**
   * Maximum size of all variables: the characters of their texts and names, and 100 for each value. Default 5,000,000,
   * which is 50,000 short values.
   */
  readonly variablesSize: number;
  /** Maximum number of failed fields, each with its own error. Default 10,000. */
  readonly errors: number;
  /** Maximum number of fields of a mutation. Default 100. */
  readonly writes: number;
  /** Maximum time in milliseconds, waiting included, even if the store does not answer. Default 30,000. */
  readonly timeout: number;
  /** How many requests of the store, of a project and of a caller can run at the same time. Default: no limit. */
  readonly concurrency: Concurrency;
  /** How many subscriptions can be open at the same time. */
  readonly streams: StreamLimits;
}

/** {@link Limits}, all optional. */
export type LimitOptions = {
  readonly [Name in Exclude<keyof Limits, 'concurrency' | 'streams'>]?: Limits[Name] | undefined;
} & {
  readonly concurrency?: ConcurrencyOptions | undefined;
  readonly streams?: StreamLimitOptions | undefined;
};

/** The share of `variablesSize` that a value takes, in characters: as long as it takes to read it. */
export const SIZE_PER_VALUE = 100;

/** The default limits of a request. */
export const DEFAULT_LIMITS: Limits = Object.freeze({
  queryLength: 200_000,
  tokens: 10_000,
  depth: 30,
  fields: 20_000,
  storeCalls: 200,
  resolverCalls: 200,
  listSize: 10_000,
  rows: 100_000,
  bytes: DEFAULT_TEXT_BYTES,
  values: 1_000_000,
  cost: 100_000,
  fhirpathSteps: 2_000_000,
  variablesSize: 5_000_000,
  errors: 10_000,
  writes: 100,
  timeout: 30_000,
  concurrency: UNLIMITED,
  streams: DEFAULT_STREAM_LIMITS,
});

/**
 * Completes the host's limits with the defaults.
 *
 * @throws FhirError `invalid` - a limit is unknown or not a positive number
 */
export function withDefaults(limits: LimitOptions | undefined): Limits {
  if (limits === undefined) return DEFAULT_LIMITS;
  if (COMPLETE.has(limits)) return limits as Limits;
  for (const [name, value] of Object.entries(limits)) {
    if (!Object.hasOwn(DEFAULT_LIMITS, name)) throw new FhirError('invalid', `There is no limit called "${name}"`);
    if (name === 'concurrency' || name === 'streams') continue;
    if (value !== undefined && !(typeof value === 'number' && value > 0)) {
      throw new FhirError('invalid', `Limit "${name}" must be a number above 0`);
    }
  }
  const given = Object.entries(limits).filter(([, value]) => value !== undefined);
  const concurrency = parseConcurrency(limits.concurrency);
  const streams = parseStreamLimits(limits.streams);
  const complete = Object.freeze({ ...DEFAULT_LIMITS, ...Object.fromEntries(given), concurrency, streams });
  COMPLETE.add(complete);
  return complete;
}

/** Checked limits, which a service passes in with every request. */
const COMPLETE = new WeakSet<object>([DEFAULT_LIMITS]);

/** The error of an exceeded limit. It ends the request, since the rest would be as costly. */
export class LimitError extends FhirError {
  constructor(limit: keyof Limits, max: number, message: string, value?: number) {
    super('too-costly', message, { details: { limit, max, ...(value === undefined ? {} : { value }) } });
  }
}

/** @param value the cost so far, and the least that is to come */
export function tooCostly({ cost }: Limits, value: number): LimitError {
  const whole = wholeCost(value);
  return new LimitError(
    'cost',
    cost,
    `The query costs at least ${whole} (about as many resources); the limit is ${cost}: page its lists with _count, nest fewer of them, or split it`,
    whole,
  );
}

/** Costs are reported in whole numbers. */
export function wholeCost(cost: number): number {
  return Math.min(Math.ceil(cost), Number.MAX_SAFE_INTEGER);
}

/** @throws LimitError `queryLength` */
export function assertQueryLength(query: string, { queryLength }: Limits): void {
  if (query.length <= queryLength) return;
  throw new LimitError(
    'queryLength',
    queryLength,
    `The query has ${query.length} characters; at most ${queryLength} are allowed`,
    query.length,
  );
}

export function tooDeep({ depth }: Limits): LimitError {
  return new LimitError('depth', depth, `The query nests deeper than ${depth} levels; ask for less at once`);
}

export function tooManyFields({ fields }: Limits): LimitError {
  return new LimitError(
    'fields',
    fields,
    `The query expands to more than ${fields} fields once its fragments are opened; ask for less, or split it`,
  );
}
