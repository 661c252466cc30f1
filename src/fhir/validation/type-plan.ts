import type { ElementDefinition, TypeDefinition } from '../model/definition-types.js';
import { type FhirModel, perModel } from '../model/fhir-model.js';
import { type Invariant, invariantsOf } from './invariants.js';
import { bindingRule, codesOf, type PrimitiveCheck, primitiveCheck } from './primitives.js';
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
    codes: isPrimitive ? codesOf(element) : undefined,
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
