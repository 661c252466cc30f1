import { SERVER_SCOPE } from '../store/resource-key.js';
import type { Caller } from './caller.js';
import { isAboveProjects } from './fields/administrative-types.js';

/** The project in which resources of a type live for a caller: Users and Projects above all, the others in its own. */
export function homeOf(type: string, caller: Caller): string {
  return isAboveProjects(type) ? SERVER_SCOPE : caller.project;
}
