import type { SearchParameterDefinition, TypeDefinition } from './definition-types.js';

// The public face of the definitions; the loader stands behind it.

/** @returns the definition of a resource type, data type or backbone element; undefined for an unknown name. */
export declare function typeDefinition(name: string): TypeDefinition | undefined;
/** Names of all concrete resource types, sorted: R4's and Medplum's. */
export declare function resourceTypes(): readonly string[];
export declare function isResourceType(name: string): boolean;
/** Parameters of a type by code, those of Resource and DomainResource included (`_id`, `_lastUpdated`, `_tag` …). */
export declare function searchParameters(resourceType: string): ReadonlyMap<string, SearchParameterDefinition>;
export declare function searchParameter(resourceType: string, code: string): SearchParameterDefinition | undefined;
/** Codes of the reference parameters by which a resource belongs to the patient compartment; empty if it never does. */
export declare function patientCompartment(resourceType: string): readonly string[];
