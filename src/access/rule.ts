import type { FhirModel } from '../fhir/model/fhir-model.js';
import { ALL, type Criteria } from '../search/criteria/criteria.js';

/** What can be done to a resource. See https://hl7.org/fhir/R4/http.html. */
export type Interaction = 'read' | 'vread' | 'search' | 'history' | 'create' | 'update' | 'delete';

export const ALL_INTERACTIONS: readonly Interaction[] = [
  'read',
  'vread',
  'search',
  'history',
  'create',
  'update',
  'delete',
];
export const READ_INTERACTIONS: readonly Interaction[] = ['read', 'vread', 'search', 'history'];

/** Where a rule comes from, for explanations. */
interface RuleOrigin {
  /** `AccessPolicy/1`; undefined for built-in rules. */
  readonly policy: string | undefined;
  /** The rule in one line, such as `AccessPolicy/1, rule 2: Observation?status=final`. */
  readonly text: string;
}

/** One condition of a rule. */
export interface RuleCondition {
  /** As written in the policy: `organization=%ward`, `compartment %patient`. */
  readonly text: string;
  readonly criteria: Criteria;
  /** Its parameters without a value. */
  readonly missing: readonly string[];
}

/**
 * One grant: resources of one type that match `criteria` may be used with these interactions, except for some fields.
 *
 * Rules add up: a resource may be used in a way if any rule says so, a field is seen if any rule that grants the
 * resource shows it.
 */
export interface AccessRule {
  readonly origin: RuleOrigin;
  readonly interactions: ReadonlySet<Interaction>;
  readonly criteria: Criteria;
  /** The parts of `criteria`, all of which must hold, as the policy writes them: for explanations. */
  readonly conditions?: readonly RuleCondition[] | undefined;
  /** Element paths in JSON names hidden from the caller: `birthDate`, `name.given`, `valueQuantity`. */
  readonly hidden: readonly string[];
  /** Element paths that writes cannot change. */
  readonly readonlyFields: readonly string[];
  /** FHIRPath expressions over `%before` and `%after`, all of which must be true for a write. */
  readonly writeConstraints: readonly string[];
  /**
   * Set if the caller was narrowed: the narrowing, and the rule's interactions before it. For explanations, and for
   * hiding fields of contained resources.
   */
  readonly narrowed?: { readonly text: string; readonly from: ReadonlySet<Interaction> } | undefined;
}

/** The rules of one caller, by type. */
export interface AccessRules {
  /** The definitions that the rules were made with. */
  readonly model: FhirModel;
  /** Every rule for resources of the type; empty if nothing is allowed. */
  rulesFor(type: string): readonly AccessRule[];
}

/** A rule that grants all resources of a type in every way. */
export function unrestrictedRule(text: string, hidden: readonly string[] = []): AccessRule {
  return {
    origin: { policy: undefined, text },
    interactions: new Set(ALL_INTERACTIONS),
    criteria: ALL,
    hidden,
    readonlyFields: [],
    writeConstraints: [],
  };
}

/**
 * Creates the rules of each type at first use, and caches them. Names that are not resource types have no rules.
 *
 * @param cache may have the rules of some types already
 */
export function rulesByType(
  model: FhirModel,
  make: (type: string) => readonly AccessRule[],
  cache = new Map<string, readonly AccessRule[]>(),
): AccessRules {
  return {
    model,
    rulesFor(type) {
      // Only known types are cached, so the cache is bounded for any names.
      if (!model.isResourceType(type)) return [];
      let rules = cache.get(type);
      if (rules === undefined) cache.set(type, (rules = make(type)));
      return rules;
    },
  };
}
