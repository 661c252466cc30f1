import type { FhirModel } from '../fhir/model/fhir-model.js';
import { maskError, type ErrorCode } from '../fhir/error.js';
import { isInDoubt } from '../fhir/in-doubt.js';
import { isResourceId } from '../fhir/resource.js';
import type { ObservedFacts } from '../telemetry/observed.js';

/**
 * One interaction, for the host's audit trail: who did what to which resources, when, and how it ended.
 *
 * It never holds content of resources, values that were searched for, or messages of errors.
 */
export interface AuditRecord {
  /**
   * What was done: an interaction of FHIR's REST interface (https://hl7.org/fhir/R4/valueset-type-restful-interaction.html),
   * or an operation of this library such as `graphql` and `invite`.
   */
  readonly interaction: AuditInteraction;
  readonly who: AuditedCaller;
  /** The resources or, without ids, the types that it was about. */
  readonly targets: readonly AuditTarget[];
  /** Names of the search parameters used, `birthdate`, without their values; left out where nothing was searched. */
  readonly parameters?: readonly string[] | undefined;
  /** Number of resources that a search, history or Bundle answered with. */
  readonly results?: number | undefined;
  /** Number of calls to the store; of `graphql` only. */
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

/** Who is responsible, by references. */
export type AuditedCaller =
  | { readonly kind: 'system'; readonly project: string }
  /** Trusted code of the operator; `project` where it worked in one. */
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
  /** Whoever came without being a caller. */
  | { readonly kind: 'unknown' };

export interface AuditTarget {
  readonly type: string;
  readonly id?: string | undefined;
  readonly versionId?: string | undefined;
  /** What was done to this one, where one interaction did several things: the entries of a Bundle. */
  readonly interaction?: RestInteraction | undefined;
}

export type AuditOutcome =
  | { readonly success: true }
  | {
      readonly success: false;
      readonly code: ErrorCode;
      /** Nobody knows whether what was to be written is written. */
      readonly unknown?: true | undefined;
    };

/**
 * Receives every record when its interaction has ended. Nothing waits for it, and what it throws becomes a process
 * warning (`FHIRGRAPH_AUDIT`): an audit trail that fails does not stop the service. A host whose trail must be complete
 * queues the records durably here.
 */
export type AuditHook = (record: AuditRecord) => void | Promise<void>;

/** What is found out about an interaction while it runs. */
export type AuditFacts = {
  -readonly [Name in 'targets' | 'parameters' | 'results' | 'storeCalls']?: AuditRecord[Name];
} & { -readonly [Name in keyof ObservedFacts]: ObservedFacts[Name] } & {
  /** It failed, and nobody knows whether it has written. */
  unknown?: boolean;
};

/**
 * Carries out an interaction and hands the hook its record; whatever the hook does, the interaction ends as it would without.
 *
 * @param facts filled in by the work while it runs, so that the record of a failure holds what was known by then
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

/** What names no type or cannot be an id was made up by a client, and could hold anything. */
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
    Promise.resolve(hook(record)).catch(warn);
  } catch (error) {
    warn(error);
  }
}

function warn(error: unknown): void {
  process.emitWarning(error instanceof Error ? error : String(error), { code: 'FHIRGRAPH_AUDIT' });
}
