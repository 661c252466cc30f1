import type { FhirModel } from '../fhir/model/fhir-model.js';
import { type ErrorCode, FhirError, isInDoubt, maskError } from '../fhir/error.js';
import { isResourceId } from '../fhir/resource.js';
import type { ObservedFacts } from '../telemetry/with-telemetry.js';
import { warn } from '../platform/runtime.js';
import type { AuditInteraction, AuditRecord, AuditTarget, AuditedCaller } from './audit-record.js';

/**
 * Receives every record when its interaction ends. Without {@link AuditOptions.requireAudit} it is not awaited, and its
 * errors become process warnings (`FHIRGRAPH_AUDIT`): audit failures never fail the request.
 */
export interface AuditHook {
  (record: AuditRecord): void | Promise<void>;
  /**
   * Awaited before an interaction begins: a hook whose queue is full holds new work back. Undefined or a missing method
   * means that there is room.
   */
  readonly ready?: (() => Promise<void> | undefined) | undefined;
}

/** How interactions are audited. */
export interface AuditOptions {
  /** Receives one record per interaction. Default: none. */
  readonly audit?: AuditHook | undefined;
  /**
   * Fail with `unavailable` and `details.audit` if the hook throws or rejects, so that no unrecorded answer is
   * released. A write is committed before its record exists; its error then has `details.written`. Default false.
   */
  readonly requireAudit?: boolean | undefined;
  /**
   * The purpose of use for the records: a code of http://terminology.hl7.org/ValueSet/v3-PurposeOfUse such as `TREAT`.
   * Default: the caller's own, see `signIn`.
   */
  readonly purpose?: string | undefined;
  /** The host's id of the request, for the records. Default: the caller's own, see `signIn`. */
  readonly requestId?: string | undefined;
}

/** What an answer showed. */
export type ShownFacts = Pick<AuditRecord, 'returned' | 'patients' | 'counts'>;

/** Facts that become known while an interaction runs. */
export type AuditFacts = {
  -readonly [Name in 'targets' | 'parameters' | 'results' | 'storeCalls' | 'document' | 'reason']?: AuditRecord[Name];
} & { -readonly [Name in keyof ObservedFacts]: ObservedFacts[Name] } & {
  /** The caller, where only the interaction itself finds it. */
  who?: AuditedCaller;
  /** Called once, at the end; with `isAnswered` false if the interaction threw. */
  shown?: (isAnswered: boolean) => ShownFacts | Promise<ShownFacts>;
  /** Set if it failed and the outcome of its writes is unknown. */
  unknown?: boolean;
  /** Whether something was committed. Default: depends on the interaction. */
  written?: boolean;
};

/**
 * Runs an interaction and passes its record to the hook.
 *
 * @param facts filled in by the work while it runs, so that the record of a failure is as complete as possible
 * @throws FhirError `unavailable` - the record was required, and the hook failed
 */
export async function recordInteraction<Result>(
  model: FhirModel,
  options: AuditOptions & { readonly audit: AuditHook },
  who: AuditedCaller,
  interaction: AuditInteraction,
  facts: AuditFacts,
  work: () => Promise<Result>,
): Promise<Result> {
  const { audit, requireAudit } = options;
  const room = audit.ready?.();
  if (room !== undefined) await room;
  const started = new Date();
  const clock = performance.now();
  let result: Result | undefined;
  let thrown: { readonly error: unknown } | undefined;
  try {
    result = await work();
  } catch (error) {
    thrown = { error };
  }
  const outcome = outcomeOf(facts, thrown);
  try {
    const gathered = facts.shown?.(outcome.success || facts.failure !== undefined) ?? {};
    // Most answers show few resources, which need no promise.
    const shown = gathered instanceof Promise ? await gathered : gathered;
    const record = recordOf(model, options, facts, shown, { who, interaction, outcome });
    const duration = Math.round((performance.now() - clock) * 1000) / 1000;
    const taken = audit({ ...record, started: started.toISOString(), duration });
    if (requireAudit === true) await taken;
    // A hook may return anything, such as the length that `push` returns.
    else if (isThenable(taken)) Promise.resolve(taken).catch(reportFault);
  } catch (error) {
    if (requireAudit !== true) reportFault(error);
    else throw notTaken(error, outcome, facts.written ?? (outcome.success && WRITES.has(interaction)));
  }
  if (thrown !== undefined) throw thrown.error;
  return result as Result;
}

function outcomeOf(facts: AuditFacts, thrown: { readonly error: unknown } | undefined): AuditRecord['outcome'] {
  const code: ErrorCode | undefined = thrown === undefined ? facts.failure : maskError(thrown.error).code;
  if (code === undefined) return { success: true };
  const unknown = thrown === undefined ? facts.unknown === true : isInDoubt(thrown.error);
  return { success: false, code, ...(unknown ? { unknown } : {}) };
}

function recordOf(
  model: FhirModel,
  { purpose, requestId }: AuditOptions,
  facts: AuditFacts,
  { returned, patients: touched, counts }: ShownFacts,
  known: Pick<AuditRecord, 'who' | 'interaction' | 'outcome'>,
): Omit<AuditRecord, 'started' | 'duration'> {
  const { who, interaction, outcome } = known;
  const { targets = [], parameters, results, storeCalls, document, reason } = facts;
  const patients = withPatients(touched, patientTargets(targets, interaction, outcome));
  const optional = { parameters, results, storeCalls, returned, patients, counts, document };
  const said = { purpose: clip(purpose, 64), requestId: clip(requestId, 200), reason: clip(reason, 1000) };
  return {
    interaction,
    who: facts.who ?? who,
    targets: targets.map((target) => safeTarget(model, target)),
    ...withoutUndefined({ ...optional, ...said }),
    outcome,
  };
}

/**
 * Patients that are targets themselves. An interaction with a deleted or erased Patient shows and changes no content,
 * so the trace misses it. Not for Bundles: an entry can fail alone, and may name a Patient that the caller does not
 * see.
 */
function patientTargets(
  targets: readonly AuditTarget[],
  interaction: AuditInteraction,
  outcome: AuditRecord['outcome'],
): string[] {
  const isThere = outcome.success || outcome.code === 'gone';
  if (!isThere || interaction === 'transaction' || interaction === 'batch') return [];
  return targets.flatMap(({ type, id }) => (type === 'Patient' && isResourceId(id) ? id : []));
}

function withPatients(touched: AuditRecord['patients'], ids: readonly string[]): AuditRecord['patients'] {
  const further = ids.filter((id) => touched?.ids.includes(id) !== true);
  if (further.length === 0 || (touched !== undefined && touched.total > touched.ids.length)) return touched;
  return { total: (touched?.total ?? 0) + further.length, ids: [...(touched?.ids ?? []), ...further] };
}

/** Interactions that commit when they succeed. */
const WRITES: ReadonlySet<AuditInteraction> = new Set<AuditInteraction>([
  ...(['create', 'update', 'patch', 'delete', 'transaction', 'batch', 'import'] as const),
  ...(['accept-invitation', 'revoke-sessions', 'create-project', 'invite', 'update-member', 'remove-member'] as const),
  ...(['create-client', 'create-bot', 'update-client', 'update-bot', 'rotate-secret', 'update-project'] as const),
  ...(['deactivate-project', 'delete-project', 'erase-resource', 'erase-patient', 'purge-history'] as const),
]);

function notTaken(cause: unknown, outcome: AuditRecord['outcome'], written: boolean): FhirError {
  return new FhirError(
    'unavailable',
    written
      ? 'The change was made, but its audit event could not be recorded'
      : 'The audit event of this request could not be recorded, so it is not answered',
    {
      details: {
        audit: true,
        ...(written ? { written: true } : {}),
        ...(!outcome.success && outcome.unknown === true ? { unknown: true } : {}),
      },
      cause,
    },
  );
}

/** Cuts strings from the host, so that one record cannot fill a trail. */
function clip(text: unknown, length: number): string | undefined {
  return typeof text === 'string' && text !== '' ? text.slice(0, length) : undefined;
}

function withoutUndefined<Value extends object>(value: Value): Value {
  return Object.fromEntries(Object.entries(value).filter(([, one]) => one !== undefined)) as Value;
}

/** Leaves out unknown types and malformed ids: they come from the client and could contain anything. */
function safeTarget(model: FhirModel, { type, id, versionId, interaction }: AuditTarget): AuditTarget {
  if (!model.isResourceType(type)) return { type: 'unknown' };
  return {
    type,
    ...(isResourceId(id) ? { id } : {}),
    ...(isResourceId(versionId) ? { versionId } : {}),
    ...(interaction === undefined ? {} : { interaction }),
  };
}

function isThenable(value: unknown): value is PromiseLike<unknown> {
  return typeof (value as { readonly then?: unknown } | null | undefined)?.then === 'function';
}

function reportFault(error: unknown): void {
  warn(error, 'FHIRGRAPH_AUDIT');
}
