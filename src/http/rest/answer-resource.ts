import type { OperationOutcome } from '../../fhir/error.js';
import type { AnyResource } from '../../fhir/resource.js';
import { writeWarning } from '../../fhir/write-warning.js';
import type { WrittenResource } from '../../repository/open-repository.js';
import type { Answer } from '../exchange/answer.js';
import type { Exchange } from '../exchange/exchange.js';
import { isRawBinary } from '../exchange/read-body.js';
import { HttpRequestError, preferenceOf, versionHeaders } from '../http-types.js';

/** A resource or Bundle. */
export function answerResource(resource: object): Answer {
  return { status: 200, headers: versionHeaders(resource), json: resource };
}

/** A resource for a client that may have its version already. See https://hl7.org/fhir/R4/http.html#cread. */
export function answerUnlessCurrent({ request }: Exchange, resource: object): Answer {
  const headers = versionHeaders(resource);
  return isCurrent(request.headers, headers) ? { status: 304, headers } : { status: 200, headers, json: resource };
}

/** `If-None-Match` decides alone where it is given (RFC 9110, 13.2.2). */
function isCurrent(sent: Headers, { etag, 'last-modified': modified }: { readonly [name: string]: string }): boolean {
  const tags = sent.get('if-none-match');
  if (tags !== null) {
    const known = tags.split(',', MAX_TAGS).map((tag) => tag.trim().replace(/^W\//, ''));
    return etag !== undefined && (known.includes('*') || known.includes(etag.replace(/^W\//, '')));
  }
  const since = Date.parse(sent.get('if-modified-since') ?? '');
  return modified !== undefined && !Number.isNaN(since) && Date.parse(modified) <= since;
}

const MAX_TAGS = 100;

/**
 * The answer to a write, in the form that `Prefer` requests. See https://hl7.org/fhir/R4/http.html#ops.
 *
 * @param location where the resource is read; null: nowhere. Default: its version below the FHIR base
 */
export function answerWritten(
  exchange: Exchange,
  { status, resource }: WrittenResource,
  location: string | null = locationOf(exchange, resource),
): Answer {
  const created = status === 'created';
  const warning = status === 'matched' ? undefined : writeWarning(resource.resourceType);
  const headers = {
    ...versionHeaders(resource),
    ...((created || status === 'matched') && location !== null ? { location } : {}),
    ...(warning === undefined ? {} : { warning: `199 - ${JSON.stringify(warning)}` }),
  };
  const answer = { status: created ? 201 : 200, headers };
  switch (preferredReturn(exchange) ?? 'representation') {
    case 'minimal':
      return answer;
    case 'OperationOutcome':
      return { ...answer, json: success(`${resource.resourceType} ${status}`, warning) };
    case 'representation':
      return { ...answer, json: isRawBinary(exchange) ? withUrl(exchange, resource) : resource };
  }
}

function locationOf({ settings }: Exchange, { resourceType, id, meta }: AnyResource): string {
  const version = meta?.versionId === undefined ? '' : `/_history/${meta.versionId}`;
  return `${settings.baseUrl}/${resourceType}/${id!}${version}`;
}

/** MedplumClient creates attachments from the `url` of uploaded Binaries, an element that R4 does not define. */
function withUrl({ request, settings }: Exchange, binary: AnyResource): object {
  if (request.headers.get('x-medplum') !== 'extended') return binary;
  return { ...binary, url: `${settings.baseUrl}/Binary/${binary.id!}` };
}

type Return = 'minimal' | 'representation' | 'OperationOutcome';

/** The form that `Prefer` requests. Unknown preferences are ignored (RFC 7240). */
export function preferredReturn({ request }: Exchange): Return | undefined {
  const asked = preferenceOf(request, 'return');
  return RETURNS.find((one) => one === asked);
}

const RETURNS: readonly Return[] = ['minimal', 'representation', 'OperationOutcome'];

/** An OperationOutcome without errors. */
export function success(text: string, warning?: string): OperationOutcome {
  const issue = (severity: 'information' | 'warning', message: string): OperationOutcome['issue'][number] => ({
    severity,
    code: 'informational',
    details: { text: message },
  });
  return {
    resourceType: 'OperationOutcome',
    issue: [issue('information', text), ...(warning === undefined ? [] : [issue('warning', warning)])],
  };
}

/** The version that `If-Match` names. @throws HttpRequestError 400 - it names several versions */
export function ifMatchOf({ request }: Exchange): string | undefined {
  const tag = request.headers.get('if-match') ?? undefined;
  if (tag === undefined || !tag.includes(',')) return tag?.trim();
  throw new HttpRequestError(400, 'If-Match takes the entity tag of one version');
}
