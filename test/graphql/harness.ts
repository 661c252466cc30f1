import {
  executeFhirGraphql,
  type FhirGraphqlContext,
  type FhirGraphqlResult,
  MemoryStore,
  type ResourceStore,
  systemCaller,
} from '../../src/index.js';
import type { ReferenceTarget } from '../../src/store.js';
import { sparingStore } from '../support/sparing-store.js';

export const PROJECT = 'clinic';
export const caller = systemCaller(PROJECT);

/** A resource in a test, with any elements of its type. */
export interface Sample {
  readonly resourceType: string;
  readonly id: string;
  readonly [element: string]: unknown;
}

export type Variables = { readonly [name: string]: unknown };

/** A store with a few resources, and functions to query it. */
export interface Clinic {
  readonly store: ResourceStore;
  /** Answers a query for the system caller. */
  ask(query: string, variables?: Variables, more?: Partial<FhirGraphqlContext>): Promise<FhirGraphqlResult>;
  /** The data of a query that must not fail in any part. */
  data(query: string, variables?: Variables, more?: Partial<FhirGraphqlContext>): Promise<unknown>;
}

/**
 * Opens a new store, or uses the given store, with these resources in it. A memory store returns only the elements
 * that are needed, so that a query that needs others fails its test.
 */
export async function openClinic(
  resources: readonly Sample[],
  given: ResourceStore = new MemoryStore(),
): Promise<Clinic> {
  const store = given instanceof MemoryStore ? sparingStore(given) : given;
  await put(store, resources);
  const clinic: Clinic = {
    store,
    ask(query, variables, more) {
      // However slow the machine is, no query ends by its timeout unless the test sets one.
      const limits = { timeout: Infinity, ...more?.limits };
      return executeFhirGraphql(query, { store, caller, variables, ...more, limits });
    },
    async data(query, variables, more) {
      const result = await clinic.ask(query, variables, more);
      if (result.errors !== undefined) throw new Error(`The query failed: ${JSON.stringify(result.errors)}`);
      return result.data;
    },
  };
  return clinic;
}

export async function put(store: ResourceStore, resources: readonly Sample[]): Promise<void> {
  await store.commit(
    resources.map((resource) => ({
      kind: 'put' as const,
      key: { project: PROJECT, type: resource.resourceType, id: resource.id },
      resource: resource,
    })),
  );
}

export async function erase(store: ResourceStore, { type, id }: ReferenceTarget): Promise<void> {
  await store.commit([{ kind: 'delete', key: { project: PROJECT, type, id } }]);
}

/** The codes and positions of errors, without messages: `not-found at Patient (1:3)`. */
export function failures({ errors }: FhirGraphqlResult): string[] {
  return (errors ?? []).map(({ extensions, path, locations }) => {
    const where = path === undefined ? '' : ` at ${path.join('.')}`;
    const line = locations === undefined ? '' : ` (${locations.map((at) => `${at.line}:${at.column}`).join(' ')})`;
    return `${extensions.code}${where}${line}`;
  });
}

/** The messages of errors. */
export function messages({ errors }: FhirGraphqlResult): string[] {
  return (errors ?? []).map(({ message }) => message);
}
