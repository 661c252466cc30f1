import { type Sql, sql } from '../../../sql/sql.js';

/** A row of the table. */
export interface Row {
  readonly sort: number;
  readonly subject: number;
  readonly value: string;
  readonly data: string;
}

/** The numbers of a group, each in four bytes. */
export function numbers(column: Sql): Sql {
  return sql`encode(string_agg(int4send(${column}), ''), 'base64')`;
}

export function numbersIn(data: string): Int32Array {
  const bytes = Buffer.from(data, 'base64').swap32();
  return new Int32Array(bytes.buffer.slice(bytes.byteOffset, bytes.byteOffset + bytes.length));
}

export function textOf(bytes: Uint8Array): string {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length).toString('base64');
}
