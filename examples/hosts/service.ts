import type { Bundle, Resource, ResourceType } from 'fhirgraph/types';
import {
  type Caller,
  createProject,
  createRepository,
  executeFhirGraphql,
  FhirError,
  invite,
  type InviteBody,
  type JsonPatchOperation,
  type Mailer,
  type ProjectBody,
  removeMember,
  type ResourceStore,
  searchMembers,
} from 'fhirgraph';
import { type HttpRequest, type HttpResponse, readGraphqlRequest, readJsonBody, toHttpResponse } from 'fhirgraph/http';
import type { Tokens } from './tokens.js';

/** What a service is made of; everything that is not HTTP. */
export interface ServiceOptions {
  readonly store: ResourceStore;
  readonly tokens: Tokens;
  /** `https://fhir.example.org/fhir/R4`: absolute references below it are local. */
  readonly baseUrl: string;
  readonly mailer?: Mailer | undefined;
}

/** A request as the frameworks have it, and a signal that fires when the client goes away. */
export type ServiceRequest = HttpRequest & { readonly signal?: AbortSignal | undefined };

/**
 * The whole service without a web framework: who asks, what is asked, what to answer. The hosts beside this file only turn
 * their framework's request into this one and send what comes back.
 */
export function createService(options: ServiceOptions): (request: ServiceRequest) => Promise<HttpResponse> {
  return async (request) => {
    try {
      const caller = await options.tokens.callerOf(authorizationOf(request), options.store);
      const { pathname, searchParams } = new URL(request.url ?? '/', options.baseUrl);
      const route = ROUTES.find(
        ({ method, path }) => (method ?? request.method) === request.method && path.test(pathname),
      );
      if (route === undefined) throw new FhirError('not-found', 'There is no such route');
      const parts = route.path.exec(pathname)!.slice(1).map(decodeURIComponent);
      return await route.answer({ ...options, request, caller, parts, search: searchParams, signal: request.signal });
    } catch (error) {
      return toHttpResponse(error instanceof Error ? error : new Error('Not an error', { cause: error }), { request });
    }
  };
}

interface Exchange extends ServiceOptions {
  readonly request: ServiceRequest;
  readonly caller: Caller;
  /** What stands in the variable parts of the path. */
  readonly parts: readonly string[];
  readonly search: URLSearchParams;
  readonly signal: AbortSignal | undefined;
}

interface Route {
  /** Left out: any. */
  readonly method?: string;
  readonly path: RegExp;
  readonly answer: (exchange: Exchange) => Promise<HttpResponse>;
}

const ROUTES: readonly Route[] = [
  {
    path: /^\/fhir\/R4\/(?:[A-Za-z]+\/[^/]+\/)?\$graphql$/,
    async answer({ request, ...context }) {
      const asked = readGraphqlRequest(request);
      return toHttpResponse(await executeFhirGraphql(asked.query, { ...context, ...asked }), { request });
    },
  },
  {
    method: 'POST',
    path: /^\/admin\/projects\/([^/]+)\/invite$/,
    async answer({ request, parts: [project], ...context }) {
      const { membership } = await invite(project!, readJsonBody(request) as InviteBody, context);
      return toHttpResponse(membership);
    },
  },
  {
    method: 'DELETE',
    path: /^\/admin\/projects\/[^/]+\/members\/([^/]+)$/,
    async answer({ parts: [membership], ...context }) {
      await removeMember(membership!, context);
      return toHttpResponse(undefined);
    },
  },
  {
    method: 'POST',
    path: /^\/fhir\/R4\/Project$/,
    async answer({ request, ...context }) {
      return created(await createProject(readJsonBody(request) as ProjectBody, context), context.baseUrl);
    },
  },
  {
    method: 'GET',
    path: /^\/fhir\/R4\/ProjectMembership$/,
    answer: async ({ caller, search, ...context }) =>
      toHttpResponse(await searchMembers(caller.project, search, { ...context, caller })),
  },
  {
    method: 'POST',
    path: /^\/fhir\/R4\/?$/,
    answer: async ({ request, ...context }) =>
      toHttpResponse(await createRepository(context).transaction(readJsonBody(request) as Bundle)),
  },
  {
    method: 'GET',
    path: /^\/fhir\/R4\/([A-Za-z]+)$/,
    answer: async ({ parts: [type], search, ...context }) =>
      toHttpResponse(await createRepository(context).search(type as ResourceType, search)),
  },
  {
    method: 'POST',
    path: /^\/fhir\/R4\/([A-Za-z]+)$/,
    async answer({ request, parts: [type], ...context }) {
      const ifNoneExist = header(request, 'if-none-exist');
      const resource = resourceOf(request, { type: type! });
      return created(await createRepository(context).create(resource, { ifNoneExist }), context.baseUrl);
    },
  },
  {
    method: 'GET',
    path: /^\/fhir\/R4\/([A-Za-z]+)\/([^/]+)$/,
    answer: async ({ parts: [type, id], ...context }) =>
      toHttpResponse(await createRepository(context).read(type as ResourceType, id!)),
  },
  {
    method: 'PUT',
    path: /^\/fhir\/R4\/([A-Za-z]+)\/([^/]+)$/,
    async answer({ request, parts: [type, id], ...context }) {
      const ifMatch = header(request, 'if-match');
      const resource = resourceOf(request, { type: type!, id: id! });
      return toHttpResponse(await createRepository(context).update(resource, { ifMatch }));
    },
  },
  {
    method: 'PATCH',
    path: /^\/fhir\/R4\/([A-Za-z]+)\/([^/]+)$/,
    async answer({ request, parts: [type, id], ...context }) {
      const operations = readJsonBody(request) as JsonPatchOperation[];
      const ifMatch = header(request, 'if-match');
      return toHttpResponse(await createRepository(context).patch(type as ResourceType, id!, operations, { ifMatch }));
    },
  },
  {
    method: 'DELETE',
    path: /^\/fhir\/R4\/([A-Za-z]+)\/([^/]+)$/,
    async answer({ request, parts: [type, id], ...context }) {
      await createRepository(context).delete(type as ResourceType, id!, { ifMatch: header(request, 'if-match') });
      return toHttpResponse(undefined);
    },
  },
  {
    method: 'GET',
    path: /^\/fhir\/R4\/([A-Za-z]+)\/([^/]+)\/_history$/,
    answer: async ({ parts: [type, id], ...context }) =>
      toHttpResponse(await createRepository(context).history(type as ResourceType, id!)),
  },
  {
    method: 'GET',
    path: /^\/fhir\/R4\/([A-Za-z]+)\/([^/]+)\/_history\/([^/]+)$/,
    answer: async ({ parts: [type, id, version], ...context }) =>
      toHttpResponse(await createRepository(context).vread(type as ResourceType, id!, version!)),
  },
];

/** The resource of a body, which must be the one that the path names. */
function resourceOf(request: ServiceRequest, { type, id }: { readonly type: string; readonly id?: string }): Resource {
  const resource = readJsonBody(request) as Partial<Resource> | null;
  if (resource?.resourceType !== type || (id !== undefined && resource.id !== id)) {
    throw new FhirError('invalid', `The body must be a ${type} with the id of the path`);
  }
  return resource as Resource;
}

function created(resource: Pick<Resource, 'resourceType' | 'id' | 'meta'>, baseUrl: string): HttpResponse {
  const { resourceType, id, meta } = resource;
  const location = `${baseUrl}/${resourceType}/${id!}/_history/${meta!.versionId!}`;
  return toHttpResponse(resource, { status: 201, headers: { location } });
}

function authorizationOf(request: ServiceRequest): string | undefined {
  return header(request, 'authorization');
}

function header({ headers }: ServiceRequest, name: string): string | undefined {
  const value = headers instanceof Headers ? (headers.get(name) ?? undefined) : headers[name];
  return typeof value === 'string' ? value : value?.[0];
}
