import { NONE } from '../../../search/criteria/criteria.js';
import { homeOf } from '../../caller.js';
import type { GuardedWrite } from '../../contract.js';
import { decide } from '../../decide.js';
import type { Deciding } from '../../evaluate/deciding.js';
import { restrict, type SearchRules } from '../../read/restrict.js';
import type { DecidedWrite } from '../decided-write.js';
import type { CommitState } from './commit-state.js';
import { decideDelete } from './decide-delete.js';
import { decidePut } from './decide-put.js';
import { settledCriteria } from './granting.js';

/**
 * Decides one write of a member. It has no side effects: its only inputs are the state and the answers to the queries
 * it yields.
 *
 * @param from position of the write in its commit
 * @throws FhirError the denial
 */
export function decideWrite(state: CommitState, write: GuardedWrite, from: number): Deciding<DecidedWrite> {
  switch (write.kind) {
    case 'put':
      return decidePut(state, write, from);
    case 'delete':
      return decideDelete(state, write, from);
    case 'assert-no-match':
      return decideNoMatch(state, write, from);
  }
}

/** The check only covers what the caller may search. */
// eslint-disable-next-line require-yield -- answered from the state alone
function* decideNoMatch(
  state: CommitState,
  { query }: GuardedWrite & { kind: 'assert-no-match' },
  from: number,
): Deciding<DecidedWrite> {
  const { caller } = state;
  const rulesOf: SearchRules = (type) => decide(caller, type, 'search');
  const rules = rulesOf(query.type);
  const restricted =
    rules === null
      ? NONE
      : restrict(caller.rules.model, query.criteria, query.type, rules, rulesOf, undefined, caller.rules);
  const criteria = settledCriteria(state, restricted);
  const write = {
    kind: 'assert-no-match',
    query: { ...query, criteria, project: homeOf(query.type, caller) },
  } as const;
  return { ready: [{ role: 'own', write, from, readRules: [] }], state };
}
