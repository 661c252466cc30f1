import type { FhirModel } from '../../fhir/model/fhir-model.js';
import { R4 } from '../../fhir/r4.js';
import { perModel } from '../../fhir/model/per-model.js';
import { LRUCache } from 'lru-cache';
import { type GraphQLSchema, printSchema } from '../graphql-js.js';
import { shared } from '../../platform/shared.js';
import { completeSchema, completeSchemaInTurns } from './complete-schema.js';
import type { LeafOptions } from './leaf-types.js';
import { withSemanticNonNull } from './semantic-non-null.js';
import type { SchemaDetail } from './schema-detail.js';
import { getOrCreate } from '../../platform/maps.js';

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
