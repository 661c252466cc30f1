import { FhirError } from '../../fhir/error.js';
import type { CallOptions } from '../../store/store.js';
import { assertDocument, assertDocumentSize } from '../check-document.js';
import { print, type DocumentNode } from '../graphql-js.js';
import { assertQueryLength, type Limits } from '../limits.js';
import { documentIdOf, sha256Of } from './document-id.js';
import {
  isClosed,
  type PersistedDocuments,
  type DocumentText,
  type PersistedDocument,
  PersistedQueryError,
} from './documents.js';

/** What a request may bring as its document. */
export type RequestedDocument = DocumentText | PersistedDocument;

export interface FoundDocument {
  readonly document: DocumentText;
  /** Keeps the document for requests to come; to be called once it is known to be valid. */
  readonly keep?: () => void | Promise<void>;
}

/**
 * The document of a request, from its text or its id.
 *
 * | `documents` | text | id | text and id |
 * |---|---|---|---|
 * | left out | is executed | `PERSISTED_QUERY_NOT_SUPPORTED` | text is executed if the id is its hash |
 * | learns (`add`) | is executed | found, or `PERSISTED_QUERY_NOT_FOUND` | text is executed and kept if the id is its hash |
 * | closed | found by its hash, or `forbidden` | found, or `not-found` | found by the id, if the text is the same or hashes to the id |
 *
 * @throws FhirError `invalid` - neither text nor id, a malformed id, or a text whose hash the id is not
 */
export async function findDocument(
  requested: RequestedDocument,
  documents: PersistedDocuments | undefined,
  limits: Limits,
  options: CallOptions,
): Promise<FoundDocument> {
  if (!isPersisted(requested)) {
    const document = documentOf(requested);
    return isClosed(documents) ? { document: await findText(document, documents, limits, options) } : { document };
  }
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
    : { document: query, keep: () => documents.add?.(id, query, options) };
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
  throw new FhirError('not-found', 'No document of this id is known here');
}

/** A document in place of its id. What the list holds is executed: a parsed document may say otherwise than it prints. */
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
  throw new FhirError('forbidden', 'Only documents that are known here are executed; ask with the id of one of them');
}

/** Printing recurses and indents, so the size is known first. */
function printed(document: DocumentNode, limits: Limits): string {
  assertDocument(document, limits);
  // Another caller may have been allowed more.
  assertDocumentSize(document, limits);
  return print(document);
}

function assertHash(text: string, id: string): void {
  if (sha256Of(text) === id) return;
  throw new FhirError('invalid', 'The id given is not the SHA-256 of the query given with it');
}
