import type { FhirModel } from '../fhir/model/fhir-model.js';
import { maskError, type ErrorCode } from '../fhir/error.js';
import { isInDoubt } from '../fhir/in-doubt.js';
import { isResourceId } from '../fhir/resource.js';
import type { ObservedFacts } from '../telemetry/observed.js';
import { warn } from '../platform/warn.js';

/**
 * One interaction for the host's audit trail: the caller, the action, its targets, time and outcome.
 *
 * It never contains contents of resources, search values or error messages.
 */
export interface AuditRecord {
  /**
   * What was done: an interaction of FHIR's REST interface (https://hl7.org/fhir/R4/valueset-type-restful-interaction.html),
   * or an operation of this library such as `graphql` and `invite`.
   */
  readonly interaction: AuditInteraction;
  readonly who: AuditedCaller;
  /** The target resources or, without ids, the target types. */
  readonly targets: readonly AuditTarget[];
  /** Names of the search parameters used, `birthdate`, without their values; absent without a search. */
  readonly parameters?: readonly string[] | undefined;
  /** Number of resources that a search, history or Bundle answered with. */
  readonly results?: number | undefined;
  /** Number of store calls; `graphql` only. */
  readonly storeCalls?: number | undefined;
  readonly outcome: AuditOutcome;
  /** Instant at which it began, ISO 8601, UTC. */
  readonly started: string;
  /** How long it took, in milliseconds. */
  readonly duration: number;
}

export type AuditInteraction = RestInteraction | 'graphql' | ProjectOperation;

/** Interactions of the repository. */
export type RestInteraction =
  'create' | 'read' | 'vread' | 'update' | 'patch' | 'delete' | 'search' | 'history' | 'transaction' | 'batch';

/** Operations on projects and their members. */
export type ProjectOperation =
  | 'create-project'
  | 'invite'
  | 'search-members'
  | 'update-member'
  | 'remove-member'
  | 'create-client'
  | 'create-bot'
  | 'update-client'
  | 'update-bot'
  | 'rotate-secret';

/** The responsible caller, by references. */
export type AuditedCaller =
  | { readonly kind: 'system'; readonly project: string }
  /** Trusted code of the operator, with the project it worked in, if any. */
  | { readonly kind: 'server'; readonly project?: string | undefined }
  | {
      readonly kind: 'member';
      readonly project: string;
      /** `ProjectMembership/1`. */
      readonly membership: string;
      /** `User/1`, `ClientApplication/1` or `Bot/1`. */
      readonly user: string;
      /** `Practitioner/1`. */
      readonly profile: string;
    }
  /** A request without a valid caller. */
  | { readonly kind: 'unknown' };

export interface AuditTarget {
  readonly type: string;
  readonly id?: string | undefined;
  readonly versionId?: string | undefined;
  /** The interaction with this target, if there were several: the entries of a Bundle. */
  readonly interaction?: RestInteraction | undefined;
}

export type AuditOutcome =
  | { readonly success: true }
  | {
      readonly success: false;
      readonly code: ErrorCode;
      /** The outcome of the write is unknown. */
      readonly unknown?: true | undefined;
    };

/**
 * Receives every record when its interaction ends. It is not awaited, and its errors become process warnings
 * (`FHIRGRAPH_AUDIT`): audit failures never fail the request. A host whose trail must be complete queues the records
 * durably here.
 */
export type AuditHook = (record: AuditRecord) => void | Promise<void>;

/** Facts that become known while an interaction runs. */
export type AuditFacts = {
  -readonly [Name in 'targets' | 'parameters' | 'results' | 'storeCalls']?: AuditRecord[Name];
} & { -readonly [Name in keyof ObservedFacts]: ObservedFacts[Name] } & {
  /** It failed, and the outcome of its writes is unknown. */
  unknown?: boolean;
};

/**
 * Runs an interaction and passes its record to the hook, which cannot affect the interaction.
 *
 * @param facts filled in by the work while it runs, so that the record of a failure is as complete as possible
 */
export async function recordInteraction<Result>(
  model: FhirModel,
  audit: AuditHook,
  who: AuditedCaller,
  interaction: AuditInteraction,
  facts: AuditFacts,
  work: () => Promise<Result>,
): Promise<Result> {
  const started = new Date().toISOString();
  const clock = performance.now();
  let failure: ErrorCode | undefined;
  let unknown = false;
  try {
    const result = await work();
    failure = facts.failure;
    unknown = facts.unknown === true;
    return result;
  } catch (error) {
    failure = maskError(error).code;
    unknown = isInDoubt(error);
    throw error;
  } finally {
    const { failure: _failure, attributes: _attributes, unknown: _unknown, targets = [], ...known } = facts;
    report(audit, {
      interaction,
      who,
      ...known,
      targets: targets.map((target) => safeTarget(model, target)),
      outcome:
        failure === undefined ? { success: true } : { success: false, code: failure, ...(unknown ? { unknown } : {}) },
      started,
      duration: Math.round((performance.now() - clock) * 1000) / 1000,
    });
  }
}

/** Unknown types and malformed ids are client text, and could contain anything. */
function safeTarget(model: FhirModel, { type, id, versionId, interaction }: AuditTarget): AuditTarget {
  if (!model.isResourceType(type)) return { type: 'unknown' };
  return {
    type,
    ...(isResourceId(id) ? { id } : {}),
    ...(isResourceId(versionId) ? { versionId } : {}),
    ...(interaction === undefined ? {} : { interaction }),
  };
}

function report(hook: AuditHook, record: AuditRecord): void {
  try {
    Promise.resolve(hook(record)).catch(reportFault);
  } catch (error) {
    reportFault(error);
  }
}

function reportFault(error: unknown): void {
  warn(error, 'FHIRGRAPH_AUDIT');
}
