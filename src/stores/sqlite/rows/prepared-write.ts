import type { Write } from '../../../store/write.js';
import type { MarkedEntries } from '../../sql/extremes.js';

/** A write whose preparation needs no transaction. */
export type PreparedWrite = Exclude<Write, { readonly kind: 'put' }> | PreparedPut;

export type PreparedPut = Extract<Write, { readonly kind: 'put' }> & {
  /** The index entries of the resource. */
  readonly marked: MarkedEntries;
  /** The text that is stored if this is the first version of its resource. */
  readonly firstText?: FirstText | undefined;
};

export interface FirstText {
  readonly text: string;
  /** ISO 8601; a text of another instant than that of its commit is not stored. */
  readonly lastUpdated: string;
}
