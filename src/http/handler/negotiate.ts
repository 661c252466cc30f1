import { preferredJson } from '../accepted-types.js';
import { HttpRequestError } from '../http-request-error.js';

/** How a client wants JSON: by `Accept`, `_format` and `_pretty`. See https://hl7.org/fhir/R4/http.html#mime-type. */
export interface Format {
  readonly type: 'application/fhir+json' | 'application/json';
  readonly pretty: boolean;
}

export const DEFAULT_FORMAT: Format = { type: 'application/fhir+json', pretty: false };

/**
 * @param isLenient answer in the default format if the client accepts no JSON
 * @throws HttpRequestError 406 - the client accepts no JSON
 */
export function negotiateFormat(parameters: URLSearchParams, accept: string | null, isLenient = false): Format {
  const pretty = parameters.get('_pretty') === 'true';
  const asked = parameters.get('_format');
  const type =
    asked === null
      ? preferredJson(accept, 'application/fhir+json')
      : TYPES_BY_FORMAT.get(asked.toLowerCase().split(';', 1)[0]!.trim());
  if (type !== undefined) return { type, pretty };
  if (isLenient) return { ...DEFAULT_FORMAT, pretty };
  throw new HttpRequestError(406, 'This service answers application/fhir+json only');
}

/** A plus sign that was not percent-encoded arrives as a space. */
const TYPES_BY_FORMAT: ReadonlyMap<string, Format['type']> = new Map([
  ['json', 'application/fhir+json'],
  ['application/fhir+json', 'application/fhir+json'],
  ['application/fhir json', 'application/fhir+json'],
  ['application/json', 'application/json'],
  ['text/json', 'application/json'],
]);
