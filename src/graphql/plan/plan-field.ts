import type { ElementDefinition } from '../../fhir/model/definition-types.js';
import { FhirError } from '../../fhir/error.js';
import type { FhirModel } from '../../fhir/model/fhir-model.js';
import type { SelectionSetNode } from '../graphql-js.js';
import type { CodeNames } from '../schema/code-names.js';
import { namesOfCodes } from '../schema/enums.js';
import { CANONICAL, fieldsOf, QUERY, type FieldDescriptor } from '../schema/fields.js';
import { argumentsOfNode, type Argument } from './arguments.js';
import { selectionSetsOf } from './collect-fields.js';
import { planConnection } from './plan-connection.js';
import { planHostField } from './plan-host-field.js';
import { planSearch } from './plan-search.js';
import { below, type FieldNodes, type Planning, type Scope } from './planning.js';
import {
  type ElementEquality,
  type ElementFilter,
  type AbsentField,
  type IntrospectionField,
  type PrimitiveField,
  locationOf,
  type ChoiceField,
  type ExtensionField,
  type ObjectField,
  type PlannedField,
  type Selection,
} from './plan.js';
import { shapingOf } from './shaping.js';

/** Plans the nodes that share a response key on objects of a type. */
export function planField(
  type: string,
  key: string,
  nodes: FieldNodes,
  scope: Scope,
  planning: Planning,
): PlannedField {
  const [node] = nodes;
  const name = node.name.value;
  const base = { key, location: locationOf(node), shaping: shapingOf(node) };
  if (name === '__typename') return { kind: 'typename', ...base, value: type };
  const field = fieldsOf(planning.model, type)?.get(name);
  if (field === undefined) {
    if (name !== '__schema' && name !== '__type') return { kind: 'absent', ...base };
    if (type !== QUERY) throw new FhirError('unsupported', 'Introspection is answered for the whole service only');
    return planIntrospection(name, base, nodes, planning);
  }
  const sets = selectionSetsOf(nodes);
  const args = argumentsOfNode(node);
  const inner = below(scope, key);
  switch (field.kind) {
    case 'resource-type':
      return { kind: 'resource-type', ...base };
    case 'cache-key':
      return { kind: 'cache-key', ...base };
    case 'element':
      return planElement(field, base, sets, args, inner, planning);
    case 'extension':
      return planExtension(field, base, sets, args, inner, planning);
    case 'choice':
      return planChoice(field, base, sets, inner, planning);
    case 'sibling':
      return planSibling(field.name, field.element, base, sets, inner, planning);
    case 'read': {
      const id = (args.get('id') ?? args.get('_id'))!;
      return { kind: 'read', ...base, type: field.type, id, selection: planning.select(field.type, sets, inner) };
    }
    case 'write': {
      const { interaction } = field;
      const selection = planning.select(field.type, sets, inner);
      return { kind: 'write', ...base, interaction, type: field.type, args: Object.fromEntries(args), selection };
    }
    case 'list':
      return {
        ...base,
        ...planSearch(planning.model, field.type, args),
        shape: { kind: 'list', selection: planning.select(field.type, sets, inner) },
      };
    case 'connection':
      return {
        ...base,
        ...planSearch(planning.model, field.type, args),
        shape: planConnection(field.type, sets, inner, planning),
      };
    case 'resolve':
      return {
        kind: 'reference',
        ...base,
        canonical: type === CANONICAL,
        targets: scope.targets,
        type: args.get('type'),
        optional: args.get('optional'),
        selections: planning.selectAnyType(sets, inner),
      };
    case 'host':
      return planHostField(field, base, sets, args, inner, planning);
    case 'connection-part':
    case 'edge-part':
      throw new Error(`${field.kind} is planned with its connection`);
  }
}

type Base = Pick<PlannedField, 'key' | 'location' | 'shaping'>;

function planIntrospection(
  name: IntrospectionField['name'],
  base: Base,
  nodes: FieldNodes,
  planning: Planning,
): IntrospectionField {
  return {
    kind: 'introspection',
    ...base,
    name,
    nodes,
    fragments: planning.printFragments(),
    variables: planning.variables,
  };
}

function planElement(
  field: FieldDescriptor & { kind: 'element' },
  base: Base,
  sets: readonly SelectionSetNode[],
  args: ReadonlyMap<string, Argument>,
  inner: Scope,
  planning: Planning,
): PlannedField {
  const { element } = field;
  const definition = planning.model.typeDefinition(element.type);
  const named = { ...base, name: element.name, array: element.array };
  const primitive = definition === undefined || definition.kind === 'primitive';
  // Selected for another possible type: its element has sub-selections.
  if (primitive !== (sets.length === 0)) return { kind: 'absent', ...base };
  if (primitive) return planPrimitive(element, named, planning);
  const filter = elementFilter(element, args, planning);
  if (definition.kind === 'resource') {
    return { kind: 'inline-resource', ...named, filter, selections: planning.selectAnyType(sets, inner) };
  }
  return {
    kind: 'object',
    ...named,
    canonical: false,
    filter,
    selection: selectElement(element, sets, inner, planning),
  };
}

function planPrimitive(
  element: ElementDefinition,
  named: Base & Pick<PrimitiveField, 'name' | 'array'>,
  { model }: Planning,
): PrimitiveField {
  return { kind: 'primitive', ...named, type: element.type, ...withCodes(element, model) };
}

function withCodes(element: ElementDefinition | undefined, model: FhirModel): { readonly codes?: CodeNames } {
  const codes = element === undefined ? undefined : namesOfCodes(model, element);
  return codes === undefined ? {} : { codes };
}

function planExtension(
  { shape }: FieldDescriptor & { kind: 'extension' },
  base: Base,
  sets: readonly SelectionSetNode[],
  args: ReadonlyMap<string, Argument>,
  inner: Scope,
  planning: Planning,
): ExtensionField | AbsentField {
  const { url, array, type, value } = shape;
  const named = { ...base, name: 'value', array };
  const primitive = planning.model.typeDefinition(type)?.kind === 'primitive';
  if (primitive !== (sets.length === 0)) return { kind: 'absent', ...base };
  const element: ElementDefinition = {
    ...(value ?? { required: false, short: shape.short }),
    name: 'value',
    type,
    array,
  };
  const field = primitive
    ? planPrimitive(element, named, planning)
    : ({
        kind: 'object',
        ...named,
        canonical: false,
        filter: elementFilter(element, args, planning),
        selection: selectElement(element, sets, inner, planning),
      } as const);
  return { kind: 'extension', ...base, url, array, value: value?.name, field };
}

/** The `id` and `extension` of a primitive; for a canonical also the text that `resource` follows. */
function planSibling(
  name: string,
  element: ElementDefinition,
  base: Base,
  sets: readonly SelectionSetNode[],
  inner: Scope,
  planning: Planning,
): ObjectField | AbsentField {
  if (sets.length === 0) return { kind: 'absent', ...base };
  const canonical = element.type === 'canonical';
  const selection = canonical
    ? planning.select(CANONICAL, sets, { ...inner, targets: element.targets })
    : planning.select('Element', sets, inner);
  return { kind: 'object', ...base, name, array: element.array, canonical, selection, filter: undefined };
}

/** The typed forms that fit: primitives for a field without selection, objects for one with. */
function planChoice(
  field: FieldDescriptor & { kind: 'choice' },
  base: Base,
  sets: readonly SelectionSetNode[],
  inner: Scope,
  planning: Planning,
): ChoiceField {
  const forms = field.elements.flatMap((element): (PrimitiveField | ObjectField)[] => {
    const named = { ...base, name: element.name, array: false };
    const primitive = planning.model.typeDefinition(element.type)?.kind === 'primitive';
    if (primitive !== (sets.length === 0)) return [];
    if (primitive) return [planPrimitive(element, named, planning)];
    const selection = selectElement(element, sets, inner, planning);
    return [{ kind: 'object', ...named, canonical: false, filter: undefined, selection }];
  });
  return { kind: 'choice', ...base, forms };
}

/** The targets of `resource` inside a Reference come from the enclosing element. */
function selectElement(
  { type, targets }: ElementDefinition,
  sets: readonly SelectionSetNode[],
  inner: Scope,
  planning: Planning,
): Selection {
  return planning.select(type, sets, type === 'Reference' ? { ...inner, targets } : inner);
}

function elementFilter(
  element: ElementDefinition,
  args: ReadonlyMap<string, Argument>,
  { model }: Planning,
): ElementFilter | undefined {
  if (args.size === 0) return undefined;
  const equals = [...args].flatMap(([name, value]): ElementEquality[] => {
    if (CUTS.has(name)) return [];
    const field = fieldsOf(model, element.type)?.get(name);
    const compared =
      field?.kind === 'extension' ? field.shape.value : field?.kind === 'element' ? field.element : undefined;
    return [{ name, value, ...withCodes(compared, model) }];
  });
  return { element, equals, fhirpath: args.get('fhirpath'), offset: args.get('_offset'), count: args.get('_count') };
}

const CUTS: ReadonlySet<string> = new Set(['fhirpath', '_offset', '_count']);
