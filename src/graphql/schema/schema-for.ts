import type { FhirModel } from '../../fhir/model/fhir-model.js';
import { perModel } from '../../fhir/model/per-model.js';
import type { Dialect } from '../dialect.js';
import { FhirSchema } from './schema.js';
import { getOrCreate } from '../../platform/maps.js';

/** One schema per dialect and root: `Query`, and the resource types of queried instances. */
const SCHEMAS = perModel(() => new Map<string, FhirSchema>());

/** The schema of a dialect whose root fields are those of `root`. */
export function schemaFor(model: FhirModel, dialect: Dialect, root: string): FhirSchema {
  const key = `${dialect} ${root}`;
  const schemas = SCHEMAS(model);
  return getOrCreate(schemas, key, () => new FhirSchema(model, dialect, root));
}
