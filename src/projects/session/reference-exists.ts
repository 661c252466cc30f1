import { splitReference } from '../../fhir/reference.js';
import type { GuardedWrite } from '../../access/contract.js';
import { and, type Criteria, not } from '../../search/criteria/criteria.js';

/**
 * Creates a check that the target of a reference written earlier in the commit exists at commit time.
 *
 * A commit can only assert that a search has no match. So the check searches for the referencing resource with a
 * reference that does not resolve.
 *
 * @param from the resource that was written, `Type/id`
 * @param parameter the search parameter of the reference
 * @param to the target, `Type/id`
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
