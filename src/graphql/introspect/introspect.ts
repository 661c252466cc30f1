import { perModel } from '../../fhir/model/fhir-model.js';
import { LRUCache } from 'lru-cache';
import { Pace } from '../../platform/pace.js';
import { shared } from '../../platform/shared-work.js';
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
import {
  collectFields,
  putUnderKey,
  responseKey,
  selectionSetsOf,
  type DocumentParts,
} from '../plan/collect-fields.js';
import type { IntrospectionField } from '../plan/plan.js';
import { hasEnums } from '../schema/host/service-model.js';
import { schemaForToolsInTurns, type SchemaOptions } from '../schema/print-fhir-schema.js';
import { getOrCreate } from '../../platform/collections.js';

/** Whether introspection is enabled, and for which schema. */
export type IntrospectionOption = boolean | Omit<SchemaOptions, 'model' | 'enums'>;

/**
 * Maximum number of objects in the answers of one request: the introspection query of tools has about 500,000 for all
 * details of all types, 120,000 in brief.
 */
const MAX_OBJECTS = 1_000_000;

/** Maximum number of distinct objects per field; equal selections of one type are built once. */
const MAX_MADE = 400_000;

/** Maximum number of `__schema` and `__type` fields per request: tools send one or two. */
const MAX_FIELDS = 20;

/** Answers by schema and query. Tools repeat the same query; an answer takes about 100 MB, so it expires soon. */
const ANSWERS = perModel(
  () =>
    new LRUCache<string, Answer>({
      max: 20,
      maxSize: 2 * MAX_OBJECTS,
      sizeCalculation: ({ size }) => size + 1,
      ttl: 10 * 60 * 1000,
    }),
);

interface Answer {
  readonly value: unknown;
  /** The number of objects, counted with repetition. */
  readonly size: number;
}

/**
 * Answers `__schema` and `__type`. See https://spec.graphql.org/October2021/#sec-Introspection.
 *
 * graphql-js defines the fields. The walk is our own since types and fields reference each other without end: equal
 * selections of the same object are built once, and the size is counted before serialization. It takes turns with other
 * work.
 *
 * @returns the answers in order, deeply frozen and shared between requests
 * @throws FhirError `forbidden` - the host has disabled introspection
 * @throws FhirError `too-costly` - more than twenty fields, or answers of more than a million objects together
 */
export async function introspect(
  fields: readonly IntrospectionField[],
  parts: DocumentParts,
  variables: Variables,
  option: IntrospectionOption = true,
): Promise<readonly unknown[]> {
  if (option === false) throw new FhirError('forbidden', 'Introspection is switched off here');
  if (fields.length > MAX_FIELDS) {
    throw tooMuch(MAX_FIELDS, `At most ${MAX_FIELDS} fields "__schema" and "__type" are answered at once`);
  }
  const schema = { ...(option === true ? {} : option), enums: hasEnums(parts.model) };
  let objects = 0;
  const values: unknown[] = [];
  for (const field of fields) {
    const { value, size } = await answer(field, parts, variables, schema);
    objects += size;
    if (objects > MAX_OBJECTS) throw tooManyObjects();
    values.push(value);
  }
  return values;
}

function tooManyObjects(): FhirError {
  return tooMuch(MAX_OBJECTS, `Introspection gives at most ${MAX_OBJECTS} objects at once; ask for less`);
}

function tooMuch(max: number, message: string): FhirError {
  return new FhirError('too-costly', message, { details: { limit: 'introspection', max } });
}

async function answer(
  field: IntrospectionField,
  parts: DocumentParts,
  variables: Variables,
  schema: Omit<SchemaOptions, 'model'>,
): Promise<Answer> {
  const values = Object.fromEntries(field.variables.map((name) => [name, variables[name]]));
  const key = JSON.stringify([schema, field.nodes.map(print), field.fragments, values]);
  const answers = ANSWERS(parts.model);
  const known = answers.get(key);
  if (known !== undefined) return known;
  return shared(WALKS(parts.model), key, async () => {
    const pace = new Pace();
    const walk = new Walk(await schemaForToolsInTurns(parts.model, schema), parts, variables, pace).root(field);
    let step = walk.next();
    for (; step.done !== true; step = walk.next()) await pace.next();
    const made = step.value;
    if (made.size <= MAX_OBJECTS) answers.set(key, made);
    return made;
  });
}

/** Answers that are being built. */
const WALKS = perModel(() => new Map<string, Promise<Answer>>());

/** Objects made between looks at the clock: about 0.1 ms. */
const OBJECTS_PER_LOOK = 64;

type Nodes = readonly [FieldNode, ...FieldNode[]];

/** Yields at points where other work may run. */
type Steps = Generator<undefined, Answer, undefined>;

class Walk {
  readonly #parts: DocumentParts;
  /** The selections on objects of one type, by the nodes that select them. */
  readonly #selections = new Map<Nodes, Map<string, ReadonlyMap<string, Nodes>>>();
  /** The answers by selection and source. */
  readonly #objects = new Map<Nodes, Map<unknown, Answer>>();
  #made = 0;

  constructor(
    private readonly schema: GraphQLSchema,
    parts: DocumentParts,
    private readonly variables: Variables,
    private readonly pace: Pace,
  ) {
    this.#parts = { ...parts, merge: true };
  }

  root({ name, nodes }: IntrospectionField): Steps {
    const { type, resolve } = name === '__schema' ? SchemaMetaFieldDef : TypeMetaFieldDef;
    return this.#complete(this.#resolve(resolve, undefined, nodes[0]), type, nodes);
  }

  *#complete(value: unknown, type: GraphQLOutputType, nodes: Nodes): Steps {
    if (value === undefined || value === null) return { value: null, size: 0 };
    const nullable = getNullableType(type) as GraphQLOutputType;
    if (isObjectType(nullable)) return yield* this.#object(value, nullable, nodes);
    if (!isListType(nullable)) return { value, size: 0 };
    const items: unknown[] = [];
    let total = 0;
    for (const item of value as readonly unknown[]) {
      const { value: completed, size } = yield* this.#complete(item, nullable.ofType, nodes);
      items.push(completed);
      total += size;
    }
    return { value: Object.freeze(items), size: total };
  }

  *#object(source: unknown, type: GraphQLObjectType, nodes: Nodes): Steps {
    // Only types are reached from several places.
    const known =
      type.name === '__Type' ? getOrCreate(this.#objects, nodes, () => new Map<unknown, Answer>()) : undefined;
    const before = known?.get(source);
    if (before !== undefined) return before;
    this.#made += 1;
    if (this.#made > MAX_MADE) throw tooManyObjects();
    if (this.#made % OBJECTS_PER_LOOK === 0 && this.pace.isSpent) yield undefined;
    const fields = type.getFields();
    const out: { [key: string]: unknown } = {};
    let size = 1;
    for (const [key, selected] of this.#select(type.name, nodes)) {
      const [node] = selected;
      const field = fields[node.name.value];
      const name = responseKey(key);
      if (field === undefined) putUnderKey(out, name, type.name);
      else {
        const inner = yield* this.#complete(this.#resolve(field.resolve, source, node), field.type, selected);
        putUnderKey(out, name, inner.value);
        size += inner.size;
      }
    }
    const made = { value: Object.freeze(out), size };
    known?.set(source, made);
    return made;
  }

  #select(type: string, nodes: Nodes): ReadonlyMap<string, Nodes> {
    const byType = getOrCreate(this.#selections, nodes, () => new Map<string, ReadonlyMap<string, Nodes>>());
    let selected = byType.get(type);
    if (selected === undefined) {
      selected = collectFields(type, selectionSetsOf(nodes), this.#parts, () => undefined);
      assertAskedOnce(selected);
      byType.set(type, selected);
    }
    return selected;
  }

  #resolve(resolve: unknown, source: unknown, node: FieldNode): unknown {
    const args: { [name: string]: unknown } = {};
    for (const [name, value] of argumentsOfNode(node)) args[name] = evaluate(value, this.variables);
    const call = resolve as (source: unknown, args: object, context: undefined, info: object) => unknown;
    return call(source, args, undefined, { schema: this.schema });
  }
}

/**
 * Several aliases of the same schema list in one selection multiply the answer and have no use.
 *
 * @throws FhirError `too-costly`
 */
function assertAskedOnce(selected: ReadonlyMap<string, Nodes>): void {
  const asked = new Set<string>();
  for (const [{ name, selectionSet }] of selected.values()) {
    if (selectionSet === undefined || !LISTS.has(name.value)) continue;
    if (asked.has(name.value)) throw tooMuch(1, `Introspection gives "${name.value}" once in each place`);
    asked.add(name.value);
  }
}

const LISTS: ReadonlySet<string> = new Set([
  ...['types', 'fields', 'args', 'inputFields', 'interfaces', 'possibleTypes', 'enumValues', 'directives'],
]);
