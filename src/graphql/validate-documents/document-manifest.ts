import { FhirError } from '../../fhir/error.js';
import { isJsonObject } from '../../fhir/resource.js';
import { documentIdOf, type DocumentText } from '../documents/documents.js';

/**
 * The documents of a client's build by id: the object that Relay's compiler and graphql-codegen's client preset write,
 * a Map or pairs, or the manifest of Apollo's `generate-persisted-query-manifest`.
 */
export type DocumentManifest =
  { readonly [id: string]: DocumentText } | Iterable<readonly [id: string, document: DocumentText]> | ApolloManifest;

/** See https://www.apollographql.com/docs/kotlin/advanced/persisted-queries. */
export interface ApolloManifest {
  readonly format: 'apollo-persisted-query-manifest';
  readonly operations: readonly { readonly id: string; readonly body: string }[];
}

/** A document to validate; without an id if it was passed alone. */
export interface ListedDocument {
  readonly id: string | undefined;
  readonly document: DocumentText;
}

/**
 * Lists the documents of a manifest, or the one document given.
 *
 * @throws FhirError `invalid` - neither a document nor a manifest, a malformed id, or two documents of one id
 */
export function listDocuments(given: DocumentText | DocumentManifest): readonly ListedDocument[] {
  if (isDocument(given)) return [{ id: undefined, document: given }];
  const pairs = pairsOf(given);
  const listed = new Map<string, ListedDocument>();
  for (const pair of pairs) {
    const [name, document]: readonly unknown[] = Array.isArray(pair) ? pair : [];
    const id = documentIdOf(name);
    if (!isDocument(document)) {
      throw new FhirError('invalid', 'Each entry of a manifest must have an id and a document: a text or a parsed one');
    }
    if (listed.has(id)) throw new FhirError('invalid', 'The manifest has two documents with the same id');
    listed.set(id, { id, document });
  }
  return [...listed.values()];
}

function pairsOf(given: unknown): Iterable<unknown> {
  if (typeof given !== 'object' || given === null) {
    throw new FhirError('invalid', 'Pass the text of a document, a parsed document, or a manifest of documents by id');
  }
  if (Symbol.iterator in given) return given as Iterable<unknown>;
  const { format, operations } = given as { readonly format?: unknown; readonly operations?: unknown };
  if (format !== 'apollo-persisted-query-manifest') return Object.entries(given);
  if (!Array.isArray(operations)) throw new FhirError('invalid', 'The manifest must have a list "operations"');
  return operations.map((operation: unknown) =>
    isJsonObject(operation) ? [operation['id'], operation['body']] : [undefined, undefined],
  );
}

function isDocument(given: unknown): given is DocumentText {
  return typeof given === 'string' || (isJsonObject(given) && given['kind'] === 'Document');
}
