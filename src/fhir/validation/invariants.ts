import { compareDates } from '../date.js';
import { isJsonObject, type JsonObject } from '../resource.js';

/**
 * An R4 constraint on which elements may or must occur together. Its key is that of the FHIRPath constraint in the R4
 * definitions; a test checks each one against that expression.
 */
export interface Invariant {
  readonly key: string;
  /** What is wrong if the constraint is violated. */
  readonly problem: string;
  holds(value: JsonObject): boolean;
}

/** Invariants of a resource type, data type or backbone element; most have none. */
export function invariantsOf(typeName: string): readonly Invariant[] | undefined {
  return INVARIANTS.get(typeName);
}

/** The element is present, if only by its extensions. A choice is named by its base. */
function has(value: JsonObject, name: string): boolean {
  if (value[name] !== undefined || value[`_${name}`] !== undefined) return true;
  if (!CHOICES.has(name)) return false;
  for (const key in value) if (value[key] !== undefined && isFormOf(key, name)) return true;
  return false;
}

/** Base names of the choices that the constraints refer to. */
const CHOICES: ReadonlySet<string> = new Set(['value', 'age', 'born', 'rate', 'timing', 'detail', 'probability']);

function isFormOf(key: string, name: string): boolean {
  const start = key.startsWith('_') ? 1 : 0;
  return key.startsWith(name, start) && /^[A-Z]/.test(key.slice(start + name.length));
}

/** The first element requires one of the others. */
function needs(key: string, name: string, ...others: readonly string[]): Invariant {
  return {
    key,
    problem: `${name} needs ${others.join(' or ')} beside it`,
    holds: (value) => !has(value, name) || others.some((other) => has(value, other)),
  };
}

function anyOf(key: string, ...names: readonly string[]): Invariant {
  return { key, problem: `needs ${names.join(' or ')}`, holds: (value) => names.some((name) => has(value, name)) };
}

function notBoth(key: string, one: string, other: string): Invariant {
  return {
    key,
    problem: `${one} and ${other} exclude each other`,
    holds: (value) => !has(value, one) || !has(value, other),
  };
}

function exactlyOne(key: string, one: string, other: string): Invariant {
  return {
    key,
    problem: `needs ${one} or ${other}, and not both`,
    holds: (value) => has(value, one) !== has(value, other),
  };
}

const quantityUnit = needs('qty-3', 'code', 'system');

const INVARIANTS: ReadonlyMap<string, readonly Invariant[]> = new Map<string, readonly Invariant[]>([
  ['Quantity', [quantityUnit]],
  ['Age', [quantityUnit]],
  ['Count', [quantityUnit]],
  ['Distance', [quantityUnit]],
  ['Duration', [quantityUnit]],
  ['Attachment', [needs('att-1', 'data', 'contentType')]],
  ['ContactPoint', [needs('cpt-2', 'value', 'system')]],
  ['Expression', [anyOf('exp-1', 'expression', 'reference')]],
  [
    'Period',
    [{ key: 'per-1', problem: 'start must not be after end', holds: ({ start, end }) => !isAfter(start, end) }],
  ],
  ['Range', [{ key: 'rng-2', problem: 'low must not be above high', holds: ({ low, high }) => !isAbove(low, high) }]],
  [
    'Ratio',
    [
      {
        key: 'rat-1',
        problem: 'needs numerator and denominator, or neither and an extension',
        holds: (value) =>
          has(value, 'numerator') === has(value, 'denominator') && (has(value, 'numerator') || has(value, 'extension')),
      },
    ],
  ],
  [
    'TimingRepeat',
    [
      needs('tim-1', 'duration', 'durationUnit'),
      needs('tim-2', 'period', 'periodUnit'),
      needs('tim-6', 'periodMax', 'period'),
      needs('tim-7', 'durationMax', 'duration'),
      needs('tim-8', 'countMax', 'count'),
      notBoth('tim-10', 'timeOfDay', 'when'),
    ],
  ],
  ['DataRequirementCodeFilter', [exactlyOne('drq-1', 'path', 'searchParam')]],
  ['DataRequirementDateFilter', [exactlyOne('drq-2', 'path', 'searchParam')]],
  ['TriggerDefinition', [notBoth('trd-1', 'data', 'timing'), needs('trd-2', 'condition', 'data')]],
  ['AppointmentParticipant', [anyOf('app-1', 'type', 'actor')]],
  ['AppointmentResponse', [anyOf('apr-1', 'participantType', 'actor')]],
  ['AuditEventEntity', [notBoth('sev-1', 'name', 'query')]],
  ['BundleEntry', [anyOf('bdl-5', 'resource', 'request', 'response')]],
  ['CapabilityStatement', [anyOf('cpb-1', 'rest', 'messaging', 'document')]],
  ['CarePlanActivity', [notBoth('cpl-3', 'detail', 'reference')]],
  ['CompositionSection', [anyOf('cmp-1', 'text', 'entry', 'section'), notBoth('cmp-2', 'emptyReason', 'entry')]],
  ['ConditionStage', [anyOf('con-1', 'summary', 'assessment')]],
  ['ConditionEvidence', [anyOf('con-2', 'code', 'detail')]],
  ['Consent', [anyOf('ppc-1', 'policy', 'policyRule')]],
  ['FamilyMemberHistory', [notBoth('fhs-1', 'age', 'born'), needs('fhs-2', 'estimatedAge', 'age')]],
  ['GoalTarget', [needs('gol-1', 'detail', 'measure')]],
  ['ImmunizationEducation', [anyOf('imm-1', 'documentType', 'reference')]],
  ['ImmunizationRecommendationRecommendation', [anyOf('imr-1', 'vaccineCode', 'targetDisease')]],
  ['InsurancePlan', [anyOf('ipn-1', 'identifier', 'name')]],
  ['List', [notBoth('lst-1', 'emptyReason', 'entry')]],
  ['MedicationAdministrationDosage', [anyOf('mad-1', 'dose', 'rate')]],
  ['Observation', [notBoth('obs-6', 'dataAbsentReason', 'value')]],
  ['ObservationReferenceRange', [anyOf('obs-3', 'low', 'high', 'text')]],
  ['OperationDefinitionParameter', [anyOf('opd-1', 'type', 'part')]],
  ['Organization', [anyOf('org-1', 'identifier', 'name')]],
  ['PatientContact', [anyOf('pat-1', 'name', 'telecom', 'address', 'organization')]],
  [
    'QuestionnaireItem',
    [notBoth('que-4', 'answerOption', 'answerValueSet'), notBoth('que-11', 'answerOption', 'initial')],
  ],
  ['QuestionnaireResponseItem', [notBoth('qrs-1', 'answer', 'item')]],
  ['RequestGroupAction', [exactlyOne('rqg-1', 'resource', 'action')]],
  ['SearchParameter', [needs('spd-1', 'xpath', 'xpathUsage')]],
  ['ServiceRequest', [needs('prr-1', 'orderDetail', 'code')]],
  ['ValueSetComposeInclude', [anyOf('vsd-1', 'valueSet', 'system'), notBoth('vsd-3', 'concept', 'filter')]],
  ['ValueSetExpansionContains', [anyOf('vsd-6', 'code', 'display'), needs('vsd-10', 'code', 'system')]],
]);

/** Certainly later, whatever the precision of either. */
function isAfter(start: unknown, end: unknown): boolean {
  return typeof start === 'string' && typeof end === 'string' && (compareDates(start, end) ?? 0) > 0;
}

/** For Quantities in the same unit. */
function isAbove(low: unknown, high: unknown): boolean {
  if (!isJsonObject(low) || !isJsonObject(high)) return false;
  if (typeof low['value'] !== 'number' || typeof high['value'] !== 'number') return false;
  return ['system', 'code', 'unit'].every((name) => low[name] === high[name]) && low['value'] > high['value'];
}
