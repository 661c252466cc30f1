import { FhirError } from '../../fhir/error.js';
import type { CallOptions } from '../../store/call-options.js';
import { assertDocument, assertDocumentSize } from '../check-document.js';
import { print, type DocumentNode } from '../graphql-js.js';
import { assertQueryLength, type Limits } from '../limits.js';
import { sha256Of } from '../../platform/sha256.js';
import { documentIdOf } from './document-id.js';
import {
  isClosed,
  type PersistedDocuments,
  type DocumentText,
  type PersistedDocument,
  PersistedQueryError,
} from './documents.js';

/** The forms of a document in a request. */
export type RequestedDocument = DocumentText | PersistedDocument;

export interface FoundDocument {
  readonly document: DocumentText;
  /** Stores the document for later requests; called once it is known to be valid. */
  readonly keep?: () => Promise<void>;
}

/**
 * Finds the document of a request by its text or id.
 *
 * | `documents` | text | id | text and id |
 * |---|---|---|---|
 * | left out | is executed | `PERSISTED_QUERY_NOT_SUPPORTED` | text is executed if the id is its hash |
 * | learns (`add`) | is executed | found, or `PERSISTED_QUERY_NOT_FOUND` | text is executed and kept if the id is its hash |
 * | closed | found by its hash, or `forbidden` | found, or `not-found` | found by the id, if the text is the same or hashes to the id |
 *
 * @throws FhirError `invalid` - neither text nor id, a malformed id, or an id that is not the hash of the text
 */
export async function findDocument(
  requested: RequestedDocument,
  documents: PersistedDocuments | undefined,
  limits: Limits,
  options: CallOptions,
): Promise<FoundDocument> {
  if (isPersisted(requested)) return findPersisted(requested, documents, limits, options);
  const document = documentOf(requested);
  return { document: isClosed(documents) ? await findText(document, documents, limits, options) : document };
}

async function findPersisted(
  requested: PersistedDocument,
  documents: PersistedDocuments | undefined,
  limits: Limits,
  options: CallOptions,
): Promise<FoundDocument> {
  const id = documentIdOf(requested.documentId);
  const { query } = requested;
  if (query === undefined) return { document: await findId(id, documents, options) };
  assertQueryLength(assertText(query), limits);
  if (isClosed(documents)) {
    const document = await findId(id, documents, options);
    if (document !== query) assertHash(query, id);
    return { document };
  }
  assertHash(query, id);
  return documents === undefined
    ? { document: query }
    : { document: query, keep: async () => documents.add?.(id, query, options) };
}

function isPersisted(requested: RequestedDocument): requested is PersistedDocument {
  return typeof requested === 'object' && (requested as object | null) !== null && 'documentId' in requested;
}

function documentOf(requested: unknown): DocumentText {
  if (typeof requested === 'object' && requested !== null && (requested as { kind?: unknown }).kind === 'Document') {
    return requested as DocumentNode;
  }
  return assertText(requested);
}

function assertText(query: unknown): string {
  if (typeof query === 'string' && query.trim() !== '') return query;
  throw new FhirError('invalid', 'A query must be given: the text of a GraphQL document');
}

async function findId(
  id: string,
  documents: PersistedDocuments | undefined,
  options: CallOptions,
): Promise<DocumentText> {
  if (documents === undefined) throw new PersistedQueryError('PERSISTED_QUERY_NOT_SUPPORTED');
  const found = await documents.find(id, options);
  if (found !== undefined) return found;
  if (documents.add !== undefined) throw new PersistedQueryError('PERSISTED_QUERY_NOT_FOUND');
  throw new FhirError('not-found', 'No document with this id is known here');
}

/**
 * Looks a document up by its text. The listed document is executed: a parsed document may differ from its printed form.
 */
async function findText(
  document: DocumentText,
  documents: PersistedDocuments,
  limits: Limits,
  options: CallOptions,
): Promise<DocumentText> {
  const text = typeof document === 'string' ? document : printed(document, limits);
  assertQueryLength(text, limits);
  const found = await documents.find(sha256Of(text), options);
  if (found !== undefined) return found;
  throw new FhirError('forbidden', 'Only documents on the list are executed; send the id of one of them');
}

/** Printing recurses and indents, so the size is checked first. */
function printed(document: DocumentNode, limits: Limits): string {
  assertDocument(document, limits);
  // The cached document may have been allowed by other limits.
  assertDocumentSize(document, limits);
  return print(document);
}

function assertHash(text: string, id: string): void {
  if (sha256Of(text) === id) return;
  throw new FhirError('invalid', 'The id is not the SHA-256 of the query sent with it');
}
