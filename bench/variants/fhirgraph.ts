import { type AuditOptions, executeFhirGraphql, systemCaller, type ResourceStore } from 'fhirgraph';
import type { Variant } from '../queries.js';

/** This library, from query text to JSON text, as a host calls it. */
export function fhirgraph(name: string, store: ResourceStore, project: string, options: AuditOptions = {}): Variant {
  const caller = systemCaller(project);
  return {
    name,
    prepare: (query, variables) => async () =>
      JSON.stringify(await executeFhirGraphql(query.text, { store, caller, variables: { ...variables }, ...options })),
  };
}
