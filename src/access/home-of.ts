import { SERVER_SCOPE } from '../store/resource-key.js';
import type { Caller } from './caller.js';
import { isAboveProjects } from './fields/administrative-types.js';

/**
 * The project in which resources of a type live for a caller: Users and Projects above projects, all others in the
 * caller's project.
 */
export function homeOf(type: string, caller: Caller): string {
  return isAboveProjects(type) ? SERVER_SCOPE : caller.project;
}
