import type { SkipRow } from '../../rows/skip-row.js';

/** Rows packed into two values, which move between threads quickly; thousands of small arrays take long. */
export interface PackedRows {
  /** JSON: sort, subject, value, and the data or the length of its bytes. */
  readonly index: string;
  /** The bytes of all rows, one after another. */
  readonly bytes: Uint8Array;
  readonly isEmpty: boolean;
}

export function packRows(rows: Iterable<SkipRow>): PackedRows {
  const index: unknown[] = [];
  const parts: Uint8Array[] = [];
  for (const { sort, subject, value, data } of rows) {
    index.push([sort, subject, value, typeof data === 'string' ? data : data.length]);
    if (typeof data !== 'string') parts.push(data);
  }
  const bytes = new Uint8Array(parts.reduce((sum, { length }) => sum + length, 0));
  let offset = 0;
  for (const part of parts) {
    bytes.set(part, offset);
    offset += part.length;
  }
  return { index: JSON.stringify(index), bytes, isEmpty: index.length === 0 };
}

export function* unpackRows({ index, bytes }: PackedRows): Generator<SkipRow> {
  let offset = 0;
  for (const [sort, subject, value, data] of JSON.parse(index) as [
    number,
    number,
    string | number,
    string | number,
  ][]) {
    if (typeof data === 'string') yield { sort, subject, value, data };
    else yield { sort, subject, value, data: bytes.slice(offset, (offset += data)) };
  }
}
