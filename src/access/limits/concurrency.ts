import { FhirError } from '../../fhir/error.js';

/**
 * How many requests run at the same time over one store, and how many wait. Requests with these limits take turns. The
 * project with the fewest running requests comes first, then the project that has used less time; callers within a
 * project are chosen in the same way.
 *
 * Requests are counted per store object in this process. Use the same limits in every context of a store: requests
 * without them neither wait nor count.
 */
export interface Concurrency {
  /** Maximum number of running requests of the store. Default: no limit. */
  readonly total: number;
  /**
   * Maximum number of running requests of one project. Set it below `total`, so that other projects get turns. Default:
   * no limit.
   */
  readonly project: number;
  /** Maximum number of running requests of one membership, or of one kind of trusted code in a project. Default: no limit. */
  readonly caller: number;
  /**
   * Maximum number of waiting requests of one project; half of them may be of one caller. More are `throttled`. Default
   * 100.
   */
  readonly queue: number;
}

/** {@link Concurrency}, all optional. */
export type ConcurrencyOptions = { readonly [Name in keyof Concurrency]?: Concurrency[Name] | undefined };

/** No limits: no request waits. */
export const UNLIMITED: Concurrency = Object.freeze({
  total: Infinity,
  project: Infinity,
  caller: Infinity,
  queue: 100,
});

/**
 * Completes the host's options with the defaults.
 *
 * @throws FhirError `invalid` - an option is unknown, or neither a whole number from 1 up nor Infinity
 */
export function parseConcurrency(options: ConcurrencyOptions | undefined): Concurrency {
  if (options === undefined || options === UNLIMITED) return UNLIMITED;
  if (typeof options !== 'object' || options === null) {
    throw new FhirError('invalid', 'Limit "concurrency" must be an object');
  }
  for (const [name, value] of Object.entries(options)) {
    if (!Object.hasOwn(UNLIMITED, name))
      throw new FhirError('invalid', `There is no limit called "concurrency.${name}"`);
    if (value === undefined || value === Infinity || (Number.isInteger(value) && value >= 1)) continue;
    throw new FhirError('invalid', `Limit "concurrency.${name}" must be a whole number from 1 up`);
  }
  const given = Object.entries(options).filter(([, value]) => value !== undefined);
  return Object.freeze({ ...UNLIMITED, ...Object.fromEntries(given) });
}

/** True if requests under these limits take turns. */
export function takesTurns({ total, project, caller }: Concurrency): boolean {
  return total !== Infinity || project !== Infinity || caller !== Infinity;
}
