import type { PersistedDocuments, DocumentText } from './documents.js';
import { documentIdOf } from './document-id.js';

/**
 * Creates an allow list: only these documents are executed.
 *
 * @param documents documents by id, as text or parsed, such as the manifest of a client's build: an object, a Map or
 * pairs. If the id is the SHA-256 of the text, clients can also send the text.
 * @throws FhirError `invalid` - a malformed id
 *
 * @example
 * const documents = createAllowList(JSON.parse(await readFile('persisted-documents.json', 'utf8')));
 * await executeFhirGraphql({ documentId }, { store, caller, documents });
 */
export function createAllowList(
  documents: { readonly [id: string]: DocumentText } | Iterable<readonly [id: string, document: DocumentText]>,
): PersistedDocuments {
  const pairs =
    Symbol.iterator in documents ? (documents as Iterable<readonly [string, DocumentText]>) : Object.entries(documents);
  const byId = new Map(Array.from(pairs, ([id, document]) => [documentIdOf(id), document]));
  return { find: (id) => byId.get(id) };
}
