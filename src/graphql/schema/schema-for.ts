import type { Dialect } from '../dialect.js';
import { FhirSchema } from './schema.js';

/** One schema per dialect and root: `Query`, and the resource types whose instances were queried. */
const SCHEMAS = new Map<string, FhirSchema>();

/** The schema of a dialect whose root fields are those of `root`. */
export function schemaFor(dialect: Dialect, root: string): FhirSchema {
  const key = `${dialect} ${root}`;
  let schema = SCHEMAS.get(key);
  if (schema === undefined) SCHEMAS.set(key, (schema = new FhirSchema(dialect, root)));
  return schema;
}
