import { isOfAuditLog } from '../../audit/log/chain.js';
import { FhirError } from '../../fhir/error.js';
import type { FhirModel } from '../../fhir/model/fhir-model.js';
import { referenceTo } from '../../fhir/reference.js';
import { elementsOf } from '../../fhir/resource.js';
import { inTurns, mapInTurns, Pace } from '../../platform/pace.js';
import type { ProfileChoice } from '../../profiles/validate-profiles.js';
import type { CallOptions, CommitOptions } from '../../store/call-options.js';
import { CallPace } from '../../store/guards.js';
import { assertNotAborted } from '../../store/guards.js';
import { putResultOf, type Write, type WriteResult } from '../../store/write.js';
import { readInParts } from '../../store/every-page.js';
import type { ResourceStore, StoreWrites } from '../../store/store.js';
import type { ReadResult } from '../../store/stored-resource.js';
import { ATTEMPTS, Overtaken, withRetries } from '../../store/with-retries.js';
import type { AccessTrace } from '../access-trace.js';
import { homeOf, assertNotEnded, type Caller, type ServerCaller, type SystemCaller } from '../caller.js';
import { withIndex, type GuardedResult, type GuardedWrite, failedIndex } from '../contract.js';
import { answeredBy } from '../evaluate/evaluate-criteria.js';
import { WrittenResources } from '../evaluate/written-resources.js';
import { coveredByWildcard } from '../fields/administrative-types.js';
import { maskResource } from '../fields/mask-resource.js';
import { loadForPolicies } from '../policy/write-constraint.js';
import { writesWhile } from '../sign-in/current-caller.js';
import { withCodeChecks, loadPolicyUser, withPolicyChecks } from './checks.js';
import { type CommitState, loadStored } from './commit-state.js';
import { decideWrite } from './decide-member.js';
import { decideTrusted, type TrustedState, loadTrusted, assertWithinReach } from './decide-trusted.js';
import type { OwnWrite, ReadyWrite, DecidedWrite, AddedWrite } from './ready-write.js';
import { LENIENT, validatingWrite, validationFor } from './validate-writes.js';

/** The parts of a guarded store that its commits need. */
interface Committing {
  readonly store: ResourceStore;
  readonly caller: Caller;
  readonly to: StoreWrites;
  readonly trace?: AccessTrace | undefined;
  /** Those that the host requires, in addition to those of the project. */
  readonly profiles?: ProfileChoice | undefined;
}

/** Implements `GuardedStore.commit`: load, decide, commit, answer. */
export async function commitGuarded(
  { store, caller, to, trace, profiles }: Committing,
  writes: readonly GuardedWrite[],
  options: CommitOptions | undefined,
): Promise<readonly GuardedResult[]> {
  assertNotAuditLog(caller, writes);
  const validation = await validationFor(store, caller, writes, profiles, options);
  // A member's write is validated after its hidden fields are restored.
  const asked = caller.kind === 'member' ? LENIENT : validation;
  const sizes = { maxBytes: store.maxResourceBytes, maxValues: store.maxResourceValues };
  const pace = new CallPace(options);
  for (let index = 0; index < writes.length; index++) {
    if (pace.isSpent) await pace.next();
    const write = writes[index]!;
    if (write.kind !== 'put') continue;
    const validating = validatingWrite(store.model, write, index, asked, sizes);
    // Without profiles there is one step, and no promise.
    if (validating.next().done !== true) await inTurns(validating, pace);
  }
  await loadForPolicies(writes.flatMap((write) => (write.kind === 'put' ? [elementsOf(write.resource)] : [])));
  // An administrator demoted since sign-in must not write policies.
  const isConfirmed = caller.kind === 'member' && writes.some(isForAdministrators);
  const target = isConfirmed ? writesWhile(store, caller, ({ admin }) => admin) : to;
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
      options?.onWritten?.();
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

/** Most callers of a large commit never read the resources, so they are masked on first access. */
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

/** Loads the data for a member's writes, and decides them. */
async function decideMemberWrites(
  store: ResourceStore,
  who: Pick<CommitState, 'caller' | 'validation'>,
  writes: readonly GuardedWrite[],
  options: CallOptions | undefined,
): Promise<readonly ReadyWrite[]> {
  const stored = await loadStored(store, who.caller, writes, options);
  const hasTerminology = store.terminology !== undefined;
  const state: CommitState = {
    ...who,
    hasTerminology,
    stored,
    written: WrittenResources.none(store.model, stored.now),
  };
  return decideInOrder(state, writes, options, (now, write, from) =>
    answeredBy(store, decideWrite(now, write, from), options),
  );
}

/** Loads the data for the writes of trusted code, and decides them. */
async function decideTrustedWrites(
  store: ResourceStore,
  caller: SystemCaller | ServerCaller,
  writes: readonly GuardedWrite[],
  options: CallOptions | undefined,
): Promise<readonly ReadyWrite[]> {
  writes.forEach((write, from) => assertWithinReach(caller, write, from));
  const loaded = await loadTrusted(store, caller, writes, options);
  const state: TrustedState = {
    model: store.model,
    hasTerminology: store.terminology !== undefined,
    caller,
    ...loaded,
    written: WrittenResources.none(store.model, Date.now()),
  };
  return decideInOrder(state, writes, options, decideTrusted);
}

async function decideInOrder<State>(
  first: State,
  writes: readonly GuardedWrite[],
  options: CallOptions | undefined,
  decide: (state: State, write: GuardedWrite, from: number) => DecidedWrite<State> | Promise<DecidedWrite<State>>,
): Promise<readonly ReadyWrite[]> {
  const ready: ReadyWrite[] = [];
  let state = first;
  const pace = new CallPace(options);
  for (let from = 0; from < writes.length; from++) {
    if (pace.isSpent) await pace.next();
    try {
      const deciding = decide(state, writes[from]!, from);
      // A synchronous decision does not wait for a promise.
      const decided = deciding instanceof Promise ? await deciding : deciding;
      ready.push(...decided.ready);
      state = decided.state;
    } catch (error) {
      throw error instanceof FhirError ? withIndex(error, from) : error;
    }
  }
  return ready;
}

/** The reason why a store rejected a commit. */
interface CommitFailure {
  readonly error: FhirError;
  /** The rejected step. */
  readonly step: OwnWrite | AddedWrite;
  /** The caller's write of that step. */
  readonly asked: GuardedWrite;
}

/** @returns undefined for an error without a step */
export function commitFailure(
  error: unknown,
  steps: readonly (OwnWrite | AddedWrite)[],
  writes: readonly GuardedWrite[],
): CommitFailure | undefined {
  const step = steps[failedIndex(error) ?? -1];
  return step && { error: error as FhirError, step, asked: writes[step.from]! };
}

/** True if the decision was based on outdated data, and the caller itself required no version. */
export function isOvertaken({ error, step, asked }: CommitFailure): boolean {
  if (step.role === 'added' && step.refusal === 'decide again') return true;
  return (
    error.code === 'precondition-failed' &&
    step.write.kind !== 'assert-no-match' &&
    asked.kind !== 'assert-no-match' &&
    asked.expect === undefined
  );
}

/** Translates the store's error to the caller's write. */
export function explainFailure({ error, step, asked }: CommitFailure, caller: Caller): FhirError {
  const { from } = step;
  const refusal = step.role === 'added' ? step.refusal : undefined;
  if (refusal === 'decide again') {
    const name = asked.kind === 'assert-no-match' ? asked.query.type : referenceTo(asked.key.type, asked.key.id);
    return new FhirError('conflict', `The resources that decide access to ${name} keep changing; try again`, {
      details: { index: from },
      cause: error,
    });
  }
  if (refusal !== undefined) return withIndex(refusal(String(error.details!['holder'])), from);
  if (error.code === 'conflict' && step.write.kind === 'put' && caller.kind === 'member') {
    // The unique key may be held in another project.
    const { type, id } = step.write.key;
    return new FhirError('conflict', `${referenceTo(type, id)} must be unique, but another resource has the same key`, {
      details: { index: from },
      cause: error,
    });
  }
  return withIndex(error, from);
}
