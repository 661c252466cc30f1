import { FhirError } from '../fhir/error.js';

/**
 * What one request may cost. Every limit refuses with `too-costly`, naming the limit, the number and the way out; none
 * cuts silently. Real dashboards (depth 15, a dozen searches) pass the defaults.
 */
export interface Limits {
  /** Longest query text, in UTF-16 code units. Default 200,000. */
  readonly queryLength: number;
  /** Most tokens of a document; of one that was parsed elsewhere, names and values where it does not tell. Default 10,000. */
  readonly tokens: number;
  /** Deepest nesting of selections, fragments opened. Default 30. */
  readonly depth: number;
  /** Most selections of a plan: fields, and fragments as often as they are opened. Default 20,000. */
  readonly fields: number;
  /** Most calls to the store. Default 200. */
  readonly storeCalls: number;
  /** Most resources that one list may hold. Default 10,000. */
  readonly listSize: number;
  /** Most resources read for a request, counted as often as they appear in the answer. Default 100,000. */
  readonly rows: number;
  /** Most values of an answer: its objects and their fields, absent ones included. Default 1,000,000. */
  readonly values: number;
  /** Highest estimated cost, in resources: told from the plan before the first store call, see `estimateCost`. Default 100,000. */
  readonly cost: number;
  /** Most steps of all FHIRPath evaluations together, of which one may take 250,000; an expression itself counts 20,000 and more. Default 2,000,000. */
  readonly fhirpathSteps: number;
  /** Most characters and values in the variables together. Default 5,000,000. */
  readonly variablesSize: number;
  /** Most fields that may fail, each with an error of its own. Default 10,000. */
  readonly errors: number;
  /** Most fields of a mutation. Default 100. */
  readonly writes: number;
  /** Longest run time, in milliseconds, whether or not the store answers by then. Default 30,000. */
  readonly timeout: number;
}

/** {@link Limits} of which each may be left out. */
export type LimitOptions = { readonly [Name in keyof Limits]?: Limits[Name] | undefined };

export const DEFAULT_LIMITS: Limits = Object.freeze({
  queryLength: 200_000,
  tokens: 10_000,
  depth: 30,
  fields: 20_000,
  storeCalls: 200,
  listSize: 10_000,
  rows: 100_000,
  values: 1_000_000,
  cost: 100_000,
  fhirpathSteps: 2_000_000,
  variablesSize: 5_000_000,
  errors: 10_000,
  writes: 100,
  timeout: 30_000,
});

/**
 * The limits of a request: the defaults, with what the host changed.
 *
 * @throws FhirError `invalid` - a limit is unknown or not a positive number
 */
export function withDefaults(limits: LimitOptions | undefined): Limits {
  if (limits === undefined) return DEFAULT_LIMITS;
  if (COMPLETE.has(limits)) return limits as Limits;
  for (const [name, value] of Object.entries(limits)) {
    if (!Object.hasOwn(DEFAULT_LIMITS, name)) throw new FhirError('invalid', `There is no limit called "${name}"`);
    if (value !== undefined && !(typeof value === 'number' && value > 0)) {
      throw new FhirError('invalid', `Limit "${name}" must be a number above 0`);
    }
  }
  const given = Object.entries(limits).filter(([, value]) => value !== undefined);
  const complete = Object.freeze({ ...DEFAULT_LIMITS, ...Object.fromEntries(given) });
  COMPLETE.add(complete);
  return complete;
}

/** Limits that were checked, which a service hands in with every request. */
const COMPLETE = new WeakSet<object>([DEFAULT_LIMITS]);

/** The error of a limit that was passed. It ends the request: what is left of it would be as costly. */
export class LimitError extends FhirError {
  constructor(limit: keyof Limits, max: number, message: string, value?: number) {
    super('too-costly', message, { details: { limit, max, ...(value === undefined ? {} : { value }) } });
  }
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
    `The query stands for more than ${fields} fields once its fragments are opened; ask for less, or split it`,
  );
}
