import { FhirError, type ErrorCode } from '../../fhir/error.js';
import type { CallOptions } from '../../store/call-options.js';
import type { DocumentNode } from '../graphql-js.js';

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
