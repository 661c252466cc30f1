import { compareDates } from '../date.js';
import type { ElementDefinition, TypeDefinition } from '../model/definition-types.js';
import { type FhirModel, perModel } from '../model/fhir-model.js';
import { isJsonObject, type JsonObject } from '../resource.js';
import { bindingRule, bindingCodes, type PrimitiveCheck, primitiveCheck } from './primitives.js';
import { canonicalRule, referenceRule } from './references.js';
import type { ElementRule, ObjectRule } from './walk.js';

/** A type's definition, prepared for fast checks. */
export interface TypePlan {
  readonly name: string;
  readonly isResource: boolean;
  /** By JSON name. */
  readonly elements: ReadonlyMap<string, ElementPlan>;
  /** By the name of the sibling (`_birthDate`) of each primitive element that can have one. */
  readonly siblings: ReadonlyMap<string, ElementPlan>;
  /** The required and exclusive elements: one group per required element, one per choice. */
  readonly groups: readonly PresenceGroup[];
  /** The bits of all groups that need a member. */
  readonly required: number;
  /** What must hold of the elements beside one another. */
  readonly invariants: readonly Invariant[] | undefined;
}

/** Elements of which at most one may be present, and exactly one must be if `required`. */
interface PresenceGroup {
  /** `status`, `value`. */
  readonly name: string;
  /** `status`, `value[x]`. */
  readonly title: string;
  readonly bit: number;
  readonly required: boolean;
  readonly members: readonly string[];
}

export interface ElementPlan {
  /** JSON name. */
  readonly name: string;
  /** The name in FHIRPath: `value.ofType(Quantity)` for `valueQuantity`. */
  readonly step: string;
  readonly type: string;
  readonly array: boolean;
  /** The bit of its {@link PresenceGroup}; 0 for optional elements other than choices. */
  readonly bit: number;
  /** Primitive elements only. */
  readonly check: PrimitiveCheck | undefined;
  /** Codes of a required binding on a primitive element. */
  readonly codes: ReadonlySet<string> | undefined;
  /** Constraints beyond the elements of the type; called only with values of the right JSON type. */
  readonly rule: ElementRule | undefined;
}

const PLANS = perModel(() => new Map<string, TypePlan>());

/** @param name of a type in the definitions */
export function typePlan(model: FhirModel, name: string): TypePlan {
  const plans = PLANS(model);
  let plan = plans.get(name);
  if (plan === undefined) {
    plan = compileType(model, model.typeDefinition(name)!);
    plans.set(name, plan);
  }
  return plan;
}

function compileType(model: FhirModel, definition: TypeDefinition): TypePlan {
  const groups = presenceGroups(definition);
  const bits = new Map(groups.flatMap((group) => group.members.map((member) => [member, group.bit])));
  const elements = [...definition.elements.values()].map((element) =>
    compileElement(model, element, bits.get(element.name)),
  );
  return {
    name: definition.name,
    isResource: definition.kind === 'resource',
    elements: new Map(elements.map((element) => [element.name, element])),
    siblings: new Map(
      elements.filter((element) => canHaveSibling(element, definition)).map((element) => [`_${element.name}`, element]),
    ),
    groups,
    invariants: invariantsOf(definition.name),
    required: groups.reduce((mask, group) => (group.required ? mask | group.bit : mask), 0),
  };
}

function presenceGroups(definition: TypeDefinition): PresenceGroup[] {
  const groups = Map.groupBy(definition.elements.values(), (element) => element.choiceOf ?? element.name);
  return [...groups]
    .filter(([, [first]]) => first!.required || first!.choiceOf !== undefined)
    .map(([name, members], index) => ({
      name,
      title: members[0]!.choiceOf === undefined ? name : `${name}[x]`,
      // No type has more than the 31 groups that fit; a test asserts it.
      bit: 1 << index,
      required: members[0]!.required,
      members: members.map((member) => member.name),
    }));
}

function compileElement(model: FhirModel, element: ElementDefinition, bit = 0): ElementPlan {
  const { name, type, array, choiceOf } = element;
  const isPrimitive = model.typeDefinition(type)!.kind === 'primitive';
  return {
    name,
    step: choiceOf === undefined ? name : `${choiceOf}.ofType(${type})`,
    type,
    array,
    bit,
    check: isPrimitive ? primitiveCheck(type) : undefined,
    codes: isPrimitive ? bindingCodes(element) : undefined,
    rule: ruleOf(element),
  };
}

function ruleOf(element: ElementDefinition): ElementRule | undefined {
  switch (element.type) {
    case 'Reference':
      return referenceRule(element);
    case 'canonical':
    case 'uri':
    case 'url':
      return canonicalRule(element.type);
    case 'Extension':
      return extensionRule;
    case 'Coding':
    case 'CodeableConcept':
      return bindingRule(element);
    default:
      return undefined;
  }
}

/**
 * Elements that XML writes as attributes (`Element.id`, `Extension.url`) or as XHTML cannot have extensions. See
 * https://hl7.org/fhir/R4/json.html#primitive.
 */
function canHaveSibling(element: ElementPlan, owner: TypeDefinition): boolean {
  if (element.check === undefined || element.type === 'xhtml') return false;
  return (
    !(element.name === 'id' && owner.kind !== 'resource') && !(element.name === 'url' && owner.name === 'Extension')
  );
}

/** ext-1: an extension has either a value or extensions of its own. See https://hl7.org/fhir/R4/extensibility.html. */
const extensionRule: ObjectRule = (extension, walk) => {
  const hasValue = Object.keys(extension).some((name) => /^_?value./.test(name) && extension[name] !== undefined);
  if (hasValue !== (extension.extension !== undefined)) return;
  walk.findings.error('invariant', 'an extension must have either a value[x] or extensions, and not both (ext-1)');
};

/**
 * An R4 constraint on which elements may or must occur together. Its key is that of the FHIRPath constraint in the R4
 * definitions; a test checks each one against that expression.
 */
interface Invariant {
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
