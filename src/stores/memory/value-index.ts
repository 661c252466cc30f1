import type { SearchSubject } from '../../search/evaluate/search-subject.js';

/** By what values of a parameter the current resources of a type are found. */
export interface ValueIndex {
  add(subject: SearchSubject): void;
  remove(subject: SearchSubject): void;
  /** Ends the making of the index, in steps. */
  complete?(): Generator<void, void>;
}
