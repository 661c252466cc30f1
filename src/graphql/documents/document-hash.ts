import { sha256Of } from '../../platform/sha256.js';
import { print } from '../graphql-js.js';
import type { PreparedDocument } from '../prepared-document.js';
import type { DocumentText } from './documents.js';
import type { RequestedDocument } from './find-document.js';

/** Longer texts that were never executed are not hashed. */
const MAX_HASHED_LENGTH = 1 << 20;

/** The SHA-256 of a document's text in hex, as persisted documents have it; of a parsed document, of its printed form. */
export function hashOfPrepared(prepared: PreparedDocument, document: DocumentText): string {
  let hash = HASHES.get(prepared);
  if (hash === undefined) {
    HASHES.set(prepared, (hash = sha256Of(typeof document === 'string' ? document : print(document))));
  }
  return hash;
}

const HASHES = new WeakMap<PreparedDocument, string>();

/** The hash of a document that was not executed; undefined if there is no text. */
export function hashOfRequested(requested: RequestedDocument): string | undefined {
  const text: unknown = isText(requested) ? requested : (requested as { readonly query?: unknown } | null)?.query;
  return isText(text) && text.length <= MAX_HASHED_LENGTH ? sha256Of(text) : undefined;
}

function isText(value: unknown): value is string {
  return typeof value === 'string';
}
