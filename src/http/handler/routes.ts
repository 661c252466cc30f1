import { CLIENT_ROUTES } from '../admin/client-routes.js';
import { PROJECT_ROUTES } from '../admin/project-routes.js';
import { MEMBER_ROUTES } from '../admin/member-routes.js';
import { adminUrl, type PathName, type PathValues, type Route, urlBeside } from '../exchange/exchange.js';
import { HttpRequestError } from '../http-types.js';
import { BINARY_ROUTES } from '../rest/binary-routes.js';
import { WRITE_ROUTES } from '../rest/write-routes.js';
import { READ_ROUTES } from '../rest/read-routes.js';
import { GRAPHQL_ROUTES } from '../rest/graphql-routes.js';
import { METADATA_ROUTES } from '../rest/metadata-routes.js';
import { SERVICE_ROUTES } from '../rest/service-routes.js';
import { TERMINOLOGY_ROUTES } from '../rest/terminology-routes.js';

/** All routes. If several match a request, the first one answers. */
export const ROUTES: readonly Route[] = [
  ...PROJECT_ROUTES,
  ...MEMBER_ROUTES,
  ...CLIENT_ROUTES,
  ...SERVICE_ROUTES,
  ...METADATA_ROUTES,
  ...GRAPHQL_ROUTES,
  ...TERMINOLOGY_ROUTES,
  ...BINARY_ROUTES,
  ...READ_ROUTES,
  ...WRITE_ROUTES,
];

/** Where the routes are: the decoded segments of their URLs' paths. */
type Roots = { readonly [Root in Route['root']]: readonly string[] };

/** The roots of a service. */
export function rootsOf(baseUrl: string): Roots {
  const segments = (url: string): readonly string[] => segmentsOf(new URL(url).pathname);
  return {
    fhir: segments(baseUrl),
    admin: segments(adminUrl(baseUrl)),
    beside: segments(urlBeside(baseUrl)),
  };
}

/** The routes of a path, whatever their method, with the values of its variable segments. */
export interface MatchedPath {
  readonly routes: readonly Route[];
  readonly path: PathValues;
  /** The first segment below the FHIR base; empty elsewhere. */
  readonly first: string;
}

/** A route with the segments of its whole path, those of its root included. */
interface Pattern {
  readonly route: Route;
  /** The first of its own segments; those of the root are never variable. */
  readonly start: number;
  readonly segments: readonly string[];
}

/** Finds the routes of paths. Patterns are split once, and compared only with paths of their length. */
export class RouteTable {
  readonly #byLength: ReadonlyMap<number, readonly Pattern[]>;
  readonly #fhir: readonly string[];

  constructor(routes: readonly Route[], roots: Roots) {
    const patterns = routes.map((route): Pattern => {
      const root = roots[route.root];
      const own = route.path === '' ? [] : route.path.split('/');
      return { route, start: root.length, segments: [...root, ...own] };
    });
    this.#byLength = Map.groupBy(patterns, ({ segments }) => segments.length);
    this.#fhir = roots.fhir;
  }

  /** @throws HttpRequestError 400 - the path is not valid percent-encoding */
  match(pathname: string): MatchedPath {
    const segments = segmentsOf(pathname);
    const matched = (this.#byLength.get(segments.length) ?? []).filter((pattern) => fits(pattern, segments));
    const last = matched.at(-1);
    const isBelow = this.#fhir.every((one, at) => one === segments[at]);
    return {
      routes: matched.map(({ route }) => route),
      path: last === undefined ? NO_VALUES : valuesOf(last, segments),
      first: isBelow ? (segments[this.#fhir.length] ?? '') : '',
    };
  }
}

function fits({ segments: expected, start }: Pattern, segments: readonly string[]): boolean {
  return expected.every((one, at) => {
    const segment = segments[at]!;
    if (at < start || !one.startsWith(':')) return segment === one;
    // Operations and reserved names are never variable: `_history`, `$validate`.
    return !/^[_$]/.test(segment) && (one !== ':type' || /^[A-Z]/.test(segment));
  });
}

function valuesOf({ segments: expected, start }: Pattern, segments: readonly string[]): PathValues {
  const values: { [name: string]: string } = { ...NO_VALUES };
  for (let at = start; at < expected.length; at += 1) {
    const name = expected[at]!;
    if (name.startsWith(':')) values[name.slice(1)] = segments[at]!;
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
