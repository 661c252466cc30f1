import { FhirError } from '../../fhir/error.js';

/** How a person accepts an invitation. */
export interface AcceptanceOptions {
  /**
   * The address of the host's page where the person accepts: a string with `{token}` in it, such as
   * `https://app.example.org/accept?token={token}`, or a function that returns the address. The page verifies the
   * person and then calls `acceptInvitation`.
   */
  readonly url: string | ((token: string) => string);
  /** How long an invitation can be accepted, in milliseconds. Default 7 days. */
  readonly validFor?: number | undefined;
}

/** Seven days. */
const DEFAULT_VALIDITY_MS = 7 * 24 * 60 * 60 * 1000;

/** A hundred years: longer times have no date with four digits. */
const MAX_VALIDITY_MS = 100 * 366 * 24 * 60 * 60 * 1000;

/** The checked options. */
export interface Acceptance {
  readonly urlOf: (token: string) => string;
  readonly validFor: number;
}

/**
 * Checks the options before anything is written.
 *
 * @throws FhirError `invalid` - no http or https address with `{token}` in it, or no positive time
 */
export function readAcceptance(options: AcceptanceOptions): Acceptance {
  const { url, validFor = DEFAULT_VALIDITY_MS } = options;
  if (typeof validFor !== 'number' || !(validFor > 0 && validFor <= MAX_VALIDITY_MS)) {
    throw new FhirError('invalid', 'acceptance.validFor must be a number of milliseconds above 0, 100 years at most');
  }
  if (typeof url === 'function') return { urlOf: (token) => webUrl(url(token)), validFor };
  if (typeof url !== 'string' || !url.includes(PLACE)) {
    throw new FhirError('invalid', `acceptance.url must be a function, or a text with ${PLACE} in it`);
  }
  const urlOf = (token: string): string => webUrl(url.replaceAll(PLACE, token));
  urlOf('token');
  return { urlOf, validFor };
}

const PLACE = '{token}';

function webUrl(text: unknown): string {
  const url = typeof text === 'string' ? URL.parse(text) : null;
  if (url !== null && /^https?:$/.test(url.protocol)) return url.href;
  throw new FhirError('invalid', 'acceptance.url must make an absolute http or https URL');
}
