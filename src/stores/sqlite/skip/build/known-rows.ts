import type { SqlValue } from '../../../sql/sql.js';
import type { SystemsOf } from '../../rows/skip-row.js';
import type { KnownGranules } from './granules.js';

/** The rows of a skip index to rebuild. */
export interface KnownRows {
  /** The range of keys. Its first and last key may belong to resources that have been deleted since. */
  readonly range: { readonly first: number; readonly size: number };
  granules(sort: number, subject: number): KnownGranules | undefined;
  /** The codes or targets of a parameter that have sets. */
  values(subject: number): readonly SqlValue[];
  /** The systems of a code, or of all values of a parameter; undefined if none are kept. */
  systems(parameter: number, code: string | undefined): SystemsOf | undefined;
  /** The codes of a composite whose groups are kept, each with the subject of their order. @param value its component */
  groups(value: number): readonly (readonly [code: string, subject: number])[];
}
