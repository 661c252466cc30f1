import type { FhirModel } from '../fhir/model/fhir-model.js';
import { Pace } from '../platform/pace.js';
import type { Dialect } from './dialect.js';
import type { DocumentNode } from './graphql-js.js';
import { validate } from './graphql-js-validation.js';
import { fragmentsOf } from './plan/collect-fields.js';
import { DocumentErrors } from './prepared-document.js';
import { schemaFor } from './schema/schema-for.js';
import { findMergeErrors } from './validation/fields-merge.js';
import { VALIDATION_RULES } from './validation/rules.js';
import { withTypedReferences } from './validation/typed-references.js';

/** The most errors that one answer lists. */
const MAX_ERRORS = 20;

/**
 * Checks a document by GraphQL's rules and FHIR's, and then whether its fields merge: a turn each where they take long.
 *
 * PERF: loaded by `import()` with the first document that is not plain.
 *
 * @returns the document with the types of its references
 * @throws DocumentErrors - it does not fit the schema
 * @throws LimitError `fields`
 */
export async function checkByRules(
  model: FhirModel,
  written: DocumentNode,
  dialect: Dialect,
  root: string,
): Promise<DocumentNode> {
  const pace = new Pace();
  const schema = schemaFor(model, dialect, root);
  const document = withTypedReferences(written, schema);
  const errors = validate(schema, document, VALIDATION_RULES[dialect], { maxErrors: MAX_ERRORS });
  if (errors.length > 0) throw new DocumentErrors(errors);
  if (pace.isSpent) await pace.next();
  // In dialect `hl7` equal keys are collated, so fields need not merge.
  const conflicts = dialect === 'hl7' ? [] : findMergeErrors(schema, document, fragmentsOf(document));
  if (conflicts.length > 0) throw new DocumentErrors(conflicts.slice(0, MAX_ERRORS));
  if (pace.isSpent) await pace.next();
  return document;
}
