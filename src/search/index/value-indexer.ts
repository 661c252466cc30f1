import type { IndexWriter } from './index-writer.js';

/** Adds the search values of one element value. Malformed values add nothing; it never throws. */
export type ValueIndexer = (value: unknown, writer: IndexWriter) => void;
