import { notFound } from '../../../fhir/not-found.js';
import { referenceTo } from '../../../fhir/reference.js';
import { homeOf } from '../../caller.js';
import type { GuardedKey, GuardedWrite } from '../../contract.js';
import { decide, readsAll } from '../../decide.js';
import type { Deciding } from '../../evaluate/deciding.js';
import { sideWritesOfDelete } from '../checks/side-writes.js';
import type { DecidedWrite } from '../decided-write.js';
import { currentResource, expectationOf, unexpected, withWritten, type CommitState } from './commit-state.js';
import { confirmGrants } from './confirm-grants.js';
import { forbidden } from './forbidden.js';
import { canRead, grantingRulesBefore } from './granting.js';

/** Decides the deletion of a resource; see `decideWrite`. */
export function* decideDelete(
  state: CommitState,
  write: GuardedWrite & { kind: 'delete' },
  from: number,
): Deciding<DecidedWrite> {
  const { caller } = state;
  const { type, id } = write.key;
  if (decide(caller, type, 'delete') === null) throw forbidden(type, 'delete');
  const current = currentResource(state, write.key);
  const before = current.resource;
  const granting = before === null ? [] : yield* grantingRulesBefore(state, 'delete', before);
  if (before === null || granting.length === 0) {
    if (before !== null && (yield* canRead(state, before))) throw forbidden(type, 'delete');
    // Deleting a resource that is missing or hidden changes nothing.
    if (typeof write.expect?.version === 'string') throw unexpected(write.key, from, write.expect, null);
    if (write.mustExist === true && !knowsDeletion(state, write.key)) throw notFound({ type, id });
    return { ready: [{ role: 'unchanged', from, answer: { kind: 'delete', versionId: null } }], state };
  }
  const expect = expectationOf(write, from, current);
  const key = { ...write.key, project: homeOf(type, caller) };
  return {
    ready: [
      ...confirmGrants(state, granting, key, from),
      ...sideWritesOfDelete(key, caller, from, before),
      { role: 'own', write: { kind: 'delete', key, expect }, from, readRules: [] },
    ],
    state: withWritten(state, write.key, null),
  };
}

/**
 * True for callers who may learn of a deletion: the commit itself deleted the resource, or a rule grants the whole
 * type.
 */
function knowsDeletion({ caller, written, stored }: CommitState, { type, id }: GuardedKey): boolean {
  return written.get(type, id) === null || (stored.deleted.has(referenceTo(type, id)) && readsAll(caller, type));
}
