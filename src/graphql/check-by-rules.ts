import type { FhirModel } from '../fhir/model/fhir-model.js';
import { Pace } from '../platform/pace.js';
import type { Dialect } from './dialect.js';
import type { DocumentNode, GraphQLError } from './graphql-js.js';
import { type ValidationRule, validate } from './graphql-js-validation.js';
import { fragmentsOf } from './plan/collect-fields.js';
import { DocumentErrors } from './prepared-document.js';
import { schemaFor } from './schema/schema.js';
import { findMergeErrors } from './validation/fields-merge.js';
import { VALIDATION_RULES } from './validation/rules.js';
import { withTypedReferences } from './validation/typed-references.js';

/** Maximum number of errors in one answer. */
const MAX_ERRORS = 20;

/**
 * Checks a document by the rules of GraphQL and FHIR, and then whether its fields merge. Long checks take a turn of the
 * event loop each; for a long document, each part of the rules does.
 *
 * PERF: loaded by `import()` with the first document that is not plain.
 *
 * @param tokens the length of the document
 * @returns the document with the types of its references
 * @throws DocumentErrors - it does not fit the schema
 * @throws LimitError `fields`
 */
export async function checkByRules(
  model: FhirModel,
  written: DocumentNode,
  dialect: Dialect,
  root: string,
  tokens = 0,
): Promise<DocumentNode> {
  const pace = new Pace();
  const schema = schemaFor(model, dialect, root);
  const document = withTypedReferences(written, schema);
  const errors: GraphQLError[] = [];
  for (const rules of inParts(VALIDATION_RULES[dialect], tokens)) {
    errors.push(...validate(schema, document, rules, { maxErrors: MAX_ERRORS }));
    if (pace.isSpent) await pace.next();
  }
  if (errors.length > 0) throw new DocumentErrors(errors.slice(0, MAX_ERRORS));
  // In dialect `hl7` equal keys are collated, so fields need not merge.
  const conflicts = dialect === 'hl7' ? [] : findMergeErrors(schema, document, fragmentsOf(document));
  if (conflicts.length > 0) throw new DocumentErrors(conflicts.slice(0, MAX_ERRORS));
  if (pace.isSpent) await pace.next();
  return document;
}

/** PERF: each part walks the document once more. */
function inParts(rules: readonly ValidationRule[], tokens: number): readonly (readonly ValidationRule[])[] {
  if (tokens < LONG_DOCUMENT) return [rules];
  const size = Math.ceil(rules.length / PARTS);
  return Array.from({ length: PARTS }, (_, part) => rules.slice(part * size, (part + 1) * size));
}

/** In tokens. All rules together take about 15 ms for a document of this length. */
const LONG_DOCUMENT = 3_000;
const PARTS = 4;
