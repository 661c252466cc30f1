import type { FhirModel } from '../fhir/model/fhir-model.js';
import { assertDocumentSize } from './check-document.js';
import type { Dialect } from './dialect.js';
import {
  Kind,
  validate,
  type DocumentNode,
  type FragmentDefinitionNode,
  type OperationDefinitionNode,
  type SelectionSetNode,
} from './graphql-js.js';
import type { Limits } from './limits.js';
import { fragmentsOf } from './plan/collect-fields.js';
import { usesFhirPath } from './plan/uses-fhirpath.js';
import { DocumentErrors, type PreparedDocument } from './prepared-document.js';
import { schemaFor } from './schema/schema-for.js';
import { findMergeErrors } from './validation/fields-merge.js';
import { VALIDATION_RULES } from './validation/rules.js';
import { withTypedReferences } from './validation/typed-references.js';

/** The number of valid documents so far, the source of their numbers. */
let documents = 0;

/**
 * Checks a parsed document against the schema whose root is `root`.
 *
 * @throws DocumentErrors - it does not fit the schema
 * @throws LimitError `tokens`, `depth`, `fields`
 */
export function validateDocument(
  model: FhirModel,
  written: DocumentNode,
  limits: Limits,
  dialect: Dialect,
  root: string,
): PreparedDocument {
  const tokens = assertDocumentSize(written, limits);
  const schema = schemaFor(model, dialect, root);
  const document = withTypedReferences(written, schema);
  const errors = validate(schema, document, VALIDATION_RULES[dialect], { maxErrors: 20 });
  if (errors.length > 0) throw new DocumentErrors(errors);
  const fragments = fragmentsOf(document);
  // In dialect `hl7` equal keys are collated, so fields need not merge.
  const conflicts = dialect === 'hl7' ? [] : findMergeErrors(schema, document, fragments);
  if (conflicts.length > 0) throw new DocumentErrors(conflicts.slice(0, 20));
  const operations = document.definitions.filter((definition) => definition.kind === Kind.OPERATION_DEFINITION);
  const definitions = [...operations, ...fragments.values()];
  documents += 1;
  return {
    number: documents,
    model,
    tokens,
    root,
    dialect,
    operations,
    fragments,
    conditions: conditionVariables(definitions),
    usesFhirPath: usesFhirPath(definitions),
  };
}

/** The variables in the arguments of directives, by name. */
function conditionVariables(
  definitions: readonly (OperationDefinitionNode | FragmentDefinitionNode)[],
): readonly string[] {
  const names = new Set<string>();
  const visit = (set: SelectionSetNode): void => {
    for (const selection of set.selections) {
      for (const directive of selection.directives ?? []) {
        for (const { value } of directive.arguments ?? [])
          if (value.kind === Kind.VARIABLE) names.add(value.name.value);
      }
      if (selection.kind !== Kind.FRAGMENT_SPREAD && selection.selectionSet !== undefined)
        visit(selection.selectionSet);
    }
  };
  for (const { selectionSet } of definitions) visit(selectionSet);
  return [...names].sort();
}
