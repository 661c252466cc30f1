import { LRUCache } from 'lru-cache';
import { FhirError } from '../fhir/error.js';
import type { FhirModel } from '../fhir/model/fhir-model.js';
import { perModel } from '../fhir/model/per-model.js';
import { inSpan, type Observer } from '../telemetry/observer.js';
import { assertDocument, tooManyTokens } from './check-document.js';
import { countLookup } from './count-lookup.js';
import { DEFAULT_DIALECT, type Dialect } from './dialect.js';
import type { DocumentNode } from './graphql-js.js';
import { assertQueryLength, tooDeep, type Limits } from './limits.js';
import { parseQuery } from './parse-query.js';
import type { PreparedDocument } from './prepared-document.js';
import { QUERY } from './schema/fields.js';
import { validateDocument } from './validate-document.js';
import { getOrCreate } from '../platform/maps.js';
import { Pace } from '../platform/pace.js';

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
const BY_DOCUMENT = perModel(() => new WeakMap<DocumentNode, Map<string, PreparedDocument>>());

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
  countLookup(observer, 'documents', isFound);
  if (!isFound) {
    const document = await validateNew(model, query, limits, dialect, root, observer);
    cache.set(keyOf(query, dialect, root), document);
    return document;
  }
  // The cached document may have been accepted under other limits.
  if (prepared.tokens > limits.tokens) throw tooManyTokens(limits);
  return prepared;
}

/** PERF: most documents are found by their text alone. Joining and hashing a longer key takes a microsecond. */
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
  const byDocument = BY_DOCUMENT(model);
  return getOrCreate(byDocument, document, () => new Map<string, PreparedDocument>());
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
