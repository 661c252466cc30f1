import { LRUCache } from 'lru-cache';
import { type FhirModel, perModel } from '../../fhir/model/fhir-model.js';
import { R4 } from '../../fhir/r4.js';
import { getOrCreate } from '../../platform/collections.js';
import { shared } from '../../platform/shared-work.js';
import { type FieldDefinitionNode, type GraphQLSchema, Kind, parse, print, printSchema } from '../graphql-js.js';
import { completeSchema, completeSchemaInTurns } from './complete-schema.js';
import { type FieldDescriptor, fieldsOf } from './fields.js';
import type { LeafOptions } from './leaf-types.js';
import type { SchemaDetail } from './schema-detail.js';

/** Options of the schema for tools. */
export interface SchemaOptions extends LeafOptions {
  /** The definitions. Default: FHIR R4 with Medplum's types. */
  readonly model?: FhirModel | undefined;
  /**
   * Resource types to keep, in the root and behind references; data types are kept as needed. Default: all.
   */
  readonly types?: readonly string[] | undefined;
  /**
   * How many of their fields and arguments are shown; queries may use all of them. Default `whole` if `types` are
   * given, else `brief`.
   */
  readonly detail?: SchemaDetail | undefined;
}

/** Options of the schema as text. */
export interface PrintOptions extends SchemaOptions {
  /**
   * `@semanticNonNull` at fields that are null only together with an error: root fields, `resourceType`, items of
   * lists. Elements are never marked: a resource may lack them, and access rules may hide them. Default false.
   */
  readonly semanticNonNull?: boolean | undefined;
}

/** A schema of all types takes about 60 MB; hosts that select types repeat the same few selections. */
const SCHEMAS = perModel(() => new LRUCache<string, GraphQLSchema>({ max: 4 }));

/**
 * The GraphQL schema in the schema definition language, for tools: code generators, editors, linters. The package also
 * has the schema of thirty common types as a file, `fhirgraph/schema.graphql`.
 *
 * It is stricter than the engine, which also accepts tokens, numbers and booleans as strings, fields directly on
 * `resource`, and in dialect `hl7` choices by their base names.
 *
 * The text is built in one turn of the event loop, which takes about 300 ms for all types, at every call. A server that
 * serves it should print it once at start-up.
 *
 * @throws FhirError `invalid` - `types` has an unknown resource type
 *
 * @example
 * await writeFile('schema.graphql', printFhirSchema({ types: ['Patient', 'Observation'] }));
 */
export function printFhirSchema(options: PrintOptions = {}): string {
  const model = options.model ?? R4;
  const sdl = `${printSchema(schemaForTools(model, options))}\n`;
  return options.semanticNonNull === true ? withSemanticNonNull(model, sdl) : sdl;
}

/** The schema for tools, created on first use. */
export function schemaForTools(model: FhirModel, options: ToolOptions): GraphQLSchema {
  const schemas = SCHEMAS(model);
  const { key, given } = wantedSchema(model, options);
  return getOrCreate<string, GraphQLSchema>(schemas, key, () => completeSchema(...given));
}

/** {@link schemaForTools}, created in turns with other work. Concurrent requests share the work. */
export async function schemaForToolsInTurns(model: FhirModel, options: ToolOptions): Promise<GraphQLSchema> {
  const schemas = SCHEMAS(model);
  const { key, given } = wantedSchema(model, options);
  const known = schemas.get(key);
  if (known !== undefined) return known;
  return shared(BUILDING(model), key, async () => {
    const built = await completeSchemaInTurns(...given);
    schemas.set(key, built);
    return built;
  });
}

type ToolOptions = Omit<SchemaOptions, 'model'>;

/** Schemas that are being created. */
const BUILDING = perModel(() => new Map<string, Promise<GraphQLSchema>>());

function wantedSchema(
  model: FhirModel,
  options: ToolOptions,
): { key: string; given: Parameters<typeof completeSchema> } {
  const { types, detail = types === undefined ? 'brief' : 'whole', scalars, enums } = options;
  const key = `${detail} ${scalars} ${enums} ${types === undefined ? '*' : [...new Set(types)].sort().join()}`;
  return { key, given: [model, types, detail, { scalars, enums }] };
}

/**
 * Adds `@semanticNonNull` to the fields of a schema that are null only together with an error. Elements are not among
 * them: a resource may lack them, and access may hide them. See https://specs.apollo.dev/nullability/v0.4/.
 */
function withSemanticNonNull(model: FhirModel, sdl: string): string {
  const document = parse(sdl, { noLocation: true });
  const definitions = document.definitions.map((definition) => {
    if (definition.kind !== Kind.OBJECT_TYPE_DEFINITION && definition.kind !== Kind.INTERFACE_TYPE_DEFINITION)
      return definition;
    const known = fieldsOf(model, definition.name.value);
    const fields = definition.fields?.map((field) => {
      const levels = levelsOf(model, known?.get(field.name.value));
      return levels === undefined ? field : { ...field, directives: [...(field.directives ?? []), directive(levels)] };
    });
    return { ...definition, ...(fields === undefined ? {} : { fields }) };
  });
  return `${print({ ...document, definitions })}\n\n${DIRECTIVE}\n`;
}

const DIRECTIVE =
  '"""The field is null only together with an error"""\ndirective @semanticNonNull("""0 for the field, 1 for the items of its list""" levels: [Int!]! = [0]) on FIELD_DEFINITION';

/** The levels at which a field is null only with an error; undefined for none. */
function levelsOf(model: FhirModel, field: FieldDescriptor | undefined): readonly number[] | undefined {
  switch (field?.kind) {
    case 'resource-type':
    case 'read':
      return [0];
    case 'write':
      return field.interaction === 'delete' ? undefined : [0];
    case 'list':
      // Contained resources have no reverse lists.
      return field.reverse ? [1] : [0, 1];
    case 'connection':
      return field.reverse ? undefined : [0];
    case 'connection-part':
      return field.name === 'edges' ? [0, 1] : undefined;
    case 'edge-part':
      return field.name === 'score' ? undefined : [0];
    case 'element':
      // Lists of primitives have placeholders.
      return field.element.array && model.typeDefinition(field.element.type)?.kind === 'complex' ? [1] : undefined;
    default:
      return undefined;
  }
}

type Directive = NonNullable<FieldDefinitionNode['directives']>[number];

function directive(levels: readonly number[]): Directive {
  const isDefault = levels.length === 1 && levels[0] === 0;
  const values = levels.map((level) => ({ kind: Kind.INT, value: String(level) }) as const);
  return {
    kind: Kind.DIRECTIVE,
    name: { kind: Kind.NAME, value: 'semanticNonNull' },
    arguments: isDefault
      ? []
      : [{ kind: Kind.ARGUMENT, name: { kind: Kind.NAME, value: 'levels' }, value: { kind: Kind.LIST, values } }],
  };
}
