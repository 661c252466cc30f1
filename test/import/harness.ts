import {
  type AnyResource,
  FhirError,
  importBundle,
  type ImportContext,
  type ImportResult,
  MemoryStore,
  type ResourceStore,
  systemCaller,
} from '../../src/index.js';
import { R4 } from '../../src/store.js';
import { ALL } from '../../src/search/criteria/criteria.js';

export const PROJECT = 'clinic';

/** Resources in tests. */
export type Json = { readonly [name: string]: unknown };

export function memoryContext(): ImportContext & { readonly store: MemoryStore } {
  return { store: new MemoryStore(), caller: systemCaller(PROJECT) };
}

/** An entry that creates. */
export function post(resource: Json, more: { fullUrl?: string; ifNoneExist?: string } = {}): Json {
  const { fullUrl, ...request } = more;
  return {
    ...(fullUrl === undefined ? {} : { fullUrl }),
    resource,
    request: { method: 'POST', url: resource['resourceType'], ...request },
  };
}

/** An entry that updates. */
export function put(
  resource: Json,
  more: { fullUrl?: string; url?: string; ifMatch?: string; ifNoneMatch?: string } = {},
): Json {
  const { fullUrl, url, ...request } = more;
  return {
    ...(fullUrl === undefined ? {} : { fullUrl }),
    resource,
    request: { method: 'PUT', url: url ?? `${String(resource['resourceType'])}/${String(resource['id'])}`, ...request },
  };
}

/** An entry without a resource. */
export function ask(method: string, url: string, more: Json = {}): Json {
  return { request: { method, url, ...more } };
}

export function transaction(...entry: readonly Json[]): object {
  return { resourceType: 'Bundle', type: 'transaction', entry };
}

export function batch(...entry: readonly Json[]): object {
  return { resourceType: 'Bundle', type: 'batch', entry };
}

export function importAll(context: ImportContext, ...entry: readonly Json[]): Promise<ImportResult> {
  return importBundle(transaction(...entry), context);
}

/** All resources of a project, by `Type/id`, without the parts of `meta` that a store sets. */
export async function contents(store: ResourceStore): Promise<{ readonly [key: string]: Json }> {
  const found: { [key: string]: Json } = {};
  for (const type of R4.resourceTypes) {
    const { matches } = await store.search({ project: PROJECT, type, criteria: ALL });
    for (const { resource } of matches) found[`${type}/${resource.id!}`] = withoutStamps(resource);
  }
  return found;
}

/** The same with versions: equal only if nothing was written. */
export async function versions(store: ResourceStore): Promise<{ readonly [key: string]: string }> {
  const found: { [key: string]: string } = {};
  for (const type of R4.resourceTypes) {
    const { matches } = await store.search({ project: PROJECT, type, criteria: ALL });
    for (const { resource, versionId } of matches) found[`${type}/${resource.id!}`] = versionId;
  }
  return found;
}

export function statuses({ bundle }: ImportResult): readonly (string | undefined)[] {
  return bundle.entry!.map(({ response }) => response?.status);
}

/** The error that a call must reject with. */
export async function faultOf(call: Promise<unknown>): Promise<FhirError> {
  const outcome = await call.then(
    () => undefined,
    (error: unknown) => error,
  );
  if (outcome instanceof FhirError) return outcome;
  throw new Error('Expected a FhirError', { cause: outcome });
}

function withoutStamps(resource: AnyResource): Json {
  const { meta, ...elements } = resource as unknown as Json & { meta?: Json };
  const { versionId: _version, lastUpdated: _time, project: _project, ...rest } = meta ?? {};
  return Object.keys(rest).length === 0 ? elements : { ...elements, meta: rest };
}
