import { isOfAuditLog } from '../../audit/log/audit-project.js';
import { FhirError } from '../../fhir/error.js';
import type { FhirModel } from '../../fhir/model/fhir-model.js';
import { elementsOf } from '../../fhir/resource.js';
import { inTurns, mapInTurns, Pace } from '../../platform/pace.js';
import type { ProfileChoice } from '../../profiles/validate-profiles.js';
import { CallPace } from '../../store/call-pace.js';
import { assertNotAborted } from '../../store/guards.js';
import { putResultOf } from '../../store/put-result.js';
import { readInParts } from '../../store/read-in-parts.js';
import type { ResourceStore } from '../../store/store.js';
import type { ReadResult } from '../../store/stored-resource.js';
import { ATTEMPTS, Overtaken, withRetries } from '../../store/with-retries.js';
import type { Write, WriteResult } from '../../store/write.js';
import type { AccessTrace } from '../access-trace.js';
import { homeOf, assertNotEnded, type Caller } from '../caller.js';
import { withIndex, type CommitOptions, type GuardedResult, type GuardedWrite } from '../contract.js';
import { coveredByWildcard } from '../fields/administrative-types.js';
import { maskResource } from '../fields/mask-resource.js';
import { loadForPolicies } from '../policy/write-constraint.js';
import { storeWhile } from '../sign-in/current-caller.js';
import { withCodeChecks } from './checks/code-checks.js';
import { loadPolicyUser, withPolicyChecks } from './checks/policy-checks.js';
import { commitFailure, explainFailure, isOvertaken } from './commit-failures.js';
import { decideMemberWrites, decideTrustedWrites } from './decide-writes.js';
import type { OwnWrite, ReadyWrite } from './ready-write.js';
import { LENIENT, validatingWrite, validationFor } from './validate-writes.js';

/**
 * Implements `GuardedStore.commit`: load, decide, commit, answer.
 *
 * @param profiles that the host requires, in addition to those of the project
 */
export async function commitGuarded(
  store: ResourceStore,
  caller: Caller,
  writes: readonly GuardedWrite[],
  options: CommitOptions | undefined,
  trace?: AccessTrace,
  profiles?: ProfileChoice,
): Promise<readonly GuardedResult[]> {
  assertNotAuditLog(caller, writes);
  const validation = await validationFor(store, caller, writes, profiles, options);
  // A member's write is validated after its hidden fields are restored.
  const asked = caller.kind === 'member' ? LENIENT : validation;
  const pace = new CallPace(options);
  for (let index = 0; index < writes.length; index++) {
    if (pace.isSpent) await pace.next();
    const write = writes[index]!;
    if (write.kind !== 'put') continue;
    const validating = validatingWrite(store.model, write, index, asked, store.maxResourceBytes);
    // PERF: most resources take one step, and no promise.
    if (validating.next().done !== true) await inTurns(validating, pace);
  }
  await loadForPolicies(writes.flatMap((write) => (write.kind === 'put' ? [elementsOf(write.resource)] : [])));
  // An administrator demoted since sign-in must not write policies.
  const target = writes.some(isForAdministrators) ? storeWhile(store, caller, ({ admin }) => admin) : store;
  return withRetries({ attempts: ATTEMPTS.write, signal: options?.signal }, async () => {
    const decided =
      caller.kind === 'member'
        ? await decideMemberWrites(store, { caller, validation }, writes, options)
        : await decideTrustedWrites(store, caller, writes, options);
    const policyUser = await loadPolicyUser(store, caller, decided, options);
    const ready = withPolicyChecks(caller, withCodeChecks(caller, decided), policyUser);
    const steps = ready.filter((one) => one.role !== 'unchanged');
    const replaced = trace && (await readReplaced(store, steps, options));
    assertNotAborted(options);
    if (caller.kind === 'member') assertNotEnded(caller);
    options?.onCommit?.();
    try {
      const results = await target.commit(
        steps.map(({ write }) => write),
        options && { signal: options.signal, deadline: options.deadline },
      );
      if (replaced !== undefined) traceWrites(trace!, steps, replaced, results);
      return await answersOf(ready, steps, results, caller, trace);
    } catch (error) {
      const failure = commitFailure(error, steps, writes);
      if (failure === undefined) throw error;
      const explained = explainFailure(failure, caller);
      if (isOvertaken(failure)) return new Overtaken(explained);
      throw explained;
    }
  });
}

/** Only the audit log writes to its project. @throws FhirError `forbidden` */
function assertNotAuditLog(caller: Caller, writes: readonly GuardedWrite[]): void {
  const index = writes.findIndex(
    (write) =>
      write.kind !== 'assert-no-match' &&
      isOfAuditLog({ project: homeOf(write.key.type, caller), type: write.key.type, id: write.key.id }),
  );
  if (index !== -1) throw withIndex(new FhirError('forbidden', 'The audit log cannot be changed'), index);
}

async function answersOf(
  ready: readonly ReadyWrite[],
  steps: readonly ReadyWrite[],
  results: readonly WriteResult[],
  caller: Caller,
  trace: AccessTrace | undefined,
): Promise<readonly GuardedResult[]> {
  // The abort signal no longer applies once the data is written.
  const pace = new Pace();
  const resultOf = new Map<ReadyWrite, WriteResult>();
  for (let index = 0; index < steps.length; index++) {
    if (pace.isSpent) await pace.next();
    resultOf.set(steps[index]!, results[index]!);
  }
  const asked = ready.filter((one) => one.role !== 'added');
  return mapInTurns(asked, pace, (one) =>
    one.role === 'unchanged' ? one.answer : answerOf(one, resultOf.get(one)!, caller, trace),
  );
}

/** PERF: most callers of a large commit never read the resources, so they are masked on first access. */
function answerOf(
  { readRules, unreadable }: OwnWrite,
  result: WriteResult,
  caller: Caller,
  trace: AccessTrace | undefined,
): GuardedResult {
  if (result.kind !== 'put') return result;
  const rules = caller.kind === 'member' ? caller.rules : undefined;
  const answer = putResultOf(result, () => {
    const masked = maskResource(result.resource, readRules, rules);
    if (masked !== result.resource) trace?.origins.set(masked, result.resource);
    return masked;
  });
  return unreadable === true ? Object.assign(answer, { unreadable }) : answer;
}

interface Step {
  readonly write: Write;
}

/**
 * Reads the resources that the writes replace or delete, because the record also names their patients. A creation
 * replaces nothing.
 */
async function readReplaced(
  store: ResourceStore,
  steps: readonly Step[],
  options: CommitOptions | undefined,
): Promise<readonly ReadResult[]> {
  const keys = steps.flatMap(({ write }) =>
    write.kind !== 'assert-no-match' && write.expect?.version !== null && isOfPatients(store.model, write.key.type)
      ? [write.key]
      : [],
  );
  const calls = options && { signal: options.signal, deadline: options.deadline };
  return readInParts(keys, options, (part) => store.read(part, calls));
}

/** A Patient is its own compartment, even if its content changed. */
function isOfPatients(model: FhirModel, type: string): boolean {
  return type !== 'Patient' && (type === 'Bundle' || model.patientCompartment(type).length > 0);
}

function traceWrites(
  trace: AccessTrace,
  steps: readonly Step[],
  replaced: readonly ReadResult[],
  results: readonly WriteResult[],
): void {
  for (const [index, { write }] of steps.entries()) {
    const result = results[index];
    if (write.kind === 'put') trace.touch(write.resource);
    else if (write.kind === 'delete' && result?.kind === 'delete' && result.versionId !== null) {
      trace.deleted(write.key.type, write.key.id);
    }
  }
  for (const before of replaced) if (before.status === 'found') trace.touch(before.resource);
}

/** True for writes that require an administrator. */
function isForAdministrators(write: GuardedWrite): boolean {
  return write.kind !== 'assert-no-match' && write.key.type !== 'User' && !coveredByWildcard(write.key.type);
}
