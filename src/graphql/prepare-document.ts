import type { FhirModel } from '../fhir/model/fhir-model.js';
import { perModel } from '../fhir/model/per-model.js';
import { LRUCache } from 'lru-cache';
import { FhirError } from '../fhir/error.js';
import { inSpan, type Observer } from '../telemetry/observer.js';
import {
  GraphQLError,
  Kind,
  parse,
  validate,
  type DocumentNode,
  type FragmentDefinitionNode,
  type OperationDefinitionNode,
  type SelectionSetNode,
} from './graphql-js.js';
import { assertDocument, assertDocumentSize, tooManyTokens } from './check-document.js';
import { countLookup } from './count-lookup.js';
import { DEFAULT_DIALECT, type Dialect } from './dialect.js';
import { assertQueryLength, tooDeep, type Limits } from './limits.js';
import { fragmentsOf } from './plan/collect-fields.js';
import { QUERY } from './schema/fields.js';
import { schemaFor } from './schema/schema-for.js';
import { findMergeErrors } from './validation/fields-merge.js';
import { VALIDATION_RULES } from './validation/rules.js';
import { withTypedReferences } from './validation/typed-references.js';

/** A document that was parsed and found valid. */
export interface PreparedDocument {
  /** Tells it from all others; its plans are kept by it. */
  readonly number: number;
  readonly model: FhirModel;
  readonly tokens: number;
  readonly root: string;
  readonly dialect: Dialect;
  readonly operations: readonly OperationDefinitionNode[];
  readonly fragments: ReadonlyMap<string, FragmentDefinitionNode>;
  /** Variables that `@skip` and `@include` ask about; each combination of their truth has a plan of its own. */
  readonly conditions: readonly string[];
}

/** A document that cannot be executed: what is wrong with it. */
export class DocumentErrors extends Error {
  readonly code = 'invalid';

  constructor(readonly errors: readonly GraphQLError[]) {
    super('The document is not valid');
  }
}

/** Documents by root type and text. A token of a parsed document takes about 430 bytes, so all of them at most 43 MB. */
const BY_TEXT = perModel(
  () =>
    new LRUCache<string, PreparedDocument>({
      max: 1000,
      maxSize: 100_000,
      sizeCalculation: ({ tokens }, key) => tokens + Math.ceil(key.length / 430),
    }),
);
const BY_DOCUMENT = perModel(() => new WeakMap<DocumentNode, Map<string, PreparedDocument>>());

let documents = 0;

/**
 * Parses and validates a query, or finds it in the cache.
 *
 * @param root `Query`, or the type of the instance the query is about
 * @throws DocumentErrors - it is malformed or does not fit the schema
 * @throws FhirError `invalid` - an object that is no document
 * @throws LimitError `queryLength`, `tokens`, `depth`
 */
export function prepareDocument(
  model: FhirModel,
  query: string | DocumentNode,
  limits: Limits,
  dialect: Dialect = DEFAULT_DIALECT,
  root: string = QUERY,
  observer?: Observer,
): PreparedDocument {
  if (typeof query !== 'string') return prepareParsed(model, query, limits, dialect, root, observer);
  assertQueryLength(query, limits);
  const key = `${dialect} ${root}\n${query}`;
  const byText = BY_TEXT(model);
  let prepared = byText.get(key);
  countLookup(observer, 'documents', prepared !== undefined);
  if (prepared === undefined) {
    const parsed = inSpan(observer, 'fhirgraph.parse', () => parseQuery(query, limits));
    prepared = inSpan(observer, 'fhirgraph.validate', () => checkDocument(model, parsed, limits, dialect, root));
    byText.set(key, prepared);
  }
  // Another caller may have been allowed more.
  if (prepared.tokens > limits.tokens) throw tooManyTokens(limits);
  return prepared;
}

function prepareParsed(
  model: FhirModel,
  document: DocumentNode,
  limits: Limits,
  dialect: Dialect,
  root: string,
  observer: Observer | undefined,
): PreparedDocument {
  assertDocument(document, limits);
  const byDocument = BY_DOCUMENT(model);
  let byRoot = byDocument.get(document);
  if (byRoot === undefined) byDocument.set(document, (byRoot = new Map<string, PreparedDocument>()));
  const key = `${dialect} ${root}`;
  let prepared = byRoot.get(key);
  countLookup(observer, 'documents', prepared !== undefined);
  if (prepared === undefined) {
    prepared = inSpan(observer, 'fhirgraph.validate', () => checkForeign(model, document, limits, dialect, root));
    byRoot.set(key, prepared);
  }
  if (prepared.tokens > limits.tokens) throw tooManyTokens(limits);
  return prepared;
}

/** Checks a document that somebody else has made, be it of the nodes that a parser makes or not. */
function checkForeign(
  model: FhirModel,
  document: DocumentNode,
  limits: Limits,
  dialect: Dialect,
  root: string,
): PreparedDocument {
  try {
    return checkDocument(model, document, limits, dialect, root);
  } catch (error) {
    if (error instanceof RangeError) throw tooDeep(limits);
    if (!(error instanceof TypeError)) throw error;
    throw new FhirError('invalid', 'The document is malformed; pass a text, or what a GraphQL parser made of it', {
      cause: error,
    });
  }
}

function parseQuery(query: string, limits: Limits): DocumentNode {
  try {
    // graphql 17 would let empty selections pass, which GraphQL's grammar and graphql 16 do not.
    return parse(query, { maxTokens: limits.tokens, allowEmptySelectionSets: false });
  } catch (error) {
    if (error instanceof RangeError) throw tooDeep(limits);
    if (!(error instanceof GraphQLError)) throw error;
    if (
      error.message.includes(`more that ${limits.tokens} tokens`) ||
      error.message.includes(`more than ${limits.tokens} tokens`)
    ) {
      throw tooManyTokens(limits);
    }
    throw new DocumentErrors([error]);
  }
}

function checkDocument(
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
  // In dialect `hl7` equal keys are collated, so nothing has to merge.
  const conflicts = dialect === 'hl7' ? [] : findMergeErrors(schema, document, fragments);
  if (conflicts.length > 0) throw new DocumentErrors(conflicts.slice(0, 20));
  const operations = document.definitions.filter((definition) => definition.kind === Kind.OPERATION_DEFINITION);
  documents += 1;
  return {
    number: documents,
    model,
    tokens,
    root,
    dialect,
    operations,
    fragments,
    conditions: conditionVariables([...operations, ...fragments.values()]),
  };
}

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
