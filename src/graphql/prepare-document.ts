import { LRUCache } from 'lru-cache';
import { FhirError } from '../fhir/error.js';
import { type FhirModel, perModel } from '../fhir/model/fhir-model.js';
import { inSpan, type Observer } from '../telemetry/observer.js';
import { assertDocument, tooManyTokens, assertDocumentSize } from './check-document.js';
import { DEFAULT_DIALECT, type Dialect } from './dialect.js';
import {
  type DocumentNode,
  Kind,
  type FragmentDefinitionNode,
  type OperationDefinitionNode,
  type SelectionSetNode,
  GraphQLError,
  parse,
} from './graphql-js.js';
import { assertQueryLength, tooDeep, type Limits } from './limits.js';
import { type PreparedDocument, DocumentErrors } from './prepared-document.js';
import { QUERY } from './schema/fields.js';
import { oncePer } from '../platform/collections.js';
import { Pace } from '../platform/pace.js';
import { fragmentsOf } from './plan/collect-fields.js';
import { onFirstUse } from '../platform/shared-work.js';
import { nextTurn } from '../platform/runtime.js';
import { isPlainDocument } from './validation/plain-document.js';

/** Documents by root type and text. A token of a parsed document takes about 430 bytes, so all of them at most 43 MB. */
const BY_TEXT = perModel(
  () =>
    new LRUCache<string, PreparedDocument>({
      max: 1000,
      maxSize: 100_000,
      sizeCalculation: ({ tokens }, key) => tokens + Math.ceil(key.length / 430),
    }),
);

/** Documents that hosts pass in repeatedly as objects, by root type. */
const BY_DOCUMENT = perModel(() => oncePer((_document: DocumentNode) => new Map<string, PreparedDocument>()));

/**
 * Parses and validates a query, or finds it in the cache.
 *
 * @param root `Query`, or the type of the instance the query is executed on
 * @throws DocumentErrors - the document is malformed or does not fit the schema
 * @throws FhirError `invalid` - an object that is not a document
 * @throws LimitError `queryLength`, `tokens`, `depth`
 */
export async function prepareDocument(
  model: FhirModel,
  query: string | DocumentNode,
  limits: Limits,
  dialect: Dialect = DEFAULT_DIALECT,
  root: string = QUERY,
  observer?: Observer,
): Promise<PreparedDocument> {
  if (typeof query === 'string') assertQueryLength(query, limits);
  else assertDocument(query, limits);
  const cache = typeof query === 'string' ? BY_TEXT(model) : cacheOf(model, query);
  const prepared = cache.get(keyOf(query, dialect, root));
  // A text can be the key of another document, but no document has such a text.
  const isFound = prepared?.dialect === dialect && prepared.root === root;
  observer?.instruments?.lookups.add(1, { 'fhirgraph.cache': 'documents', 'fhirgraph.hit': isFound });
  if (!isFound) {
    const document = await validateNew(model, query, limits, dialect, root, observer);
    cache.set(keyOf(query, dialect, root), document);
    return document;
  }
  // The cached document may have been accepted under other limits.
  if (prepared.tokens > limits.tokens) throw tooManyTokens(limits);
  return prepared;
}

/** PERF (one-patient): most documents are found by their text alone. Joining and hashing a longer key takes a microsecond. */
function keyOf(query: string | DocumentNode, dialect: Dialect, root: string): string {
  if (typeof query !== 'string') return `${dialect} ${root}`;
  return dialect === DEFAULT_DIALECT && root === QUERY ? query : `${dialect} ${root}\n${query}`;
}

async function validateNew(
  model: FhirModel,
  query: string | DocumentNode,
  limits: Limits,
  dialect: Dialect,
  root: string,
  observer: Observer | undefined,
): Promise<PreparedDocument> {
  const pace = new Pace();
  const document =
    typeof query === 'string' ? inSpan(observer, 'fhirgraph.parse', () => parseQuery(query, limits)) : query;
  if (pace.isSpent) await pace.next();
  const validate = typeof query === 'string' ? validateDocument : validateForeign;
  return inSpan(observer, 'fhirgraph.validate', () => validate(model, document, limits, dialect, root));
}

function cacheOf(model: FhirModel, document: DocumentNode): Map<string, PreparedDocument> {
  return BY_DOCUMENT(model)(document);
}

/** Validates a document from another parser, which may have arbitrary nodes. */
async function validateForeign(
  ...[model, document, limits, dialect, root]: Parameters<typeof validateDocument>
): Promise<PreparedDocument> {
  try {
    return await validateDocument(model, document, limits, dialect, root);
  } catch (error) {
    if (error instanceof RangeError) throw tooDeep(limits);
    if (!(error instanceof TypeError)) throw error;
    throw new FhirError('invalid', 'The document is malformed; pass its text, or the result of a GraphQL parser', {
      cause: error,
    });
  }
}

/** The number of valid documents so far, the source of their numbers. */
let documents = 0;

/**
 * Checks a parsed document against the schema whose root is `root`.
 *
 * @throws DocumentErrors - it does not fit the schema
 * @throws LimitError `tokens`, `depth`, `fields`
 */
async function validateDocument(
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

/** PERF (start): loaded with the first document that is not plain. */
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

/**
 * Parses the text of a query.
 *
 * @throws DocumentErrors - the text is malformed
 * @throws LimitError `tokens`, `depth`
 */
function parseQuery(query: string, limits: Limits): DocumentNode {
  try {
    // graphql 17 accepts empty selections, which GraphQL's grammar and graphql 16 reject.
    return parse(query, { maxTokens: limits.tokens, allowEmptySelectionSets: false });
  } catch (error) {
    if (error instanceof RangeError) throw tooDeep(limits);
    if (!(error instanceof GraphQLError)) throw error;
    // "more that" is the spelling of graphql 16.
    const isTooLong = ['than', 'that'].some((word) => error.message.includes(`more ${word} ${limits.tokens} tokens`));
    if (isTooLong) throw tooManyTokens(limits);
    throw new DocumentErrors([withUnderscores(error, query)]);
  }
}

/** FHIR's search parameters have hyphens, which GraphQL's grammar reads as the beginning of a number. */
function withUnderscores(error: GraphQLError, query: string): GraphQLError {
  const at = error.positions?.[0];
  if (at === undefined || !error.message.includes('expected digit')) return error;
  const before = /[A-Za-z_][\w-]{0,63}-$/.exec(query.slice(Math.max(0, at - 65), at))?.[0];
  const after = /^\w[\w-]{0,63}/.exec(query.slice(at, at + 65))?.[0];
  if (before === undefined || after === undefined) return error;
  const name = `${before}${after}`.replaceAll('-', '_');
  const { source, positions } = error;
  return new GraphQLError(`${error.message} Did you mean "${name}"?`, {
    ...(source === undefined ? {} : { source }),
    ...(positions === undefined ? {} : { positions }),
  });
}

/** Whether a document uses FHIRPath, so that the library must be loaded. */
function usesFhirPath(definitions: readonly (OperationDefinitionNode | FragmentDefinitionNode)[]): boolean {
  return definitions.some(({ selectionSet }) => isUsedIn(selectionSet));
}

function isUsedIn({ selections }: SelectionSetNode): boolean {
  return selections.some((selection) => {
    if (selection.directives?.some(({ name }) => name.value === 'slice') === true) return true;
    if (selection.kind === Kind.FRAGMENT_SPREAD) return false;
    if (selection.kind === Kind.FIELD && selection.arguments?.some(({ name }) => name.value === 'fhirpath') === true) {
      return true;
    }
    return selection.selectionSet !== undefined && isUsedIn(selection.selectionSet);
  });
}
