import { FhirError } from '../../fhir/error.js';
import type { FhirModel } from '../../fhir/model/fhir-model.js';
import { ALL, and, assertExpanded, type Criteria, NONE, simplifyCriteria } from '../../search/criteria/criteria.js';
import { assertAffordable } from '../../search/parse/parse-context.js';
import { coveredByWildcard } from '../fields/administrative-types.js';
import { compartmentCriteria, policyCriteria } from '../policy/policy-criteria.js';
import { ALL_INTERACTIONS, type Interaction, rulesByType, type AccessRule, type AccessRules } from '../rule.js';

/** What a limit leaves of a caller's rules: these interactions, on resources that match. */
interface Limit {
  /** For explanations: `user/Observation.rs`. */
  readonly text: string;
  readonly interactions: ReadonlySet<Interaction>;
  readonly criteria: Criteria;
}

/** How a caller is narrowed. */
export interface Limits {
  /** For explanations: `the scopes`. */
  readonly text: string;
  /** Several limits add up; an empty list allows nothing of the type. */
  limitsFor(type: string): readonly Limit[];
}

/** @param patient the id of the Patient; only its compartment stays visible */
export function patientLimits(model: FhirModel, patient: string): Limits {
  const text = `the compartment of Patient/${patient}`;
  return {
    text,
    limitsFor(type) {
      const criteria = inCompartment(model, type, patient);
      return criteria.kind === 'none' ? [] : [{ text, interactions: new Set(ALL_INTERACTIONS), criteria }];
    },
  };
}

/**
 * What a clearance leaves. Administrative types have no clinical content, so that labels do not lock administrators out.
 *
 * @param criteria see `clearanceCriteria`
 */
export function clearanceLimits(text: string, criteria: Criteria): Limits {
  const interactions = new Set(ALL_INTERACTIONS);
  return {
    text,
    limitsFor(type) {
      const within = coveredByWildcard(type) ? criteria : ALL;
      return within.kind === 'none' ? [] : [{ text, interactions, criteria: within }];
    },
  };
}

/** Maximum number of scopes; app launches need fewer. */
const MAX_SCOPES = 500;

/**
 * Returns the limits that clinical scopes set. Unknown scopes, and scopes about other things, allow nothing.
 *
 * `*` means the same types as in an access policy. Scopes name administrative types explicitly.
 *
 * @param scopes separated by spaces
 * @param patient the id of the Patient in context
 * @throws FhirError `invalid` - scopes for a patient without a patient in context
 * @throws FhirError `too-costly` - more than 500 scopes
 */
export function scopeLimits(model: FhirModel, scopes: string, patient: string | undefined): Limits {
  const texts = new Set(scopes.split(/\s/u).filter((one) => one !== ''));
  if (texts.size > MAX_SCOPES) {
    throw new FhirError('too-costly', `A caller is narrowed by ${MAX_SCOPES} scopes at most, not ${texts.size}`);
  }
  const parsed = [...texts].flatMap((text) => parseScope(text) ?? []);
  if (patient === undefined && parsed.some(({ context }) => context === 'patient')) {
    throw new FhirError('invalid', 'Scopes that begin with patient/ need the patient of the launch');
  }
  return {
    text: 'the scopes',
    limitsFor: (type) =>
      parsed.flatMap((scope) => {
        if (scope.type !== type && !(scope.type === '*' && coveredByWildcard(type))) return [];
        const criteria = criteriaOf(model, type, scope, patient);
        return criteria.kind === 'none' ? [] : [{ text: scope.text, interactions: scope.interactions, criteria }];
      }),
  };
}

function criteriaOf(model: FhirModel, type: string, { context, query }: Scope, patient: string | undefined): Criteria {
  try {
    const asked = policyCriteria(model, type, `${type}?${query}`, new Map());
    // Scopes cannot use a terminology.
    assertExpanded(asked);
    return context === 'patient' ? and([inCompartment(model, type, patient!), asked]) : asked;
  } catch (error) {
    // The type has no such search parameter, or the query cannot be understood.
    if (error instanceof FhirError && error.code !== 'internal') return NONE;
    throw error;
  }
}

/** Types that belong to no patient are in no compartment. */
function inCompartment(model: FhirModel, type: string, patient: string): Criteria {
  return coveredByWildcard(type) ? compartmentCriteria(model, type, { type: 'Patient', id: patient }) : NONE;
}

/**
 * The rules of a caller within limits: each grants less than before, and none is added.
 *
 * A rule that no longer allows anything stays, without interactions: fields that any rule of a type hides stay guarded
 * from writers, also from a narrowed one.
 *
 * @throws FhirError `too-costly` - from `rulesFor`: rule and limit together
 */
export function narrowRules(rules: AccessRules, limits: Limits): AccessRules {
  return rulesByType(rules.model, (type) => {
    const left = limits.limitsFor(type);
    return rules.rulesFor(type).flatMap((rule) => {
      const within = left.flatMap((limit) => withinLimit(rule, limit) ?? []);
      return within.length > 0
        ? within
        : [{ ...rule, interactions: NOTHING, narrowed: narrowedFrom(rule, limits.text) }];
    });
  });
}

const NOTHING: ReadonlySet<Interaction> = new Set();

/** @returns undefined if nothing is left of the rule */
function withinLimit(rule: AccessRule, limit: Limit): AccessRule | undefined {
  const interactions = new Set([...rule.interactions].filter((one) => limit.interactions.has(one)));
  if (interactions.size === 0) return undefined;
  const narrowed = narrowedFrom(rule, limit.text);
  const origin = { ...rule.origin, text: `${rule.origin.text}, within ${limit.text}` };
  if (limit.criteria.kind === 'all') return { ...rule, origin, interactions, narrowed };
  const { criteria: own, conditions = [{ text: rule.origin.text, criteria: own, missing: [] }] } = rule;
  const criteria = simplifyCriteria(and([own, limit.criteria]));
  assertAffordable({ criteria });
  return {
    ...rule,
    origin,
    interactions,
    criteria,
    conditions: [...conditions, { text: limit.text, criteria: limit.criteria, missing: [] }],
    narrowed,
  };
}

function narrowedFrom({ interactions, narrowed }: AccessRule, text: string): AccessRule['narrowed'] {
  return { text, from: narrowed?.from ?? interactions };
}

/** A clinical scope of SMART App Launch, version 1 or 2. See https://hl7.org/fhir/smart-app-launch/scopes-and-launch-context.html. */
interface Scope {
  /** The scope as the token has it. */
  readonly text: string;
  readonly context: 'patient' | 'user' | 'system';
  /** A resource type, or `*`. */
  readonly type: string;
  readonly interactions: ReadonlySet<Interaction>;
  /** The text after the question mark; empty without one. */
  readonly query: string;
}

const SCOPE = /^(patient|user|system)\/(\*|[A-Z][A-Za-z]*)\.(read|write|\*|(?=[cruds])c?r?u?d?s?)(?:\?(.+))?$/;

const READS: readonly Interaction[] = ['read', 'vread', 'history'];

/** Version 2 grants histories of instances with `r`. */
const OF_LETTERS: { readonly [letter: string]: readonly Interaction[] } = {
  c: ['create'],
  r: READS,
  u: ['update'],
  d: ['delete'],
  s: ['search'],
};

const OF_WORDS: { readonly [word: string]: string } = { read: 'rs', write: 'cud', '*': 'cruds' };

/**
 * @returns undefined for other scopes, such as `openid` and `launch/patient`, and for scopes that no version of SMART
 * defines
 */
export function parseScope(text: string): Scope | undefined {
  const found = SCOPE.exec(text);
  if (found === null) return undefined;
  const [, context, type, granted, query = ''] = found;
  // Version 1 has no constraints.
  const word = OF_WORDS[granted!];
  if (word !== undefined && query !== '') return undefined;
  const interactions = new Set([...(word ?? granted!)].flatMap((letter) => OF_LETTERS[letter]!));
  return { text, context: context as Scope['context'], type: type!, interactions, query };
}
