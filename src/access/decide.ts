import { ALL, type Criteria } from '../search/criteria.js';
import type { Caller } from './caller.js';

/** What can be done to a resource. See https://hl7.org/fhir/R4/http.html. */
export type Interaction = 'read' | 'vread' | 'search' | 'history' | 'create' | 'update' | 'delete';

/** What a caller may do with resources of one type. */
export interface Decision {
  /** The resources this holds for; joined to whatever is asked for, so that counts and pages are right. */
  readonly criteria: Criteria;
}

/**
 * The one decision about access. Every path (root, list, reverse, reference, count, write) asks here and nowhere else.
 *
 * @returns null when nothing of that type is allowed, and then no query is sent
 */
export function decide(caller: Caller, _type: string, _interaction: Interaction): Decision | null {
  switch (caller.kind) {
    case 'system':
      return UNRESTRICTED;
  }
}

const UNRESTRICTED: Decision = Object.freeze({ criteria: ALL });
