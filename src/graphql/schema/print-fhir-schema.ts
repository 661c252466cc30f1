import type { FhirModel } from '../../fhir/model/fhir-model.js';
import { R4 } from '../../fhir/r4.js';
import { perModel } from '../../fhir/model/per-model.js';
import { LRUCache } from 'lru-cache';
import { type GraphQLSchema, printSchema } from '../graphql-js.js';
import { completeSchema } from './complete-schema.js';

/** What of the schema tools shall see. */
export interface SchemaOptions {
  /** The definitions. Default: FHIR R4 with Medplum's types. */
  readonly model?: FhirModel | undefined;
  /**
   * Resource types to keep, in the root and behind references; data types stay as they are needed. Default: all.
   *
   * The schema of up to 20 types has every search argument everywhere. In larger ones, lists of resources that point here by
   * a parameter which may point anywhere (`ProvenanceList`, `TaskList`) take `_filter` instead of search parameters:
   * there are 12,000 of them. Queries may use the parameters all the same.
   */
  readonly types?: readonly string[] | undefined;
}

/** Of all types one takes some 60 MB; those who name types name the same few again and again. */
const SCHEMAS = perModel(() => new LRUCache<string, GraphQLSchema>({ max: 4 }));

/**
 * The GraphQL schema in the schema definition language, for tools: code generators, editors, linters. The whole of it is
 * also a file of the package, `fhirgraph/schema.graphql`.
 *
 * It describes the stricter half of what is answered. Beside it the engine takes tokens, numbers and booleans where text
 * is meant, fields directly on `resource`, and in dialect `hl7` choices by their base names.
 *
 * @throws FhirError `invalid` - `types` names no resource type
 *
 * @example
 * await writeFile('schema.graphql', printFhirSchema({ types: ['Patient', 'Observation'] }));
 */
export function printFhirSchema(options: SchemaOptions = {}): string {
  return `${printSchema(schemaForTools(options.model ?? R4, options.types))}\n`;
}

/** The schema that tools see, made at first use. */
export function schemaForTools(model: FhirModel, types?: readonly string[]): GraphQLSchema {
  const key = types === undefined ? '*' : [...new Set(types)].sort().join();
  const schemas = SCHEMAS(model);
  let schema = schemas.get(key);
  if (schema === undefined) schemas.set(key, (schema = completeSchema(model, types)));
  return schema;
}
