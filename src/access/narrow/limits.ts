import { FhirError } from '../../fhir/error.js';
import type { FhirModel } from '../../fhir/model/fhir-model.js';
import { assertExpanded } from '../../search/criteria/concept-tests.js';
import { ALL, and, NONE, type Criteria } from '../../search/criteria/criteria.js';
import { coveredByWildcard } from '../fields/administrative-types.js';
import { compartmentCriteria, policyCriteria } from '../policy/policy-criteria.js';
import { ALL_INTERACTIONS, type Interaction } from '../rule.js';
import { parseScope, type Scope } from './scope.js';

/** What a limit leaves of a caller's rules: these interactions, on resources that match. */
export interface Limit {
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
