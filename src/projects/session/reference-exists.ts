import { splitReference } from '../../fhir/reference.js';
import type { GuardedWrite } from '../../access/contract.js';
import { and, type Criteria, not } from '../../search/criteria/criteria.js';

/**
 * A check inside a commit that what a resource written before it refers to exists at that moment.
 *
 * A commit can only assert that a search finds nothing. So this one searches for the resource itself, on the condition that
 * its reference leads nowhere.
 *
 * @param from the resource that was written, `Type/id`
 * @param parameter the search parameter of the reference
 * @param to where it leads, `Type/id`
 */
export function referenceExists(from: string, parameter: string, to: string): GuardedWrite {
  const source = splitReference(from);
  const target = splitReference(to);
  const found: Criteria = { kind: 'chain', parameter, type: target.type, of: { kind: 'id', ids: [target.id] } };
  return {
    kind: 'assert-no-match',
    query: { type: source.type, criteria: and([{ kind: 'id', ids: [source.id] }, not(found)]) },
  };
}
