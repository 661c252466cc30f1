import type { ElementDefinition } from '../../fhir/model/definition-types.js';
import { FhirError } from '../../fhir/error.js';
import type { FhirModel } from '../../fhir/model/fhir-model.js';
import type { SelectionSetNode, FieldNode } from '../graphql-js.js';
import type { CodeNames } from '../schema/code-names.js';
import { namesOfCodes } from '../schema/enums.js';
import { CANONICAL, fieldsOf, QUERY, type FieldDescriptor, RESOURCE, argumentName } from '../schema/fields.js';
import { argumentsOfNode, type Argument } from './arguments.js';
import { selectionSetsOf } from './collect-fields.js';
import {
  type ElementEquality,
  type ElementFilter,
  type AbsentField,
  type ChangeField,
  type ChangesField,
  type IntrospectionField,
  type PrimitiveField,
  locationOf,
  type ChoiceField,
  type ExtensionField,
  type ObjectField,
  type PlannedField,
  type Selection,
  type HostValuePlan,
  type SearchEdge,
  type ConnectionEdgeField,
  type ConnectionField,
  type ConnectionShape,
  type AnyTypeSelection,
} from './plan.js';
import { shapingOf } from './shaping.js';
import { hostOf } from '../schema/host/service-model.js';
import { isList, namedTypeOf } from '../schema/host/type-reference.js';
import { controlsIn, ITEM_CONTROLS, LIST_CONTROLS, SEARCH_CONTROLS } from '../schema/arguments.js';
import type { CursorPart } from '../../interactions/pages.js';

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
    case 'changes':
      return planChanges(field.type, base, sets, args, inner, planning);
    case 'change-part':
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
    if (Object.hasOwn(ITEM_CONTROLS, name)) return [];
    const field = fieldsOf(model, element.type)?.get(name);
    const compared =
      field?.kind === 'extension' ? field.shape.value : field?.kind === 'element' ? field.element : undefined;
    return [{ name, value, ...withCodes(compared, model) }];
  });
  return { element, equals, controls: controlsIn(ITEM_CONTROLS, args) };
}

/** Plans a field of the host: an edge of the plan, or a property of an object that a resolver returned. */
function planHostField(
  { field }: FieldDescriptor & { kind: 'host' },
  base: Base,
  sets: readonly SelectionSetNode[],
  args: ReadonlyMap<string, Argument>,
  inner: Scope,
  planning: Planning,
): PlannedField {
  const name = namedTypeOf(field.type);
  // Selected for another possible type: its field has sub-selections or none.
  if (isLeaf(name, planning) !== (sets.length === 0)) return { kind: 'absent', ...base };
  const value = planValue(name, base, sets, inner, planning);
  const planned = { ...base, field, array: isList(field.type), value };
  if (field.source === 'property') return { kind: 'host-property', ...planned };
  return { kind: field.source === 'writes' ? 'host-write' : 'host', ...planned, args: Object.fromEntries(args) };
}

function isLeaf(name: string, { model }: Planning): boolean {
  const added = hostOf(model)?.types.get(name);
  return added === undefined ? name !== RESOURCE && model.typeDefinition(name) === undefined : added.kind !== 'object';
}

function planValue(
  name: string,
  base: Base,
  sets: readonly SelectionSetNode[],
  inner: Scope,
  planning: Planning,
): HostValuePlan {
  const { model } = planning;
  const added = hostOf(model)?.types.get(name);
  if (added?.kind === 'enum') return { kind: 'leaf', type: name, codes: added.values.map((value) => value.name) };
  if (isLeaf(name, planning)) return { kind: 'leaf', type: name, codes: undefined };
  if (name === RESOURCE) {
    const edge = {
      kind: 'host-reference',
      ...base,
      shaping: undefined,
      type: undefined,
      selection: undefined,
    } as const;
    return { kind: 'resource', edge: { ...edge, selections: planning.selectAnyType(sets, inner) } };
  }
  const selection = planning.select(name, sets, { ...inner, targets: undefined });
  if (model.isResourceType(name)) {
    const edge = { kind: 'host-reference', ...base, shaping: undefined, type: name } as const;
    return { kind: 'resource', edge: { ...edge, selection, selections: undefined } };
  }
  return { kind: 'object', selection };
}

/** Plans the arguments of a list or connection. */
function planSearch(
  model: FhirModel,
  type: string,
  args: ReadonlyMap<string, Argument>,
): Omit<SearchEdge, 'key' | 'location' | 'shaping' | 'shape'> {
  const parameters = [...args].flatMap(([name, values]) =>
    SEARCH_CONTROLS.has(name) ? [] : [{ code: parameterCode(model, type, name), values }],
  );
  return {
    kind: 'search',
    type,
    reverse: args.get('_reference'),
    parameters,
    controls: controlsIn(LIST_CONTROLS, args),
    cursors: [args.get('cursor'), args.get('_cursor')].filter((argument) => argument !== undefined),
  };
}

/** Argument names use `_` for `-`: `address_city` is `address-city`. */
function parameterCode(model: FhirModel, type: string, name: string): string {
  const parameters = model.searchParameters(type);
  if (parameters.has(name)) return name;
  for (const code of parameters.keys()) if (argumentName(code) === name) return code;
  return name;
}

/** Plans the field of a subscription. The key of a selection is unique, as in a connection. */
function planChanges(
  type: string,
  base: Base,
  sets: readonly SelectionSetNode[],
  args: ReadonlyMap<string, Argument>,
  scope: Scope,
  planning: Planning,
): ChangesField {
  const name = `${type}Change`;
  const fields = Array.from(planning.collect(name, sets), ([key, nodes]): ChangeField => {
    const [node] = nodes;
    const part = node.name.value;
    const named = { key, location: locationOf(node) };
    if (part === '__typename') return { ...named, part: 'typename', value: name };
    if (part !== 'resource') return { ...named, part: part as 'event' | 'id' };
    return { ...named, part, selection: planning.select(type, selectionSetsOf(nodes), below(scope, key)) };
  });
  const selections = fields.flatMap((field) => (field.part === 'resource' ? field.selection.fields : []));
  const shape = { kind: 'list', selection: { type, fields: selections } } as const;
  return {
    kind: 'changes',
    ...base,
    type,
    search: { ...base, ...planSearch(planning.model, type, args), shape },
    fields,
  };
}

/** Plans the selection of an `XConnection`. See https://hl7.org/fhir/R4/graphql.html#paging. */
function planConnection(
  type: string,
  sets: readonly SelectionSetNode[],
  scope: Scope,
  planning: Planning,
): ConnectionShape {
  const name = `${type}Connection`;
  const fields = Array.from(planning.collect(name, sets), ([key, nodes]): ConnectionField => {
    const part = nodes[0].name.value;
    if (part === '__typename') return { key, part: 'typename', value: name };
    if (part === 'edges') {
      return { key, part, fields: planEdges(type, selectionSetsOf(nodes), below(scope, key), planning) };
    }
    return { key, part: part === 'pageSize' ? 'pagesize' : (part as SimplePart) };
  });
  const cursors = fields.some(({ part }) => CURSOR_PARTS.has(part));
  return {
    kind: 'connection',
    fields,
    total: fields.some(({ part }) => part === 'count'),
    matches: cursors || fields.some(({ part }) => part === 'edges'),
    cursors,
  };
}

type SimplePart = 'count' | 'offset' | 'pagesize' | CursorPart;

const CURSOR_PARTS: ReadonlySet<string> = new Set<CursorPart>(['first', 'previous', 'next', 'last']);

function planEdges(
  type: string,
  sets: readonly SelectionSetNode[],
  scope: Scope,
  planning: Planning,
): ConnectionEdgeField[] {
  const name = `${type}ConnectionEdge`;
  return Array.from(planning.collect(name, sets), ([key, nodes]): ConnectionEdgeField => {
    const part = nodes[0].name.value;
    if (part === '__typename') return { key, part: 'typename', value: name };
    if (part !== 'resource') return { key, part: part as 'mode' | 'score' };
    return { key, part, selection: planning.select(type, selectionSetsOf(nodes), below(scope, key)) };
  });
}

/** The field nodes that share a response key. */
export type FieldNodes = readonly [FieldNode, ...FieldNode[]];

/** The position of a selection in the operation. */
export interface Scope {
  readonly depth: number;
  /** Response keys from the root; see {@link AnyTypeSelection.path}. */
  readonly path: string;
  /** Resource types that the enclosing reference or canonical may point to; undefined: any. */
  readonly targets: readonly string[] | undefined;
}

/** The services that planning a field needs from the operation's planner. */
export interface Planning {
  readonly model: FhirModel;
  /** Names of the variables that the operation declares. */
  readonly variables: readonly string[];
  /** The fragments of the document as text. */
  printFragments(): readonly string[];
  /** The fields selected on a type, by response key. */
  collect(type: string, sets: readonly SelectionSetNode[]): ReadonlyMap<string, FieldNodes>;
  /** @throws LimitError `depth`, `fields` */
  select(type: string, sets: readonly SelectionSetNode[], scope: Scope): Selection;
  /** @throws LimitError `depth`, `fields` */
  selectAnyType(sets: readonly SelectionSetNode[], scope: Scope): AnyTypeSelection;
}

/** One level down, below a field with this key. */
function below(scope: Scope, key: string): Scope {
  return { ...scope, depth: scope.depth + 1, path: scope.path === '' ? key : `${scope.path}.${key}` };
}
