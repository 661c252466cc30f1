import { FhirError } from '../../fhir/error.js';
import { assertNotAborted } from '../../store/guards.js';
import type { CallOptions, ResourceStore, Write, WriteResult } from '../../store/store.js';
import type { Caller, MemberCaller } from '../caller.js';
import { decide } from '../decide.js';
import { storeWhile } from '../sign-in/current-caller.js';
import type { CommitOptions, GuardedResult, GuardedWrite } from '../contract.js';
import { grantedBefore } from '../evaluate/granted-before.js';
import { homeOf } from '../home-of.js';
import { maskResource } from '../fields/mask-resource.js';
import { coveredByWildcard } from '../fields/administrative-types.js';
import { withCodeChecks } from './code-checks.js';
import { withPolicyChecks } from './policy-checks.js';
import type { ReadyWrite } from './ready-write.js';
import { trustedWrites } from './trusted-writes.js';
import { LENIENT, strictnessFor, validateWrite, type Strictness } from './validate-writes.js';
import { WriteSession } from './member-writes.js';
import { withIndex } from '../write-error.js';

/** How often a write is decided anew when another one came between decision and commit. */
const ATTEMPTS = 5;

/** Behind `GuardedStore.commit`, where the promises are. */
export async function commitGuarded(
  store: ResourceStore,
  caller: Caller,
  writes: readonly GuardedWrite[],
  options: CommitOptions | undefined,
): Promise<readonly GuardedResult[]> {
  const strictness = await strictnessFor(store, caller, writes, options);
  // What a member writes is held to the definitions once the fields that it cannot see are back in.
  const asked = caller.kind === 'member' ? LENIENT : strictness;
  for (const [index, write] of writes.entries()) if (write.kind === 'put') validateWrite(write, index, asked);
  // An administrator who was demoted since it signed in writes no policies.
  const target = writes.some(isForAdministrators) ? storeWhile(store, caller, ({ admin }) => admin) : store;
  for (let attempt = 1; ; attempt += 1) {
    const decided =
      caller.kind === 'member'
        ? await memberWrites(store, caller, writes, strictness, options)
        : await trustedWrites(store, caller, writes, options);
    const ready = await withPolicyChecks(store, caller, withCodeChecks(caller, decided), options);
    assertNotAborted(options);
    options?.onCommit?.();
    try {
      const results = await target.commit(
        ready.map(({ write }) => write),
        options && { signal: options.signal },
      );
      return resultsFor(writes, ready, results, caller);
    } catch (error) {
      if (!(error instanceof FhirError)) throw error;
      const at = typeof error.details?.['index'] === 'number' ? ready[error.details['index']] : undefined;
      if (at === undefined) throw error;
      // The decision was about a version that is no longer current; the caller itself demanded none.
      const overtaken =
        at.refusal === 'decide again' ||
        (error.code === 'precondition-failed' && isOwnExpectation(writes[at.from]!, at.write));
      if (overtaken && attempt < ATTEMPTS) continue;
      throw explain(error, at, writes, caller);
    }
  }
}

async function memberWrites(
  store: ResourceStore,
  caller: MemberCaller,
  writes: readonly GuardedWrite[],
  strictness: Strictness,
  options: CallOptions | undefined,
): Promise<ReadyWrite[]> {
  const keys = writes.flatMap((write) =>
    write.kind === 'unmatched' ? [] : [{ ...write.key, project: homeOf(write.key.type, caller) }],
  );
  const found = await store.read(keys, options);
  const deleted = new Set(
    keys.flatMap(({ type, id }, index) => (found[index]!.status === 'gone' ? [`${type}/${id}`] : [])),
  );
  const granted = await grantedBefore(store, caller, keys, found, options);
  const session = new WriteSession(store, caller, { deleted, granted }, strictness);
  const ready: ReadyWrite[] = [];
  for (const [from, write] of writes.entries()) {
    try {
      ready.push(...(await session.decide(write, from)));
    } catch (error) {
      if (error instanceof FhirError && error.details?.['index'] === undefined) throw withIndex(error, from);
      throw error;
    }
  }
  return ready;
}

/** One result per write of the caller's, without those of the checks this module added. */
function resultsFor(
  writes: readonly GuardedWrite[],
  ready: readonly ReadyWrite[],
  results: readonly WriteResult[],
  caller: Caller,
): GuardedResult[] {
  const all = caller.kind === 'member' ? caller.rules : undefined;
  const answers = new Array<GuardedResult>(writes.length);
  ready.forEach(({ from, rulesForAnswer: seenBy, unreadable, answer }, index) => {
    const result = answer ?? results[index]!;
    // What this module added stands before the caller's own write, which therefore has the last word.
    if (result.kind !== writes[from]!.kind) return;
    if (result.kind !== 'put') answers[from] = result;
    else {
      const resource = maskResource(result.resource, seenBy, all);
      answers[from] = { ...result, resource, ...(unreadable === true ? { unreadable } : {}) };
    }
  });
  return answers;
}

/** True for what members write by no other right than that of an administrator. */
function isForAdministrators(write: GuardedWrite): boolean {
  return write.kind !== 'unmatched' && write.key.type !== 'User' && !coveredByWildcard(write.key.type);
}

function isOwnExpectation(asked: GuardedWrite, write: Write): boolean {
  return asked.kind !== 'unmatched' && asked.expect === undefined && write.kind !== 'unmatched';
}

/** The store's error about a write that this module made of the caller's, in the caller's terms. */
function explain(error: FhirError, at: ReadyWrite, writes: readonly GuardedWrite[], caller: Caller): FhirError {
  const asked = writes[at.from]!;
  if (at.refusal === 'decide again') {
    const name = asked.kind === 'unmatched' ? asked.query.type : `${asked.key.type}/${asked.key.id}`;
    return new FhirError('conflict', `What decides about ${name} keeps changing; try again`, {
      details: { index: at.from },
      cause: error,
    });
  }
  if (typeof at.refusal === 'function') return withIndex(at.refusal(String(error.details?.['holder'])), at.from);
  if (error.code === 'conflict' && at.write.kind === 'unmatched' && asked.kind === 'delete') {
    // Only callers who read memberships learn which one it is.
    const isTold = decide(caller, 'ProjectMembership', 'read') !== null;
    const membership = isTold ? String(error.details?.['holder']) : undefined;
    return new FhirError(
      'conflict',
      `${asked.key.type}/${asked.key.id} is the profile of ${membership ?? 'a member'} and cannot be deleted; remove the member first`,
      { details: { index: at.from, ...(isTold ? { membership } : {}) }, cause: error },
    );
  }
  if (error.code === 'conflict' && at.write.kind === 'put' && caller.kind === 'member') {
    // Whoever holds the unique text may be of another project.
    const { type, id } = at.write.key;
    return new FhirError('conflict', `${type}/${id} must be unique, but there is another one like it`, {
      details: { index: at.from },
      cause: error,
    });
  }
  return withIndex(error, at.from);
}
