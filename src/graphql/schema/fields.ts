import { CACHE_KEY } from '../../client/cache-keys.js';
import type { ElementDefinition, TypeDefinition } from '../../fhir/model/definition-types.js';
import { type FhirModel, perModel } from '../../fhir/model/fhir-model.js';
import { pushTo } from '../../platform/collections.js';
import { extensionFieldsOf } from '../../profiles/extension-fields.js';
import type { ExtensionShape, ExtensionType } from '../../profiles/extension-shapes.js';
import type { HostFieldDefinition } from './host/host-schema.js';
import { hostOf } from './host/service-model.js';

/**
 * The meaning of a field of the FHIR GraphQL schema. Schema, planner and executor share these, so that they cannot
 * disagree. See https://hl7.org/fhir/R4/graphql.html.
 *
 * | on | field | kind |
 * |---|---|---|
 * | Query | `Patient(id:)` | read |
 * | Query | `PatientList(...)`, `PatientConnection(...)` | list, connection |
 * | Mutation | `PatientCreate(res:)`, `PatientUpdate`, `PatientPatch`, `PatientDelete` | write |
 * | any type | `birthDate`, `name` | element |
 * | any type | `_birthDate` | sibling: the `id` and `extension` of a primitive |
 * | any type, in dialect `hl7` | `value` | choice: the present one of `valueQuantity`, `valueString` … |
 * | types with known extensions | `race` | extension |
 * | resources | `resourceType` | resource-type |
 * | resources | `cache_key` | cache-key |
 * | Reference, Canonical (`_instantiatesCanonical`) | `resource` | resolve |
 * | resources | `ObservationList(_reference: subject)`, `ObservationConnection(…)` | list, connection with `reverse` |
 * | XConnection | `count offset pagesize edges`, `first previous next last` | connection-part |
 * | XConnectionEdge | `mode score resource` | edge-part |
 * | Subscriptions | `ObservationChanges(...)` | changes |
 * | XChange | `event id resource` | change-part |
 * | any type, Query, Mutation, object types of the host | fields of the host | host |
 */
export type FieldDescriptor =
  | { readonly kind: 'element'; readonly name: string; readonly element: ElementDefinition }
  | { readonly kind: 'sibling'; readonly name: string; readonly element: ElementDefinition }
  | { readonly kind: 'choice'; readonly name: string; readonly elements: readonly ElementDefinition[] }
  | { readonly kind: 'extension'; readonly name: string; readonly shape: ExtensionShape }
  | { readonly kind: 'resource-type'; readonly name: 'resourceType' }
  | { readonly kind: 'cache-key'; readonly name: typeof CACHE_KEY }
  | { readonly kind: 'resolve'; readonly name: 'resource' }
  | { readonly kind: 'read'; readonly name: string; readonly type: string }
  | { readonly kind: 'write'; readonly name: string; readonly type: string; readonly interaction: WriteInteraction }
  | { readonly kind: 'list' | 'connection'; readonly name: string; readonly type: string; readonly reverse: boolean }
  | { readonly kind: 'connection-part'; readonly name: ConnectionPart; readonly type: string }
  | { readonly kind: 'edge-part'; readonly name: 'mode' | 'score' | 'resource'; readonly type: string }
  | { readonly kind: 'changes'; readonly name: string; readonly type: string }
  | { readonly kind: 'change-part'; readonly name: ChangePart; readonly type: string }
  | { readonly kind: 'host'; readonly name: string; readonly field: HostFieldDefinition };

export type ChangePart = (typeof CHANGE_PARTS)[number];
type ConnectionPart = (typeof CONNECTION_PARTS)[number];

/** The interaction of a mutation, in the words of FHIR's REST interface. */
export type WriteInteraction = 'create' | 'update' | 'patch' | 'delete';

/** Name of the root type of queries. */
export const QUERY = 'Query';
/** Name of the root type of mutations. */
export const MUTATION = 'Mutation';

/** The response key of the type of an object behind an interface, in documents of other servers. */
export const TYPE_KEY = '_fhirgraph_type';

/** Name of the root type of subscriptions. FHIR has a resource type `Subscription`. */
export const SUBSCRIPTIONS = 'Subscriptions';
/** Name of the sibling type of canonicals: id and extensions, and the referenced resource. */
export const CANONICAL = 'Canonical';
/** Name of the types of choices by base name, primitive or complex. */
export const CHOICE = 'Choice';
/** Name of the interface that every resource type implements. */
export const RESOURCE = 'Resource';

const CONNECTION_PARTS = [
  'count',
  'offset',
  'pagesize',
  'pageSize',
  'first',
  'previous',
  'next',
  'last',
  'edges',
] as const;
const EDGE_PARTS = ['mode', 'score', 'resource'] as const;
const CHANGE_PARTS = ['event', 'id', 'resource'] as const;

/**
 * The fields of a composite type of the schema, by name, in the order tools show them.
 *
 * @returns undefined for other names
 */
export function fieldsOf(model: FhirModel, typeName: string): ReadonlyMap<string, FieldDescriptor> | undefined {
  const known = FIELDS(model);
  let fields = known.get(typeName);
  if (fields === undefined) {
    fields = withHostFields(model, typeName, describeType(model, typeName));
    if (fields !== undefined) known.set(typeName, fields);
  }
  return fields;
}

/** Bounded by the number of types in the definitions. */
const FIELDS = perModel(() => new Map<string, ReadonlyMap<string, FieldDescriptor>>());

/** @returns the resource type that a connection or edge type belongs to; undefined for other names. */
export function connectionOf(
  model: FhirModel,
  typeName: string,
): { readonly type: string; readonly edge: boolean } | undefined {
  const match = /^(.+)Connection(Edge)?$/.exec(typeName);
  if (match === null || !model.isResourceType(match[1]!)) return undefined;
  return { type: match[1]!, edge: match[2] !== undefined };
}

/** @returns the resource type of a type of changes; undefined for other names. */
export function changeOf(model: FhirModel, typeName: string): string | undefined {
  const type = typeName.endsWith('Change') ? typeName.slice(0, -'Change'.length) : '';
  return model.isResourceType(type) ? type : undefined;
}

/** @returns the search parameters of `type` that can point to a `target`. */
export function reverseParameters(model: FhirModel, type: string, target: string): string[] {
  const codes: string[] = [];
  for (const parameter of model.searchParameters(type).values()) {
    if (parameter.type !== 'reference') continue;
    if (parameter.targets === undefined || parameter.targets.includes(target)) codes.push(parameter.code);
  }
  return codes;
}

/** The GraphQL spelling of a search parameter: `address-city` becomes `address_city`. */
export function argumentName(code: string): string {
  return code.replaceAll('-', '_');
}

function describeType(model: FhirModel, typeName: string): ReadonlyMap<string, FieldDescriptor> | undefined {
  if (typeName === QUERY) return describeQuery(model);
  if (typeName === MUTATION) return describeMutation(model);
  if (typeName === SUBSCRIPTIONS) {
    return byName(model.resourceTypes.map((type) => ({ kind: 'changes', name: `${type}Changes`, type })));
  }
  if (typeName === CANONICAL)
    return new Map([...fieldsOf(model, 'Element')!, ['resource', { kind: 'resolve', name: 'resource' }]]);
  const connection = connectionOf(model, typeName);
  if (connection !== undefined) return describeConnection(connection);
  const changed = changeOf(model, typeName);
  if (changed !== undefined) return byName(CHANGE_PARTS.map((name) => ({ kind: 'change-part', name, type: changed })));
  const extension = extensionFieldsOf(model).type(typeName);
  if (extension !== undefined) return describeExtension(extension);
  const definition = model.typeDefinition(typeName);
  if (definition === undefined || definition.kind === 'primitive') return undefined;
  const fields: FieldDescriptor[] = [];
  if (definition.kind === 'resource') {
    fields.push({ kind: 'resource-type', name: 'resourceType' }, { kind: 'cache-key', name: CACHE_KEY });
  }
  for (const element of definition.elements.values()) {
    fields.push({ kind: 'element', name: element.name, element });
    if (hasSibling(model, element)) fields.push({ kind: 'sibling', name: `_${element.name}`, element });
  }
  fields.push(...describeExtensions(extensionFieldsOf(model).of(typeName)), ...describeChoices(definition));
  if (typeName === 'Reference') fields.push({ kind: 'resolve', name: 'resource' });
  if (!model.isResourceType(typeName)) return byName(fields);
  return new ResourceFields(model, fields, (type) => describeReverse(model, type, typeName));
}

/** Fields of the host follow those of FHIR; every resource type has those of `Resource`. */
function withHostFields(
  model: FhirModel,
  typeName: string,
  fields: ReadonlyMap<string, FieldDescriptor> | undefined,
): ReadonlyMap<string, FieldDescriptor> | undefined {
  const host = hostOf(model);
  const own = host?.fields.get(typeName) ?? [];
  const shared = (model.isResourceType(typeName) ? host?.fields.get(RESOURCE) : undefined) ?? [];
  if (own.length + shared.length === 0) return fields;
  const added = [...shared, ...own].map((field): FieldDescriptor => ({ kind: 'host', name: field.name, field }));
  return new Map([...(fields ?? []), ...byName(added)]);
}

/** The object over an extension: its parts, or the forms of its value. */
function describeExtension({ parts, values }: ExtensionType): ReadonlyMap<string, FieldDescriptor> {
  return byName([
    ...describeExtensions(parts),
    ...values.map((element): FieldDescriptor => ({ kind: 'element', name: element.name, element })),
  ]);
}

function describeExtensions(shapes: ReadonlyMap<string, ExtensionShape>): FieldDescriptor[] {
  return Array.from(shapes, ([name, shape]) => ({ kind: 'extension', name, shape }));
}

/** Choices by base name, which only dialect `hl7` offers. */
function describeChoices(definition: TypeDefinition): FieldDescriptor[] {
  const choices = new Map<string, ElementDefinition[]>();
  for (const element of definition.elements.values()) {
    if (element.choiceOf === undefined) continue;
    pushTo(choices, element.choiceOf, element);
  }
  return [...choices].map(([name, elements]) => ({ kind: 'choice', name, elements }));
}

function describeQuery(model: FhirModel): ReadonlyMap<string, FieldDescriptor> {
  return byName(
    model.resourceTypes.flatMap((type): FieldDescriptor[] => [
      { kind: 'read', name: type, type },
      { kind: 'list', name: `${type}List`, type, reverse: false },
      { kind: 'connection', name: `${type}Connection`, type, reverse: false },
    ]),
  );
}

/** See https://hl7.org/fhir/R4/graphql.html#mutations. */
function describeMutation(model: FhirModel): ReadonlyMap<string, FieldDescriptor> {
  return byName(
    model.resourceTypes.flatMap((type) =>
      WRITES.map(([ending, interaction]): FieldDescriptor => ({
        kind: 'write',
        name: `${type}${ending}`,
        type,
        interaction,
      })),
    ),
  );
}

const WRITES = [
  ['Create', 'create'],
  ['Update', 'update'],
  ['Patch', 'patch'],
  ['Delete', 'delete'],
] as const;

/** The lists and connections of resources of one type that point to another. */
function describeReverse(model: FhirModel, type: string, target: string): readonly FieldDescriptor[] {
  if (reverseParameters(model, type, target).length === 0) return [];
  return [
    { kind: 'list', name: `${type}List`, type, reverse: true },
    { kind: 'connection', name: `${type}Connection`, type, reverse: true },
  ];
}

function describeConnection(of: {
  readonly type: string;
  readonly edge: boolean;
}): ReadonlyMap<string, FieldDescriptor> {
  return byName(
    of.edge
      ? EDGE_PARTS.map((name): FieldDescriptor => ({ kind: 'edge-part', name, type: of.type }))
      : CONNECTION_PARTS.map((name): FieldDescriptor => ({ kind: 'connection-part', name, type: of.type })),
  );
}

/** Primitives may have an id and extensions, except ids and urls, which have no sibling in JSON. */
function hasSibling(model: FhirModel, element: ElementDefinition): boolean {
  return model.typeDefinition(element.type)?.kind === 'primitive' && element.name !== 'id' && element.type !== 'xhtml';
}

function byName(fields: readonly FieldDescriptor[]): ReadonlyMap<string, FieldDescriptor> {
  return new Map(fields.map((field) => [field.name, field]));
}

/**
 * The fields of a resource type: its own, then the lists and connections of all types that point to it.
 *
 * PERF (start): these are created when a name is looked up, or when all are listed. Listing them needs the search parameters of
 * every type, which take 5 ms to parse.
 */
class ResourceFields<Field extends { readonly name: string }> extends Map<string, Field> {
  readonly #model: FhirModel;
  readonly #pointing: (type: string) => readonly Field[];
  /** The fields that were looked up. */
  readonly #found = new Map<string, Field>();
  #isComplete = false;

  /** @param pointing the fields of one type */
  constructor(model: FhirModel, own: readonly Field[], pointing: (type: string) => readonly Field[]) {
    super();
    this.#model = model;
    this.#pointing = pointing;
    for (const field of own) this.set(field.name, field);
  }

  override get(name: string): Field | undefined {
    return super.get(name) ?? (this.#isComplete ? undefined : this.#find(name));
  }

  override has(name: string): boolean {
    return this.get(name) !== undefined;
  }

  override get size(): number {
    this.#complete();
    return super.size;
  }

  override keys(): MapIterator<string> {
    this.#complete();
    return super.keys();
  }

  override values(): MapIterator<Field> {
    this.#complete();
    return super.values();
  }

  override entries(): MapIterator<[string, Field]> {
    this.#complete();
    return super.entries();
  }

  override [Symbol.iterator](): MapIterator<[string, Field]> {
    return this.entries();
  }

  override forEach(work: (field: Field, name: string, fields: Map<string, Field>) => void): void {
    for (const [name, field] of this) work(field, name, this);
  }

  #find(name: string): Field | undefined {
    let field = this.#found.get(name);
    if (field === undefined) {
      const type = /^(.+)(?:List|Connection)$/.exec(name)?.[1];
      if (type === undefined || !this.#model.isResourceType(type)) return undefined;
      field = this.#pointing(type).find((one) => one.name === name);
      if (field !== undefined) this.#found.set(name, field);
    }
    return field;
  }

  #complete(): void {
    if (this.#isComplete) return;
    this.#isComplete = true;
    for (const type of this.#model.resourceTypes) {
      for (const field of this.#pointing(type)) this.set(field.name, this.#found.get(field.name) ?? field);
    }
  }
}
