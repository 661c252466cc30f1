import type { FhirError } from '../../../fhir/error.js';
import { notFound } from '../../../fhir/not-found.js';
import { referenceTo } from '../../../fhir/reference.js';
import type { AnyResource } from '../../../fhir/resource.js';
import type { GuardedWrite } from '../../contract.js';
import { decide, readsAll } from '../../decide.js';
import type { Deciding } from '../../evaluate/deciding.js';
import { assertGuarded, type KeptFields } from '../../fields/keep-fields.js';
import { maskResource } from '../../fields/mask-resource.js';
import { homeOf } from '../../home-of.js';
import { assertPolicyWrite } from '../../policy/assert-policy-write.js';
import { unrestrictedRule, type AccessRule } from '../../rule.js';
import { assertPatientLink } from '../../sign-in/related-patient.js';
import { currentResource, expectationOf, unexpected, withWritten, type CommitState } from './commit-state.js';
import { confirmGrants } from './confirm-grants.js';
import type { DecidedWrite } from '../decided-write.js';
import { forbidden } from './forbidden.js';
import { canRead, grantingRules, grantingRulesBefore } from './granting.js';
import { resourceUnderRule } from './resource-under-rule.js';
import { stamp } from '../stamp.js';
import { uniqueKeysOf } from '../unique-keys.js';
import { validateWrite } from '../validate-writes.js';

type GuardedPut = GuardedWrite & { kind: 'put' };

/** Decides the creation or the next version of a resource; see `decideWrite`. */
export function* decidePut(state: CommitState, write: GuardedPut, from: number): Deciding<DecidedWrite> {
  const { caller, stored, strictness } = state;
  const { type, id } = write.key;
  const current = currentResource(state, write.key);
  const { after, kept, rule, existing } = yield* grantPut(state, write, from, current.resource);
  assertPatientLink(caller, current.resource, after, stored.deleted.has(referenceTo(type, id)));
  if (type === 'AccessPolicy') assertPolicyWrite(state.caller.rules.model, after);
  // What the writer sent is validated: the parts that it does not see must not show in the outcome.
  validateWrite(
    state.caller.rules.model,
    { key: write.key, resource: stamp(write.resource, caller) },
    from,
    strictness,
    // Its size has been looked at before anything was read.
    Number.MAX_SAFE_INTEGER,
    kept,
  );
  const expect = expectationOf(write, from, current);
  const next = withWritten(state, write.key, after);
  const readers = yield* grantingRules(next, 'read', after);
  const key = { ...write.key, project: homeOf(type, caller) };
  const confirmed = confirmGrants(state, [rule], key, from);
  const ready = [
    ...(existing === null ? [] : confirmed),
    {
      role: 'own',
      write: { kind: 'put', key, resource: after, expect, unique: uniqueKeysOf(after) },
      from,
      // A caller who may write but not read gets back what it wrote, without what was kept.
      readRules: readers.length === 0 ? [unrestrictedRule('what the writer sent', [...kept])] : readers,
      unreadable: readers.length === 0,
    } as const,
    ...confirmed,
  ];
  return { ready, state: next };
}

/** What is to be stored, by which rule, and what it replaces; null for something new. */
interface GrantedPut extends KeptFields {
  readonly rule: AccessRule;
  readonly existing: AnyResource | null;
}

/** The first rule that lets the resource be written. @throws FhirError - none does: what the first one says */
function* grantPut(
  state: CommitState,
  write: GuardedPut,
  from: number,
  before: AnyResource | null,
): Deciding<GrantedPut> {
  const { rules: all } = state.caller;
  const updating = before === null ? [] : yield* grantingRulesBefore(state, 'update', before);
  if (updating.length === 0 && before !== null && (yield* canRead(state, before))) {
    throw forbidden(write.key.type, 'update');
  }
  const granting = updating.length > 0 ? updating : creatingRules(state, write, from, before);
  const existing = updating.length > 0 ? before : null;
  const readers = existing === null ? [] : yield* grantingRulesBefore(state, 'read', existing);
  const shown = existing === null ? null : readers.length === 0 ? bare(existing) : maskResource(existing, readers, all);
  const kept = assertGuarded(write.resource, shown, all);
  const replaced = { before: existing, shown, unread: existing !== null && readers.length === 0, kept };
  let refusal: FhirError | undefined;
  for (const rule of granting) {
    const outcome = yield* resourceUnderRule(state, rule, write.resource, replaced);
    if ('after' in outcome) return { ...outcome, rule, existing };
    refusal ??= outcome;
  }
  throw refusal!;
}

/**
 * The rules by which something new may be written where nothing is, or nothing that the caller may know of.
 *
 * Both must look alike. Callers who read every resource of the type may choose ids. For all others an id is either one
 * that this library made for the resource, or that of a missing one: the answer to a chosen id would reveal what it names.
 */
function creatingRules(
  { caller }: CommitState,
  { key, expect, generatedId }: GuardedPut,
  from: number,
  before: AnyResource | null,
): readonly AccessRule[] {
  const { type, id } = key;
  const rules = decide(caller, type, 'create');
  if (rules === null && (expect?.version === null || decide(caller, type, 'update') === null)) {
    throw forbidden(type, expect?.version === null ? 'create' : 'update');
  }
  if (typeof expect?.version === 'string') throw unexpected(key, from, expect, null);
  if (rules !== null && before === null && (generatedId === true || readsAll(caller, type))) return rules;
  throw notFound({ type, id }, rules === null ? '' : '; a new one gets its id from the server');
}

/** A writer that may not read the resource is shown its name alone. */
function bare({ resourceType, id }: AnyResource): AnyResource {
  return { resourceType, id: id! };
}
