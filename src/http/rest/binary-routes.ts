import type { Binary } from '@medplum/fhirtypes';
import { repositoryOf } from '../../repository/create-repository.js';
import { acceptedTypes } from '../negotiate.js';
import { HttpRequestError, mediaTypeOf } from '../http-types.js';
import { decodeBase64 } from '../../platform/bytes.js';
import type { Answer } from '../exchange/answer.js';
import { type CallerExchange, repositoryFor, type Route } from '../exchange/exchange.js';
import { isMediaType } from '../exchange/read-body.js';
import { answerUnlessCurrent } from './answer-resource.js';
import { parametersOf, subsetFor } from './read-routes.js';

/**
 * Reads of Binaries. The answer is the content, unless the client requests FHIR JSON. See
 * https://hl7.org/fhir/R4/binary.html#rest.
 */
export const BINARY_ROUTES: readonly Route[] = [
  {
    group: 'read',
    method: 'GET',
    root: 'fhir',
    path: 'Binary/:id',
    parameters: 'any',
    takesAnyFormat: true,
    async answer(exchange) {
      const subset = await parametersOf(exchange, 'read', () => subsetFor(exchange));
      const binary = await repositoryOf(repositoryFor(exchange)).read('Binary', exchange.path.id);
      return subset === undefined ? answerBinary(exchange, binary) : answerUnlessCurrent(exchange, subset(binary));
    },
  },
  {
    group: 'read',
    method: 'GET',
    root: 'fhir',
    path: 'Binary/:id/_history/:version',
    parameters: 'any',
    takesAnyFormat: true,
    async answer(exchange) {
      const { id, version } = exchange.path;
      return answerBinary(exchange, await repositoryOf(repositoryFor(exchange)).vread('Binary', id, version));
    },
  },
];

function answerBinary(exchange: CallerExchange, binary: Binary): Answer {
  const answer = answerUnlessCurrent(exchange, binary);
  const { contentType = '', data } = binary;
  const bytes = data === undefined ? undefined : decodeBase64(data);
  // If the content is missing, or is not base64 with a media type, only the resource can be answered.
  const isRaw = bytes !== undefined && isMediaType(contentType) && wantsContent(exchange, contentType);
  if (!isRaw || answer.status === 304) return answer;
  const context = binary.securityContext?.reference;
  return {
    status: 200,
    bytes,
    headers: {
      ...answer.headers,
      'content-type': contentType,
      // An HTML page in a Binary must not run scripts on the service's origin.
      'content-security-policy': "default-src 'none'; sandbox",
      ...(context !== undefined && /^[\x21-\x7e]{1,1024}$/.test(context) ? { 'x-security-context': context } : {}),
    },
  };
}

/** @throws HttpRequestError 406 - neither the content nor JSON is acceptable */
function wantsContent({ request, url }: CallerExchange, contentType: string): boolean {
  const own = mediaTypeOf(contentType)!;
  const format = url.searchParams.get('_format');
  if (format !== null) {
    const asked = format.toLowerCase().split(';', 1)[0]!.trim().replace(' ', '+');
    if (asked === own) return true;
    if (/^(?:json|(?:application|text)\/json|application\/fhir\+json)$/.test(asked)) return false;
    throw notAcceptable(own);
  }
  const accept = request.headers.get('accept')?.trim() ?? '';
  if (accept === '') return true;
  const weights = acceptedTypes(accept);
  const weightOf = (...ranges: readonly string[]): number =>
    ranges.map((range) => weights.get(range)).find((weight) => weight !== undefined) ?? 0;
  const fhir = weightOf('application/fhir+json');
  const content = weightOf(own, `${own.split('/', 1)[0]!}/*`, '*/*');
  if (fhir > 0 && fhir >= content) return false;
  if (content > 0) return true;
  if (weightOf('application/json', 'application/*') > 0) return false;
  throw notAcceptable(own);
}

function notAcceptable(own: string): HttpRequestError {
  return new HttpRequestError(406, `This Binary is ${own}, or application/fhir+json`);
}
