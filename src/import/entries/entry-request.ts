import type { FhirModel } from '../../fhir/model/fhir-model.js';
import { quote } from '../../fhir/messages/quote.js';
import { FhirError } from '../../fhir/error.js';
import { trimBaseUrl } from '../../fhir/reference.js';
import { isResourceId } from '../../fhir/resource.js';

/**
 * A parsed `Bundle.entry.request`. See https://hl7.org/fhir/R4/bundle-definitions.html#Bundle.entry.request.
 *
 * | text | method | rest |
 * |---|---|---|
 * | `POST Patient` | POST | type |
 * | `PUT Patient/1`, `DELETE Patient/1`, `GET Patient/1` | | type, id |
 * | `GET Patient/1/_history/2` | GET | type, id, version |
 * | `PUT Patient?identifier=x`, `DELETE …`, `GET …` | | type, query |
 * | `GET Patient/1?_elements=id` | GET | type, id, query |
 * | `GET Patient/1/_history?_count=2`, `GET Patient/_history` | GET | type, id, history, query |
 */
export interface EntryRequest {
  readonly method: 'POST' | 'PUT' | 'DELETE' | 'GET' | 'HEAD';
  readonly type: string;
  readonly id?: string;
  readonly version?: string;
  /** The history of the resource, or of the type without `id`. */
  readonly history?: true;
  /**
   * Search text without the question mark; empty for a search without parameters. For other reads: their parameters.
   */
  readonly query?: string;
}

/**
 * @param baseUrl the service's own base; request URLs may carry it
 * @throws FhirError `invalid`; `not-found` for an unknown type; `unsupported` for PATCH and operations
 */
export function parseEntryRequest(
  model: FhirModel,
  method: unknown,
  url: unknown,
  baseUrl: string | undefined,
): EntryRequest {
  if (typeof method !== 'string') throw new FhirError('invalid', 'The entry needs request.method');
  if (method === 'PATCH') throw new FhirError('unsupported', 'PATCH inside a Bundle is not supported; send a PUT');
  if (!isMethod(method)) throw new FhirError('invalid', `Unknown request.method ${quote(method)}`);
  if (typeof url !== 'string') throw new FhirError('invalid', 'The entry needs request.url');

  const local = withoutBase(url, baseUrl);
  const mark = local.indexOf('?');
  const path = mark === -1 ? local : local.slice(0, mark);
  const segments = path.split('/');
  const history = isMethod(method) && isRead(method) && segments.length > 1 && segments.at(-1) === '_history';
  const [type = '', id, keyword, version, ...rest] = history ? segments.slice(0, -1) : segments;
  if (path.includes('$')) throw new FhirError('unsupported', 'Operations inside a Bundle are not supported');
  if (!model.isResourceType(type))
    throw new FhirError('not-found', `request.url names no known resource type: ${quote(url)}`);
  const query = mark === -1 ? undefined : local.slice(mark + 1);
  const wellFormed =
    rest.length === 0 &&
    (id === undefined || (isResourceId(id) && (query === undefined || isRead(method)))) &&
    (keyword === undefined || (keyword === '_history' && isResourceId(version)));
  const request: EntryRequest = {
    method,
    type,
    ...(id === undefined ? {} : { id }),
    ...(version === undefined ? {} : { version }),
    ...(history ? { history } : {}),
    ...(query !== undefined ? { query } : id === undefined && isRead(method) ? { query: '' } : {}),
  };
  if (!wellFormed || !FORMS[method](request)) {
    throw new FhirError('invalid', `${method} does not fit request.url ${quote(url)}; expected ${EXPECTED[method]}`);
  }
  return request;
}

type Method = EntryRequest['method'];

const FORMS: { readonly [method in Method]: (request: EntryRequest) => boolean } = {
  POST: ({ id, query }) => id === undefined && query === undefined,
  PUT: ({ id, query, version }) => version === undefined && (id !== undefined || query !== undefined),
  DELETE: ({ id, query, version }) => version === undefined && (id !== undefined || query !== undefined),
  GET: isReadForm,
  HEAD: isReadForm,
};

const READ_FORMS = '"Type/id", "Type/id/_history", "Type/id/_history/version" or "Type?query"';

const EXPECTED: { readonly [method in Method]: string } = {
  POST: '"Type"',
  PUT: '"Type/id" or "Type?query"',
  DELETE: '"Type/id" or "Type?query"',
  GET: READ_FORMS,
  HEAD: READ_FORMS,
};

/** A version has no history and no parameters. */
function isReadForm({ version, history, query }: EntryRequest): boolean {
  return version === undefined || (history === undefined && query === undefined);
}

function isMethod(method: string): method is Method {
  return Object.hasOwn(FORMS, method);
}

function isRead(method: Method): boolean {
  return method === 'GET' || method === 'HEAD';
}

function withoutBase(url: string, baseUrl: string | undefined): string {
  const base = trimBaseUrl(baseUrl);
  if (base !== undefined && url.startsWith(`${base}/`)) return url.slice(base.length + 1);
  return url.startsWith('/') ? url.slice(1) : url;
}
