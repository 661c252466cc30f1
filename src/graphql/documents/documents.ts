import { FhirError, type ErrorCode } from '../../fhir/error.js';
import type { CallOptions } from '../../store/call-options.js';
import { type DocumentNode, print } from '../graphql-js.js';
import { assertDocument, assertDocumentSize } from '../check-document.js';
import { assertQueryLength, type Limits } from '../limits.js';
import { sha256Of } from '../../platform/crypto.js';
import type { PreparedDocument } from '../prepared-document.js';

/**
 * The documents a service knows by id: `ctx.documents`. This package provides `createAllowList` (a closed list) and
 * `createAutomaticDocuments` (learned from clients). A host with a shared cache or its own table implements these two
 * functions.
 *
 * An id is the SHA-256 of the text in 64 lower-case hexadecimal digits, or any other name chosen by the host, as sent
 * by the client. Documents decide which queries run; the caller's access decides what they return.
 */
export interface PersistedDocuments {
  /**
   * Finds a document by id; undefined if unknown. A rejection fails the request as `internal`, or with the code
   * of a FhirError.
   */
  find(id: string, options?: CallOptions): DocumentText | undefined | Promise<DocumentText | undefined>;
  /**
   * Stores a document that a client sent with its SHA-256, after hash and document were validated. Without this method
   * the list is closed: only documents known to `find` are executed, whether a request has the id, the text or both.
   */
  add?(id: string, text: string, options?: CallOptions): void | Promise<void>;
}

/** True if only the host's own documents are executed. */
export function isClosed(
  documents: PersistedDocuments | undefined,
): documents is PersistedDocuments & { readonly add?: undefined } {
  return documents !== undefined && documents.add === undefined;
}

/** A document as text, or parsed. */
export type DocumentText = string | DocumentNode;

/** A request's document by its id, with its text if the client sends both. */
export interface PersistedDocument {
  /** A SHA-256 in hexadecimal digits, with or without the prefix `sha256:`, or another name. */
  readonly documentId: string;
  readonly query?: string | undefined;
}

/** Codes in `extensions.code` that clients of automatic persisted queries expect, in addition to `ErrorCode`. */
export type PersistedQueryCode = keyof typeof PERSISTED_QUERY_ANSWERS;

/**
 * The two standard errors of automatic persisted queries, and their codes in this library. Both are sent with HTTP
 * status 200. See https://www.apollographql.com/docs/apollo-server/performance/apq.
 */
const PERSISTED_QUERY_ANSWERS = {
  /** Send the request again with the text. */
  PERSISTED_QUERY_NOT_FOUND: { code: 'not-found', message: 'PersistedQueryNotFound' },
  /** The service does not support ids; send texts only. */
  PERSISTED_QUERY_NOT_SUPPORTED: { code: 'unsupported', message: 'PersistedQueryNotSupported' },
} as const satisfies { readonly [code: string]: { readonly code: ErrorCode; readonly message: string } };

/** One of {@link PERSISTED_QUERY_ANSWERS}. */
export class PersistedQueryError extends FhirError {
  constructor(readonly wireCode: PersistedQueryCode) {
    const { code, message } = PERSISTED_QUERY_ANSWERS[wireCode];
    super(code, message);
  }
}

/** Maps a code in a response to a code of this library. */
export function errorCodeOf(code: ErrorCode | PersistedQueryCode): ErrorCode {
  return code in PERSISTED_QUERY_ANSWERS
    ? PERSISTED_QUERY_ANSWERS[code as PersistedQueryCode].code
    : (code as ErrorCode);
}

/** In UTF-16 code units. Relay's ids have 32, a SHA-256 with its prefix 71. */
const MAX_ID_LENGTH = 256;

/**
 * Normalizes a document id: a SHA-256 becomes lower case without prefix, other ids are unchanged.
 *
 * @throws FhirError `invalid` - empty, too long, or not a string
 */
export function documentIdOf(id: unknown): string {
  if (typeof id !== 'string' || id === '' || id.length > MAX_ID_LENGTH) {
    throw new FhirError('invalid', `The id of a document must be a string of 1 to ${MAX_ID_LENGTH} characters`);
  }
  const bare = id.startsWith('sha256:') ? id.slice('sha256:'.length) : id;
  return SHA256.test(bare) ? bare.toLowerCase() : id;
}

const SHA256 = /^[0-9a-f]{64}$/i;

/** The forms of a document in a request. */
export type RequestedDocument = DocumentText | PersistedDocument;

interface FoundDocument {
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

/** Longer texts that were never executed are not hashed. */
const MAX_HASHED_LENGTH = 1 << 20;

/** The SHA-256 of a document's text in hex, as persisted documents have it; of a parsed document, of its printed form. */
export function hashOfPrepared(prepared: PreparedDocument, document: DocumentText): string {
  return (prepared.hash ??= sha256Of(typeof document === 'string' ? document : print(document)));
}

/** The hash of a document that was not executed; undefined if there is no text. */
export function hashOfRequested(requested: RequestedDocument): string | undefined {
  const text: unknown = isText(requested) ? requested : (requested as { readonly query?: unknown } | null)?.query;
  return isText(text) && text.length <= MAX_HASHED_LENGTH ? sha256Of(text) : undefined;
}

function isText(value: unknown): value is string {
  return typeof value === 'string';
}
