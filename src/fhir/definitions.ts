import type { SearchParameterDefinition, TypeDefinition } from './model/definition-types.js';
import { R4 } from './r4.js';

// What has not been given a model yet. Going away.

export function typeDefinition(name: string): TypeDefinition | undefined {
  return R4.typeDefinition(name);
}

export function resourceTypes(): readonly string[] {
  return R4.resourceTypes;
}

export function isResourceType(name: string): boolean {
  return R4.isResourceType(name);
}

export function searchParameters(resourceType: string): ReadonlyMap<string, SearchParameterDefinition> {
  return R4.searchParameters(resourceType);
}

export function searchParameter(resourceType: string, code: string): SearchParameterDefinition | undefined {
  return R4.searchParameter(resourceType, code);
}

export function patientCompartment(resourceType: string): readonly string[] {
  return R4.patientCompartment(resourceType);
}

export function isA(type: string, ancestor: string): boolean {
  return R4.isA(type, ancestor);
}
