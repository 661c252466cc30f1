import type { FhirModel } from '../fhir/model/fhir-model.js';
import { assertDocumentSize } from './check-document.js';
import type { Dialect } from './dialect.js';
import {
  Kind,
  type DocumentNode,
  type FragmentDefinitionNode,
  type OperationDefinitionNode,
  type SelectionSetNode,
} from './graphql-js.js';
import type { Limits } from './limits.js';
import { fragmentsOf } from './plan/collect-fields.js';
import { usesFhirPath } from './plan/uses-fhirpath.js';
import { onFirstUse } from '../platform/on-first-use.js';
import { nextTurn } from '../platform/timers.js';
import type { PreparedDocument } from './prepared-document.js';
import { isPlainDocument } from './validation/plain-document.js';

/** The number of valid documents so far, the source of their numbers. */
let documents = 0;

/**
 * Checks a parsed document against the schema whose root is `root`.
 *
 * @throws DocumentErrors - it does not fit the schema
 * @throws LimitError `tokens`, `depth`, `fields`
 */
export async function validateDocument(
  model: FhirModel,
  written: DocumentNode,
  limits: Limits,
  dialect: Dialect,
  root: string,
): Promise<PreparedDocument> {
  const tokens = assertDocumentSize(written, limits);
  const facts = { model, tokens, root, dialect };
  if (isPlainDocument(model, written, root)) return preparedOf(written, facts);
  const { checkByRules } = await loadRules();
  return preparedOf(await checkByRules(model, written, dialect, root, tokens), facts);
}

/** PERF: loaded with the first document that is not plain. */
const loadRules = onFirstUse(async () => {
  // The modules of graphql-js take a turn of the event loop, and those that use them another.
  await import('./graphql-js-validation.js');
  await nextTurn();
  return import('./check-by-rules.js');
});

function preparedOf(
  document: DocumentNode,
  facts: Pick<PreparedDocument, 'model' | 'tokens' | 'root' | 'dialect'>,
): PreparedDocument {
  const fragments = fragmentsOf(document);
  const operations = document.definitions.filter((definition) => definition.kind === Kind.OPERATION_DEFINITION);
  const definitions = [...operations, ...fragments.values()];
  documents += 1;
  return {
    ...facts,
    number: documents,
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
