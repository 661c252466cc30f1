import type { AnyResource } from '../fhir/resource.js';
import type { GuardedSession } from '../interactions/interaction-session.js';

/** Reads that need more than the store; the repository layer implements them. */
export interface EntryReader {
  search(type: string, query: string, session: GuardedSession): Promise<AnyResource>;
  /** @param id undefined for the history of the type */
  history(type: string, id: string | undefined, query: string, session: GuardedSession): Promise<AnyResource>;
  /** Reduces a resource as `_elements` and `_summary` require. */
  reduce(resource: AnyResource, query: string, session: GuardedSession): AnyResource;
}
