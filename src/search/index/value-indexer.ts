import type { IndexWriter } from './index-writer.js';

/** Adds the search values of one element value. What is malformed adds nothing; nothing throws. */
export type ValueIndexer = (value: unknown, writer: IndexWriter) => void;
