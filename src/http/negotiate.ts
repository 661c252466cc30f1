import { HttpRequestError } from './http-types.js';

/** The weights of the media ranges in an `Accept` header, by range in lower case, without parameters. */
export function acceptedTypes(accept: string): ReadonlyMap<string, number> {
  const weights = new Map<string, number>();
  for (const range of accept.toLowerCase().split(',', MAX_RANGES)) {
    const [type = '', ...parameters] = range.split(';').map((part) => part.trim());
    const weight = parameters.map((one) => /^q=([\d.]+)$/.exec(one)?.[1]).find((one) => one !== undefined);
    weights.set(type, weight === undefined ? 1 : Number(weight));
  }
  return weights;
}

/**
 * The type of an answer in JSON: our own type, or plain JSON if the client prefers that. Undefined if the client
 * accepts neither.
 */
export function preferredJson<Own extends string>(
  accept: string | null,
  own: Own,
): Own | 'application/json' | undefined {
  if (accept === null || accept.trim() === '') return own;
  const weights = acceptedTypes(accept);
  const weight = (type: string): number => weights.get(type) ?? weights.get('application/*') ?? weights.get('*/*') ?? 0;
  const [ofOwn, ofPlain] = [weight(own), weight('application/json')];
  if (ofOwn === 0 && ofPlain === 0) return undefined;
  return ofOwn >= ofPlain ? own : 'application/json';
}

const MAX_RANGES = 50;

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
