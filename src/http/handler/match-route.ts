import { trimBaseUrl } from '../../fhir/reference.js';
import { HttpRequestError } from '../http-request-error.js';
import type { PathName, PathValues } from '../exchange/exchange.js';
import type { Route } from '../exchange/route.js';

/** Where the routes are: the decoded segments of their URLs' paths. */
export interface Roots {
  readonly fhir: readonly string[];
  readonly admin: readonly string[];
}

/** The roots of a service: `/admin` is beside a base that ends in `/fhir/R4`, else below it. */
export function rootsOf(baseUrl: string): Roots {
  const fhir = segmentsOf(new URL(trimBaseUrl(baseUrl) ?? baseUrl).pathname);
  const isVersioned = fhir.at(-2) === 'fhir' && fhir.at(-1) === 'R4';
  return { fhir, admin: [...(isVersioned ? fhir.slice(0, -2) : fhir), 'admin'] };
}

/** The routes of a path, whatever their method, with the values of its variable segments. */
export interface MatchedPath {
  readonly routes: readonly Route[];
  readonly path: PathValues;
  /** The first segment below the FHIR base; empty elsewhere. */
  readonly first: string;
}

/** @throws HttpRequestError 400 - the path is not valid percent-encoding */
export function matchPath(routes: readonly Route[], roots: Roots, pathname: string): MatchedPath {
  const segments = segmentsOf(pathname);
  const matched: Route[] = [];
  let path: PathValues = NO_VALUES;
  for (const route of routes) {
    const root = roots[route.root];
    const pattern = route.path === '' ? [] : route.path.split('/');
    if (segments.length !== root.length + pattern.length || root.some((one, at) => one !== segments[at])) continue;
    const values = valuesOf(pattern, segments.slice(root.length));
    if (values === undefined) continue;
    matched.push(route);
    path = values;
  }
  const isBelow = roots.fhir.every((one, at) => one === segments[at]);
  return { routes: matched, path, first: isBelow ? (segments[roots.fhir.length] ?? '') : '' };
}

function valuesOf(pattern: readonly string[], segments: readonly string[]): PathValues | undefined {
  const values: { [name: string]: string } = { ...NO_VALUES };
  for (const [index, expected] of pattern.entries()) {
    const segment = segments[index]!;
    if (!expected.startsWith(':')) {
      if (segment !== expected) return undefined;
      continue;
    }
    // Operations and reserved names are never variable: `_history`, `$validate`.
    if (/^[_$]/.test(segment) || (expected === ':type' && !/^[A-Z]/.test(segment))) return undefined;
    values[expected.slice(1)] = segment;
  }
  return values as PathValues;
}

/** The decoded segments; a slash at the end is ignored. */
function segmentsOf(pathname: string): string[] {
  const path = pathname.replace(/^\//, '').replace(/\/$/, '');
  try {
    return path === '' ? [] : path.split('/').map(decodeURIComponent);
  } catch {
    throw new HttpRequestError(400, 'The path of the request is not valid percent-encoding');
  }
}

const NO_VALUES: { readonly [Name in PathName]: string } = {
  type: '',
  id: '',
  version: '',
  project: '',
  membership: '',
};
