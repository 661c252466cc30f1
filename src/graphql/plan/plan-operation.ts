import { FhirError } from '../../fhir/error.js';
import type { ElementDefinition } from '../../fhir/definition-types.js';
import { typeDefinition, searchParameters } from '../../fhir/definitions.js';
import { print, type FieldNode, type OperationDefinitionNode, type SelectionSetNode } from '../graphql-js.js';
import { tooDeep, tooManyFields, type Limits } from '../limits.js';
import { SEARCH_CONTROLS } from '../schema/arguments.js';
import { argumentName, CANONICAL, fieldsOf, QUERY, type FieldDescriptor } from '../schema/fields.js';
import { argumentsOfNode, type Argument } from './arguments.js';
import { collectFields, isShaped, selectionSetsOf, typesNamedIn, type DocumentParts } from './collect-fields.js';
import type {
  ChoiceField,
  ConnectionEdgeField,
  ConnectionField,
  ConnectionShape,
  CursorPart,
  ElementFilter,
  IntrospectionField,
  Location,
  ObjectField,
  OperationPlan,
  PlannedField,
  PrimitiveField,
  ReferenceEdge,
  SearchEdge,
  Selection,
  Selections,
  Shaping,
} from './plan.js';

/**
 * Compiles a validated operation.
 *
 * @param root the type of the outermost selection: `Query`, `Mutation`, or the type of the instance the query is about
 * @throws LimitError `fields`, `depth` - fragments can make a small document stand for a huge one. Selections for types
 * that turn up only in the data are planned then, and throw then.
 */
export function planOperation(
  operation: OperationDefinitionNode,
  root: string,
  parts: DocumentParts,
  limits: Limits,
): OperationPlan {
  const variables = operation.variableDefinitions?.map(({ variable }) => variable.name.value) ?? [];
  const planner = new Planner(parts, limits, variables);
  const selection = planner.select(root, [operation.selectionSet], 1);
  return { root: selection, shaped: !parts.merge || planner.shaped, depth: planner.depth, size: planner.size };
}

/** What every planned field has. */
interface Base {
  readonly key: string;
  readonly location: Location | undefined;
  readonly shaping: Shaping | undefined;
}

type Nodes = readonly [FieldNode, ...FieldNode[]];

class Planner {
  /** What the reference or canonical being planned may lead to. */
  private targets: readonly string[] | undefined;
  shaped = false;
  depth = 0;
  size = 0;

  constructor(
    private readonly parts: DocumentParts,
    private readonly limits: Limits,
    private readonly variables: readonly string[],
  ) {}

  select(type: string, sets: readonly SelectionSetNode[], depth: number): Selection {
    if (depth > this.limits.depth) throw tooDeep(this.limits);
    this.depth = Math.max(this.depth, depth);
    const fields: PlannedField[] = [];
    for (const [key, nodes] of this.collect(type, sets)) fields.push(this.planField(type, key, nodes, depth));
    return { type, fields };
  }

  private collect(type: string, sets: readonly SelectionSetNode[]): ReadonlyMap<string, Nodes> {
    return collectFields(type, sets, this.parts, () => {
      this.size += 1;
      if (this.size > this.limits.fields) throw tooManyFields(this.limits);
    });
  }

  private planField(type: string, key: string, nodes: Nodes, depth: number): PlannedField {
    const node = nodes[0];
    const shaping = shapingOf(node);
    this.shaped ||= shaping !== undefined || key.includes('#');
    const base: Base = { key, location: locationOf(node), shaping };
    if (node.name.value === '__typename') return { kind: 'typename', ...base, value: type };
    const field = fieldsOf(type)?.get(node.name.value);
    if (field === undefined) {
      const name = node.name.value;
      return name === '__schema' || name === '__type'
        ? this.planIntrospection(type, name, base, nodes)
        : { kind: 'absent', ...base };
    }
    const sets = selectionSetsOf(nodes);
    const args = argumentsOfNode(node);
    switch (field.kind) {
      case 'resource-type':
        return { kind: 'resource-type', ...base };
      case 'element':
        return this.planElement(field, base, sets, args, depth);
      case 'choice':
        return this.planChoice(field, base, sets, depth);
      case 'sibling':
        return {
          kind: 'object',
          ...base,
          name: field.name,
          array: field.element.array,
          canonical: field.element.type === 'canonical',
          selection: this.selectSibling(field.element, sets, depth + 1),
          filter: undefined,
        };
      case 'read':
        return {
          kind: 'read',
          ...base,
          type: field.type,
          id: (args.get('id') ?? args.get('_id'))!,
          selection: this.select(field.type, sets, depth + 1),
        };
      case 'write': {
        const { interaction } = field;
        const selection = this.select(field.type, sets, depth + 1);
        return { kind: 'write', ...base, interaction, type: field.type, args, selection };
      }
      case 'list':
        return this.planSearch(field, base, args, {
          kind: 'list',
          selection: this.select(field.type, sets, depth + 1),
        });
      case 'connection':
        return this.planSearch(field, base, args, this.planConnection(field.type, sets, depth + 1));
      case 'resolve':
        return this.planReference(type === CANONICAL, base, sets, args, depth);
      case 'connection-part':
      case 'edge-part':
        throw new Error(`${field.kind} is planned with its connection`);
    }
  }

  private planIntrospection(
    type: string,
    name: IntrospectionField['name'],
    base: Base,
    nodes: Nodes,
  ): IntrospectionField {
    if (type !== QUERY) throw new FhirError('unsupported', 'Introspection is answered for the whole service only');
    const fragments = [...this.parts.fragments.values()].map(print);
    return { kind: 'introspection', ...base, name, nodes, parts: this.parts, fragments, variables: this.variables };
  }

  private planElement(
    field: FieldDescriptor & { kind: 'element' },
    base: Base,
    sets: readonly SelectionSetNode[],
    args: ReadonlyMap<string, Argument>,
    depth: number,
  ): PlannedField {
    const { element } = field;
    const definition = typeDefinition(element.type);
    const named = { ...base, name: element.name, array: element.array };
    if (definition === undefined || definition.kind === 'primitive') {
      return { kind: 'primitive', ...named, type: element.type };
    }
    const filter = elementFilter(field, args);
    if (definition.kind === 'resource') {
      return { kind: 'inline-resource', ...named, filter, selections: this.selectAnyType(sets, depth + 1) };
    }
    return {
      kind: 'object',
      ...named,
      canonical: false,
      filter,
      selection: this.selectElement(element, sets, depth + 1),
    };
  }

  /** Of the typed forms, those that fit: primitives to a field without selection, objects to one with. */
  private planChoice(
    field: FieldDescriptor & { kind: 'choice' },
    base: Base,
    sets: readonly SelectionSetNode[],
    depth: number,
  ): ChoiceField {
    const forms = field.elements.flatMap((element): (PrimitiveField | ObjectField)[] => {
      const named = { ...base, name: element.name, array: false };
      const primitive = typeDefinition(element.type)?.kind === 'primitive';
      if (primitive !== (sets.length === 0)) return [];
      if (primitive) return [{ kind: 'primitive', ...named, type: element.type }];
      return [
        {
          kind: 'object',
          ...named,
          canonical: false,
          filter: undefined,
          selection: this.selectElement(element, sets, depth + 1),
        },
      ];
    });
    return { kind: 'choice', ...base, forms };
  }

  private selectElement(element: ElementDefinition, sets: readonly SelectionSetNode[], depth: number): Selection {
    if (element.type !== 'Reference') return this.select(element.type, sets, depth);
    return this.leadingTo(element.targets, () => this.select(element.type, sets, depth));
  }

  private selectSibling(element: ElementDefinition, sets: readonly SelectionSetNode[], depth: number): Selection {
    if (element.type !== 'canonical') return this.select('Element', sets, depth);
    return this.leadingTo(element.targets, () => this.select(CANONICAL, sets, depth));
  }

  /** A `resource` inside leads to the types that the element around it allows. */
  private leadingTo(targets: readonly string[] | undefined, plan: () => Selection): Selection {
    const outer = this.targets;
    this.targets = targets;
    try {
      return plan();
    } finally {
      this.targets = outer;
    }
  }

  private planReference(
    canonical: boolean,
    base: Base,
    sets: readonly SelectionSetNode[],
    args: ReadonlyMap<string, Argument>,
    depth: number,
  ): ReferenceEdge {
    return {
      kind: 'reference',
      ...base,
      canonical,
      targets: this.targets,
      type: args.get('type'),
      optional: args.get('optional'),
      selections: this.selectAnyType(sets, depth + 1),
    };
  }

  private planSearch(
    field: FieldDescriptor & { kind: 'list' | 'connection' },
    base: Base,
    args: ReadonlyMap<string, Argument>,
    shape: SearchEdge['shape'],
  ): SearchEdge {
    const parameters: { code: string; values: Argument }[] = [];
    for (const [name, values] of args) {
      if (!SEARCH_CONTROLS.has(name)) parameters.push({ code: parameterCode(field.type, name), values });
    }
    return {
      kind: 'search',
      ...base,
      type: field.type,
      reverse: args.get('_reference'),
      parameters,
      filter: args.get('_filter'),
      sort: args.get('_sort'),
      count: args.get('_count'),
      offset: args.get('_offset'),
      fhirpath: args.get('fhirpath'),
      cursors: [args.get('cursor'), args.get('_cursor')].filter((argument) => argument !== undefined),
      shape,
    };
  }

  private planConnection(type: string, sets: readonly SelectionSetNode[], depth: number): ConnectionShape {
    const name = `${type}Connection`;
    const fields: ConnectionField[] = [];
    for (const [key, nodes] of this.collect(name, sets)) {
      const part = nodes[0].name.value;
      if (part === '__typename') fields.push({ key, part: 'typename', value: name });
      else if (part === 'edges') {
        fields.push({ key, part, fields: this.planEdges(type, selectionSetsOf(nodes), depth + 1) });
      } else {
        fields.push({ key, part: part === 'pageSize' ? 'pagesize' : (part as SimplePart) });
      }
    }
    const cursors = fields.some(({ part }) => CURSOR_PARTS.has(part));
    return {
      kind: 'connection',
      fields,
      total: fields.some(({ part }) => part === 'count'),
      matches: cursors || fields.some(({ part }) => part === 'edges'),
      cursors,
    };
  }

  private planEdges(type: string, sets: readonly SelectionSetNode[], depth: number): ConnectionEdgeField[] {
    const name = `${type}ConnectionEdge`;
    return [...this.collect(name, sets)].map(([key, nodes]): ConnectionEdgeField => {
      const part = nodes[0].name.value;
      if (part === '__typename') return { key, part: 'typename', value: name };
      if (part !== 'resource') return { key, part: part as 'mode' | 'score' };
      return { key, part, selection: this.select(type, selectionSetsOf(nodes), depth + 1) };
    });
  }

  /** Selections per type: those that fragments name at once, others when the first resource of the type turns up. */
  private selectAnyType(sets: readonly SelectionSetNode[], depth: number): Selections {
    const selections = new Map<string, Selection>();
    const forType = (type: string): Selection => {
      let selection = selections.get(type);
      if (selection === undefined) selections.set(type, (selection = this.select(type, sets, depth)));
      return selection;
    };
    const named = [...typesNamedIn(sets, this.parts)];
    named.forEach(forType);
    return { forType, named };
  }
}

type SimplePart = 'count' | 'offset' | 'pagesize' | CursorPart;

const CURSOR_PARTS: ReadonlySet<string> = new Set<CursorPart>(['first', 'previous', 'next', 'last']);

function elementFilter(
  field: FieldDescriptor & { kind: 'element' },
  args: ReadonlyMap<string, Argument>,
): ElementFilter | undefined {
  if (args.size === 0) return undefined;
  const equals = [...args].flatMap(([name, value]) =>
    name === 'fhirpath' || name === '_offset' || name === '_count' ? [] : [{ name, value }],
  );
  return {
    element: field.element,
    equals,
    fhirpath: args.get('fhirpath'),
    offset: args.get('_offset'),
    count: args.get('_count'),
  };
}

/** The search parameter that an argument spells: `address_city` is `address-city`. */
function parameterCode(type: string, name: string): string {
  const parameters = searchParameters(type);
  if (parameters.has(name)) return name;
  for (const code of parameters.keys()) if (argumentName(code) === name) return code;
  return name;
}

/** @returns what the directives of a field ask for; undefined for a field without. */
function shapingOf(node: FieldNode): Shaping | undefined {
  if (!isShaped(node)) return undefined;
  const has = (name: string) => node.directives!.some((directive) => directive.name.value === name);
  const slice = node.directives!.find(({ name }) => name.value === 'slice');
  const path = slice === undefined ? undefined : [...argumentsOfNode(slice).values()][0];
  return { flatten: has('flatten'), first: has('first'), singleton: has('singleton'), slice: path };
}

function locationOf(node: FieldNode): Location | undefined {
  const token = node.loc?.startToken;
  return token === undefined ? undefined : { line: token.line, column: token.column };
}
