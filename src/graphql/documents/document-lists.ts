import { type PersistedDocuments, type DocumentText, documentIdOf } from './documents.js';
import { LRUCache } from 'lru-cache';

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

/** Limits of automatic persisted queries; the least recently used documents are evicted. */
export interface AutomaticDocumentsOptions {
  /** Maximum number of documents. Default 1,000. */
  readonly documents?: number | undefined;
  /** Maximum total length of their texts, in characters. Default 10,000,000. */
  readonly characters?: number | undefined;
}

/**
 * Automatic persisted queries: a client sends the text of a document once, and only its SHA-256 from then on. Any
 * document may be executed, with or without an id, so this saves bandwidth but is not a security measure.
 *
 * Create it once per process and pass it with every request. With several processes behind one address, each asks
 * clients for the text once; a shared cache that implements `PersistedDocuments` avoids that.
 *
 * @example
 * const documents = createAutomaticDocuments();
 * await executeFhirGraphql({ documentId, query }, { store, caller, documents });
 */
export function createAutomaticDocuments({
  documents = 1_000,
  characters = 10_000_000,
}: AutomaticDocumentsOptions = {}): PersistedDocuments {
  const texts = new LRUCache<string, string>({
    max: documents,
    maxSize: characters,
    sizeCalculation: (text) => Math.max(1, text.length),
  });
  return {
    find: (id) => texts.get(id),
    add: (id, text) => void texts.set(id, text),
  };
}
