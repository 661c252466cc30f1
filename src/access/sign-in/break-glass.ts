import type { AuditedEmergency } from '../../audit/audit-record.js';
import type { AuditHook, AuditOptions } from '../../audit/audit.js';
import { FhirError } from '../../fhir/error.js';
import { referenceTo } from '../../fhir/reference.js';
import { warn } from '../../platform/runtime.js';
import type { ResourceStore } from '../../store/store.js';
import { audited, auditedCaller } from '../operation.js';
import { assertCaller, type Caller, type MemberCaller } from '../caller.js';
import { signInAgain } from './sign-in.js';

/** An emergency, and where it is recorded. */
export interface BreakGlassOptions extends Pick<AuditOptions, 'purpose' | 'requestId'> {
  readonly store: ResourceStore;
  /** The reason in the member's words, 1 to 1,000 characters. Every audit record of the emergency contains it. */
  readonly reason: string;
  /** When the access ends: in the future, at most 24 hours from now. */
  readonly until: Date | string;
  /** Receives the record. It is required: if the hook fails, there is no emergency access. */
  readonly audit: AuditHook;
  /**
   * Called at once, for a pager or a message to the privacy officer. It is awaited; an error becomes a process warning
   * (`FHIRGRAPH_EMERGENCY`), because a pager that is down must not stop the access.
   */
  readonly onEmergency?: ((emergency: EmergencyNotice) => void | Promise<void>) | undefined;
  readonly signal?: AbortSignal | undefined;
  /** Default: the system clock. */
  readonly clock?: (() => Date) | undefined;
}

/** Who broke the glass, why, and until when. */
export interface EmergencyNotice extends AuditedEmergency {
  /** `Project/1`. */
  readonly project: string;
  /** `ProjectMembership/1`. */
  readonly membership: string;
  /** `Practitioner/1`. */
  readonly profile: string;
}

const MAX_REASON = 1000;
const MAX_HOURS = 24;

/**
 * Emergency access: a caller that also has the policies of its membership that are marked for it (the extension
 * `https://fhirgraph.org/fhir/StructureDefinition/emergency-access`, `valueBoolean` true). Marked policies grant nothing
 * otherwise.
 *
 * The access ends at `until`, even in the middle of a request: every later call is `forbidden`, and the member
 * continues with a caller from `signIn`.
 *
 * @throws FhirError `unauthenticated` - no caller
 * @throws FhirError `invalid` - a caller that is not a member, no reason, no hook, or a time that is over or too far off
 * @throws FhirError `forbidden` - the membership names no policy for emergencies, or the caller was narrowed
 * @throws FhirError `unavailable` - the audit hook did not store the record
 * @throws FhirError - the codes of signing in: the membership is read again
 *
 * @example
 * const until = new Date(Date.now() + 3_600_000);
 * const emergency = await breakGlass(caller, { store, reason: 'Unconscious in the ER', until, audit: log.audit });
 */
export function breakGlass(caller: Caller, options: BreakGlassOptions): Promise<MemberCaller> {
  const { store, audit, purpose, requestId } = options;
  if (typeof audit !== 'function') {
    return Promise.reject(new FhirError('invalid', 'breakGlass needs audit: emergency access is always recorded'));
  }
  const context = { store, caller, audit, requireAudit: true, purpose, requestId };
  return audited(context, 'break-glass', async (facts) => {
    assertCaller(caller);
    if (caller.kind !== 'member') throw new FhirError('invalid', 'Only members have emergency access');
    facts.targets = [{ type: 'ProjectMembership', id: caller.membership }];
    if (caller.narrowings !== undefined) {
      throw new FhirError('forbidden', 'A narrowed caller has no emergency access; narrow the caller of breakGlass');
    }
    const emergency = emergencyOf(options);
    facts.reason = emergency.reason;
    const { signal, clock } = options;
    const broken = (await signInAgain(store, caller, { signal }, { ...emergency, clock })).caller;
    facts.who = auditedCaller(broken);
    return broken;
  }).then(async (broken) => {
    await notify(broken, options);
    return broken;
  });
}

function emergencyOf({ reason, until, clock }: BreakGlassOptions): AuditedEmergency {
  const said: unknown = typeof reason === 'string' ? reason.trim() : undefined;
  if (typeof said !== 'string' || said === '' || said.length > MAX_REASON) {
    throw new FhirError('invalid', `breakGlass needs a reason of 1 to ${MAX_REASON} characters`);
  }
  const end = until instanceof Date ? until.getTime() : Date.parse(until);
  const left = end - (clock?.() ?? new Date()).getTime();
  if (!(left > 0 && left <= MAX_HOURS * 3_600_000)) {
    throw new FhirError('invalid', `breakGlass needs until: a time in the next ${MAX_HOURS} hours`);
  }
  return { reason: said, until: new Date(end).toISOString() };
}

async function notify(broken: MemberCaller, { onEmergency }: BreakGlassOptions): Promise<void> {
  const { project, membership, profile, emergency } = broken;
  try {
    await onEmergency?.({
      ...emergency!,
      project: referenceTo('Project', project),
      membership: referenceTo('ProjectMembership', membership),
      profile,
    });
  } catch (error) {
    warn(error, 'FHIRGRAPH_EMERGENCY');
  }
}
