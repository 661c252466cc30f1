import { LRUCache } from 'lru-cache';
import type { PersistedDocuments } from './documents.js';

/** Limits of automatic persisted queries; the least recently used documents are evicted. */
export interface AutomaticDocumentsOptions {
  /** Maximum number of documents. Default 1,000. */
  readonly documents?: number | undefined;
  /** Maximum total length of their texts, in characters. Default 10,000,000. */
  readonly characters?: number | undefined;
}

/**
 * Automatic persisted queries: documents are learned from the clients, which send the text once and its SHA-256 from then
 * on. Any text may be executed, with or without an id; this saves bandwidth and protects nothing.
 *
 * Make it once per process and pass it with every request. Several processes behind one address do better with a shared
 * cache behind `PersistedDocuments`; each of them alone asks for a text again, and answers no worse.
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
