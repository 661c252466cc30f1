import type { AuditedCaller, AuditInteraction } from '../audit/audit-record.js';
import { type AuditFacts, type AuditOptions, recordInteraction } from '../audit/audit.js';
import { FhirError, inDoubt, isInDoubt } from '../fhir/error.js';
import { referenceTo } from '../fhir/reference.js';
import { eitherSignal, MAX_DELAY_MS } from '../platform/runtime.js';
import type { CommitOptions } from '../store/call-options.js';
import { callTimedOut } from '../store/guards.js';
import { SERVER_SCOPE } from '../store/resource-key.js';
import type { ResourceStore } from '../store/store.js';
import { observed } from '../telemetry/with-telemetry.js';
import { isCaller } from './caller.js';
import { assertTimeout, type CallLimits, parseConcurrency, textBudget, timeBefore } from './limits/call-limits.js';
import { inTurn } from './turns/in-turn.js';

/** The context of work under limits. */
interface LimitedContext {
  readonly store: ResourceStore;
  /** Whose turn it takes. Without a valid caller it does not wait for others. */
  readonly caller?: unknown;
  readonly signal?: AbortSignal | undefined;
  readonly limits?: CallLimits | undefined;
}

/** The context as work receives it. Its signal also fires at the deadline, for long work between the calls. */
export type InCall<Context> = Context & {
  /** The options of every store call of the work: its signal, deadline and budget of bytes. */
  readonly call: CommitOptions;
};

/** The context of an operation: its store, caller, limits and audit options. */
export type OperationContext = LimitedContext & AuditOptions;

interface LimitOptions {
  /** Nothing ends the work after its first commit: it consists of one write and its answer. Default false. */
  readonly untilWritten?: boolean | undefined;
}

export interface OperationOptions extends LimitOptions {
  /** The facts that are known before it begins; it fills in the others as it learns them. */
  readonly facts?: AuditFacts | undefined;
  /** It is a part of a larger operation: it has a record of its own, but no span. Default false. */
  readonly isPart?: boolean | undefined;
}

/**
 * Runs an operation when it is its turn and within its limits, and reports its outcome to the host's audit hook, tracer and
 * meter, if any.
 *
 * ```text
 * span and metrics │ audit record │ turn │ deadline and budget of bytes │ work
 * ```
 *
 * @param work passes the `call` of its context to every store call
 * @throws FhirError `invalid` - the audit is required, but there is no hook
 * @throws FhirError `unavailable` - the audit is required, and the hook did not store the record
 * @throws FhirError as {@link withinLimits}
 */
export function operation<Context extends OperationContext, Result>(
  context: Context,
  interaction: AuditInteraction,
  work: (context: InCall<Context>, facts: AuditFacts) => Promise<Result>,
  { facts = {}, isPart = false, untilWritten }: OperationOptions = {},
): Promise<Result> {
  const run = (): Promise<Result> => withinLimits(context, (bounded) => work(bounded, facts), { untilWritten });
  return isPart ? recorded(context, interaction, run, facts) : audited(context, interaction, run, facts);
}

/** {@link operation} for work that keeps to the limits itself. */
export function audited<Result>(
  context: OperationContext,
  interaction: AuditInteraction,
  work: (facts: AuditFacts) => Promise<Result>,
  facts: AuditFacts = {},
): Promise<Result> {
  return observed(context.store, interaction, facts, () => recorded(context, interaction, work, facts));
}

function recorded<Result>(
  context: OperationContext,
  interaction: AuditInteraction,
  work: (facts: AuditFacts) => Promise<Result>,
  facts: AuditFacts,
): Promise<Result> {
  const { store, caller, audit, requireAudit } = context;
  if (audit === undefined) {
    if (requireAudit === true) return Promise.reject(new FhirError('invalid', 'requireAudit needs audit'));
    return work(facts);
  }
  const options = { audit, requireAudit, ...statedBy(context) };
  return recordInteraction(store.model, options, auditedCaller(caller), interaction, facts, () => work(facts));
}

/** The purpose and the id of a request: of the context, else of the caller. */
function statedBy({ caller, purpose, requestId }: OperationContext): Pick<AuditOptions, 'purpose' | 'requestId'> {
  const own = isCaller(caller) && caller.kind === 'member' ? caller : undefined;
  return { purpose: purpose ?? own?.purpose, requestId: requestId ?? own?.requestId };
}

/** A caller as records name it. */
export function auditedCaller(caller: unknown): AuditedCaller {
  if (!isCaller(caller)) return { kind: 'unknown' };
  if (caller.kind === 'system') return { kind: 'system', project: caller.project };
  if (caller.kind === 'server') {
    return { kind: 'server', ...(caller.project === SERVER_SCOPE ? {} : { project: caller.project }) };
  }
  const { project, membership, user, profile, emergency } = caller;
  return {
    ...{ kind: 'member', project, membership: referenceTo('ProjectMembership', membership), user, profile },
    ...(emergency === undefined ? {} : { emergency }),
  };
}

/**
 * Runs work without a record of its own: when it is its turn, until `limits.timeout`, and reading as much as `limits.bytes`
 * allows.
 *
 * @throws FhirError `throttled` - too many requests wait, or it waited too long
 * @throws FhirError `too-costly` - with `details.limit` `timeout`, and `details.unknown` as the store says
 */
export async function withinLimits<Context extends LimitedContext, Result>(
  context: Context,
  work: (context: InCall<Context>) => Promise<Result>,
  options: LimitOptions = {},
): Promise<Result> {
  const { store, caller, signal, limits } = context;
  const concurrency = parseConcurrency(limits?.concurrency);
  const before = timeBefore(limits);
  const timeout = limits?.timeout === undefined ? undefined : limits.timeout - before;
  return inTurn({ store, caller, concurrency, signal, timeout }, (waited) =>
    untilDeadline(context, work, before + waited, options),
  );
}

/** @param waited how much of the time has already passed, in milliseconds */
async function untilDeadline<Context extends LimitedContext, Result>(
  context: Context,
  work: (context: InCall<Context>) => Promise<Result>,
  waited: number,
  { untilWritten = false }: LimitOptions,
): Promise<Result> {
  const { limits, signal } = context;
  assertTimeout(limits?.timeout);
  const timeout = limits?.timeout ?? Infinity;
  const left = timeout - waited;
  // A store that answers in the same turn would finish before the timer fires.
  if (waited > 0 && left <= 0) throw tooLong(timeout, callTimedOut());
  const control = timeout > MAX_DELAY_MS ? undefined : new AbortController();
  const end = (): void => control?.abort(new DOMException('The time of the operation is over', 'TimeoutError'));
  const timer = control && setTimeout(end, Math.ceil(left));
  const call: { -readonly [Name in keyof CommitOptions]: CommitOptions[Name] } = {
    // Created once, because every call uses the same signal.
    signal: eitherSignal(control?.signal, signal),
    deadline: control && performance.now() + left,
    budget: textBudget(limits),
  };
  if (untilWritten) {
    call.onWritten = () => {
      clearTimeout(timer);
      call.signal = undefined;
      call.deadline = undefined;
      call.budget = undefined;
    };
  }
  try {
    return await work({ ...context, signal: call.signal, call });
  } catch (error) {
    throw control !== undefined && isTimedOut(error, control.signal) ? tooLong(timeout, error) : error;
  } finally {
    clearTimeout(timer);
  }
}

function isTimedOut(error: unknown, signal: AbortSignal): error is FhirError {
  if (!(error instanceof FhirError) || error.code !== 'aborted') return false;
  return error.detailsOf('aborted')?.deadline === true || (signal.aborted && error.cause === signal.reason);
}

/** Keeps the error's details about writes. */
function tooLong(max: number, error: FhirError): FhirError {
  const { deadline: _, unknown: __, ...kept } = error.details ?? {};
  const reason = `The call ran longer than ${max} ms: narrow its searches, or write less at once`;
  const late = new FhirError('too-costly', reason, { details: { ...kept, limit: 'timeout', max }, cause: error });
  return isInDoubt(error) ? inDoubt(late) : late;
}
