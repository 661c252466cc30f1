import { elementsOf, type AnyResource } from '../../../fhir/resource.js';

/** True for a Bot that may use the operator's secret (`Project.systemSecret`). */
export function isSystemBot(resource: AnyResource): boolean {
  return resource.resourceType === 'Bot' && elementsOf(resource)['system'] === true;
}
