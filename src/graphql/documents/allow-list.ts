import type { PersistedDocuments, DocumentText } from './documents.js';
import { documentIdOf } from './document-id.js';

/**
 * A closed list of documents: only these are executed.
 *
 * @param documents texts or parsed documents by id, such as the manifest of a client's build, as an object, a Map or
 * pairs. A text is also accepted in place of its id where the id is its SHA-256.
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
