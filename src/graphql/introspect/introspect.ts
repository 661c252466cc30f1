import { LRUCache } from 'lru-cache';
import { FhirError } from '../../fhir/error.js';
import {
  type FieldNode,
  getNullableType,
  type GraphQLObjectType,
  type GraphQLOutputType,
  type GraphQLSchema,
  isListType,
  isObjectType,
  print,
  SchemaMetaFieldDef,
  TypeMetaFieldDef,
} from '../graphql-js.js';
import { evaluate, argumentsOfNode, type Variables } from '../plan/arguments.js';
import { collectFields, selectionSetsOf, type DocumentParts } from '../plan/collect-fields.js';
import type { IntrospectionField } from '../plan/plan.js';
import { schemaForTools, type SchemaOptions } from '../schema/print-fhir-schema.js';

/** Whether, and of which types, a host tells its schema. */
export type IntrospectionOption = boolean | SchemaOptions;

/** Most objects of the answers to one request: the introspection that tools send has some 500,000 for all types. */
const MOST_OBJECTS = 1_000_000;

/** Answers by schema and query. Tools send the same one again and again; it takes some 100 MB, so it does not stay long. */
const ANSWERS = new LRUCache<string, Answer>({
  max: 20,
  maxSize: 2 * MOST_OBJECTS,
  sizeCalculation: ({ size }) => size + 1,
  ttl: 10 * 60 * 1000,
});

interface Answer {
  readonly value: unknown;
  /** The objects in it, counted as often as they appear. */
  readonly size: number;
}

/**
 * Answers `__schema` and `__type`. See https://spec.graphql.org/October2021/#sec-Introspection.
 *
 * graphql-js knows what each field means. We walk them ourselves since types lead to fields and fields to types without an
 * end: what is selected of one thing in one place is made once, and counted before anybody writes it out.
 *
 * @returns the answers in order, deeply frozen and shared between requests
 * @throws FhirError `forbidden` - the host has switched it off
 * @throws FhirError `too-costly` - the answers would hold more than a million objects
 */
export function introspect(
  fields: readonly IntrospectionField[],
  variables: Variables,
  option: IntrospectionOption = true,
): readonly unknown[] {
  if (option === false) throw new FhirError('forbidden', 'Introspection is switched off here');
  let objects = 0;
  return fields.map((field) => {
    const { value, size } = answer(field, variables, option === true ? {} : option);
    objects += size;
    if (objects > MOST_OBJECTS) {
      throw new FhirError('too-costly', `Introspection gives at most ${MOST_OBJECTS} objects at once; ask for less`, {
        details: { limit: 'introspection', max: MOST_OBJECTS },
      });
    }
    return value;
  });
}

function answer(field: IntrospectionField, variables: Variables, options: SchemaOptions): Answer {
  const values = Object.fromEntries(field.variables.map((name) => [name, variables[name]]));
  const key = JSON.stringify([options.types ?? null, field.nodes.map(print), field.fragments, values]);
  const known = ANSWERS.get(key);
  if (known !== undefined) return known;
  const made = new Walk(schemaForTools(options), field.parts, variables).root(field);
  if (made.size <= MOST_OBJECTS) ANSWERS.set(key, made);
  return made;
}

type Nodes = readonly [FieldNode, ...FieldNode[]];

class Walk {
  readonly #parts: DocumentParts;
  /** What is selected of objects of one type in one place, by the nodes that lead there. */
  readonly #selections = new Map<Nodes, Map<string, ReadonlyMap<string, Nodes>>>();
  /** What a place gives of one source. */
  readonly #objects = new Map<Nodes, Map<unknown, Answer>>();

  constructor(
    private readonly schema: GraphQLSchema,
    parts: DocumentParts,
    private readonly variables: Variables,
  ) {
    this.#parts = { ...parts, merge: true };
  }

  root({ name, nodes }: IntrospectionField): Answer {
    const { type, resolve } = name === '__schema' ? SchemaMetaFieldDef : TypeMetaFieldDef;
    return this.#complete(this.#resolve(resolve, undefined, nodes[0]), type, nodes);
  }

  #complete(value: unknown, type: GraphQLOutputType, nodes: Nodes): Answer {
    if (value === undefined || value === null) return { value: null, size: 0 };
    const nullable = getNullableType(type) as GraphQLOutputType;
    if (isObjectType(nullable)) return this.#object(value, nullable, nodes);
    if (!isListType(nullable)) return { value, size: 0 };
    const items = (value as readonly unknown[]).map((item) => this.#complete(item, nullable.ofType, nodes));
    return {
      value: Object.freeze(items.map((item) => item.value)),
      size: items.reduce((sum, { size }) => sum + size, 0),
    };
  }

  #object(source: unknown, type: GraphQLObjectType, nodes: Nodes): Answer {
    const known = within(this.#objects, nodes).get(source);
    if (known !== undefined) return known;
    const fields = type.getFields();
    const out: { [key: string]: unknown } = {};
    let size = 1;
    for (const [key, selected] of this.#select(type.name, nodes)) {
      const [node] = selected;
      const field = fields[node.name.value];
      if (field === undefined) out[key] = type.name;
      else {
        const inner = this.#complete(this.#resolve(field.resolve, source, node), field.type, selected);
        out[key] = inner.value;
        size += inner.size;
      }
    }
    const made = { value: Object.freeze(out), size };
    within(this.#objects, nodes).set(source, made);
    return made;
  }

  #select(type: string, nodes: Nodes): ReadonlyMap<string, Nodes> {
    const byType = within(this.#selections, nodes);
    let selected = byType.get(type);
    if (selected === undefined) {
      selected = collectFields(type, selectionSetsOf(nodes), this.#parts, () => undefined);
      byType.set(type, selected);
    }
    return selected;
  }

  /** What the resolvers of introspection look at: the source, arguments, and the schema. */
  #resolve(resolve: unknown, source: unknown, node: FieldNode): unknown {
    const args: { [name: string]: unknown } = {};
    for (const [name, value] of argumentsOfNode(node)) args[name] = evaluate(value, this.variables);
    const call = resolve as (source: unknown, args: object, context: undefined, info: object) => unknown;
    return call(source, args, undefined, { schema: this.schema });
  }
}

function within<Outer, Inner, Value>(maps: Map<Outer, Map<Inner, Value>>, key: Outer): Map<Inner, Value> {
  let map = maps.get(key);
  if (map === undefined) maps.set(key, (map = new Map<Inner, Value>()));
  return map;
}
