import type { MarkedEntries } from '../../sql/extremes.js';
import { INDEX_TABLES, type ValueTable } from '../../sql/index-tables.js';
import type { Dictionaries } from './dictionary.js';
import { addIndexRows, INDEX_COLUMNS, type IndexOwner } from './index-rows.js';
import { RowBuffer } from './row-buffer.js';
import type { Statements } from '../database/statements.js';

/**
 * Keeps the index tables consistent with the resources. Only inside a transaction, which must end with {@link flush} or
 * {@link clear}.
 */
export class IndexWriter {
  readonly #rows: { readonly [Table in ValueTable]: RowBuffer };

  constructor(
    private readonly statements: Statements,
    private readonly dictionaries: Dictionaries,
  ) {
    const buffer = (table: ValueTable): RowBuffer => new RowBuffer(statements, table, INDEX_COLUMNS[table]);
    this.#rows = {
      token: buffer('token'),
      string: buffer('string'),
      date: buffer('date'),
      quantity: buffer('quantity'),
      reference: buffer('reference'),
      uri: buffer('uri'),
    };
  }

  /** Adds a resource that is in no index. */
  add(owner: IndexOwner, marked: MarkedEntries): void {
    addIndexRows(owner, marked, this.dictionaries, this.#rows);
  }

  /** Takes a resource out of every index. */
  remove(resource: number): void {
    this.flush();
    for (const table of INDEX_TABLES) this.statements.write(REMOVE[table]).run(resource);
  }

  /** Takes the values of some parameters of a resource out of every index. */
  removeParameters(resource: number, parameters: readonly number[]): void {
    if (parameters.length === 0) return;
    this.flush();
    for (const table of INDEX_TABLES) {
      this.statements.write(REMOVE_PARAMETERS[table]).run(resource, JSON.stringify(parameters));
    }
  }

  /** Writes all added rows: before every look-up in the index, and at the end. */
  flush(): void {
    for (const buffer of Object.values(this.#rows)) buffer.flush();
  }

  /** Discards added rows that were not written, after a rollback. */
  clear(): void {
    for (const buffer of Object.values(this.#rows)) buffer.clear();
  }
}

const REMOVE: { readonly [Table in ValueTable]: string } = {
  token: 'DELETE FROM token WHERE resource = ?',
  string: 'DELETE FROM string WHERE resource = ?',
  date: 'DELETE FROM date WHERE resource = ?',
  quantity: 'DELETE FROM quantity WHERE resource = ?',
  reference: 'DELETE FROM reference WHERE resource = ?',
  uri: 'DELETE FROM uri WHERE resource = ?',
};

const REMOVE_PARAMETERS = Object.fromEntries(
  INDEX_TABLES.map((table) => [
    table,
    `DELETE FROM ${table} WHERE resource = ? AND parameter IN (SELECT value FROM json_each(?))`,
  ]),
) as { readonly [Table in ValueTable]: string };
