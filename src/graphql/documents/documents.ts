import { FhirError, type ErrorCode } from '../../fhir/error.js';
import type { CallOptions } from '../../store/store.js';
import type { DocumentNode } from '../graphql-js.js';

/**
 * The documents that a service knows by id: `ctx.documents`. The box holds `createAllowList`, a closed list, and
 * `createAutomaticDocuments`, which learns; a host with a shared cache or a table of its own writes these two functions.
 *
 * An id is the SHA-256 of the text in 64 lower-case hexadecimal digits, or whatever else the host named its documents by,
 * as it comes from the client. Documents say what may be asked, never who may see the answer: that the caller decides.
 */
export interface PersistedDocuments {
  /** The document of an id; undefined for none. What it rejects with fails the request as `internal`, or as a FhirError says. */
  find(id: string, options?: CallOptions): DocumentText | undefined | Promise<DocumentText | undefined>;
  /**
   * Keeps a document that came with its SHA-256, after it was checked to have that hash and to be valid. Where this is left
   * out the list is closed: only what `find` knows is executed, whether a request brings the id, the text or both.
   */
  add?(id: string, text: string, options?: CallOptions): void | Promise<void>;
}

/** True where nothing but the host's own documents is executed. */
export function isClosed(
  documents: PersistedDocuments | undefined,
): documents is PersistedDocuments & { readonly add?: undefined } {
  return documents !== undefined && documents.add === undefined;
}

/** A document as text, or parsed. */
export type DocumentText = string | DocumentNode;

/** A request's document by its id, with its text where the client sends both. */
export interface PersistedDocument {
  /** A SHA-256 in hexadecimal digits, with or without `sha256:` before it, or another name. */
  readonly documentId: string;
  readonly query?: string | undefined;
}

/** Codes in `extensions.code` that clients of automatic persisted queries wait for, beside those of `ErrorCode`. */
export type PersistedQueryCode = keyof typeof PERSISTED_QUERY_ANSWERS;

/**
 * The two answers of automatic persisted queries in the words that clients know, and the code that each has among ours.
 * Both are to be sent with HTTP status 200. See https://www.apollographql.com/docs/apollo-server/performance/apq.
 */
export const PERSISTED_QUERY_ANSWERS = {
  /** Send the request again with the text. */
  PERSISTED_QUERY_NOT_FOUND: { code: 'not-found', message: 'PersistedQueryNotFound' },
  /** This service knows no ids; send texts only. */
  PERSISTED_QUERY_NOT_SUPPORTED: { code: 'unsupported', message: 'PersistedQueryNotSupported' },
} as const satisfies { readonly [code: string]: { readonly code: ErrorCode; readonly message: string } };

/** One of {@link PERSISTED_QUERY_ANSWERS}. */
export class PersistedQueryError extends FhirError {
  constructor(readonly wireCode: PersistedQueryCode) {
    const { code, message } = PERSISTED_QUERY_ANSWERS[wireCode];
    super(code, message);
  }
}

/** What a code in a response is among the codes of this library. */
export function errorCodeOf(code: ErrorCode | PersistedQueryCode): ErrorCode {
  return code in PERSISTED_QUERY_ANSWERS
    ? PERSISTED_QUERY_ANSWERS[code as PersistedQueryCode].code
    : (code as ErrorCode);
}
