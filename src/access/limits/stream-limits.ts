import { FhirError } from '../../fhir/error.js';

/** How many subscriptions are open at the same time. They are counted per store object in this process. */
export interface StreamLimits {
  /** Of one membership, or of one kind of trusted code in a project. Default 100. */
  readonly caller: number;
  /** Of one project. Default 20,000. */
  readonly project: number;
  /**
   * Of one project, those that every change of their type must test, because nothing that they ask for or their access rules
   * demand is an equality of an id, a reference or a code; equal ones count once. Default 1,000.
   */
  readonly broad: number;
}

/** {@link StreamLimits}, all optional. */
export type StreamLimitOptions = { readonly [Name in keyof StreamLimits]?: StreamLimits[Name] | undefined };

export const DEFAULT_STREAM_LIMITS: StreamLimits = Object.freeze({ caller: 100, project: 20_000, broad: 1_000 });

/**
 * Completes the host's options with the defaults.
 *
 * @throws FhirError `invalid` - an option is unknown, or neither a whole number from 1 up nor Infinity
 */
export function parseStreamLimits(options: StreamLimitOptions | undefined): StreamLimits {
  if (options === undefined || options === DEFAULT_STREAM_LIMITS) return DEFAULT_STREAM_LIMITS;
  if (typeof options !== 'object' || options === null)
    throw new FhirError('invalid', 'Limit "streams" must be an object');
  for (const [name, value] of Object.entries(options)) {
    if (!Object.hasOwn(DEFAULT_STREAM_LIMITS, name))
      throw new FhirError('invalid', `There is no limit called "streams.${name}"`);
    if (value === undefined || value === Infinity || (Number.isInteger(value) && value >= 1)) continue;
    throw new FhirError('invalid', `Limit "streams.${name}" must be a whole number from 1 up`);
  }
  const given = Object.entries(options).filter(([, value]) => value !== undefined);
  return Object.freeze({ ...DEFAULT_STREAM_LIMITS, ...Object.fromEntries(given) });
}

export function tooManyStreams(name: keyof StreamLimits, limits: StreamLimits): FhirError {
  const max = limits[name];
  return new FhirError('throttled', `${MESSAGES[name]} (limit "streams.${name}": ${max}); end others first`, {
    details: { limit: `streams.${name}`, max },
  });
}

const MESSAGES: { readonly [Name in keyof StreamLimits]: string } = {
  caller: 'The caller has too many subscriptions',
  project: 'The project has too many subscriptions',
  broad: 'The project has too many subscriptions without an equality of an id, a reference or a code',
};
