import { collationKey } from '../../search/fold.js';
import type { IndexEntry } from '../../search/index-entry.js';
import type { Dictionaries } from './dictionary.js';
import { INDEX_TABLES, type ValueTable } from '../sql/index-tables.js';
import { NO_SYSTEM } from './dialect.js';
import { RowBuffer } from './row-buffer.js';
import type { Statements } from './statements.js';

/** The resource that index rows belong to. */
export interface IndexOwner {
  readonly project: string;
  readonly collection: number;
  /** Key of the `resource` row. */
  readonly resource: number;
}

/**
 * Keeps the index tables equal to what resources say. Only inside a transaction, at whose end stands {@link flush} or
 * {@link clear}.
 */
export class IndexWriter {
  readonly #statements: Statements;
  readonly #dictionaries: Dictionaries;
  readonly #rows: { readonly [Table in ValueTable]: RowBuffer };

  constructor(statements: Statements, dictionaries: Dictionaries) {
    const buffer = (table: ValueTable, ...values: string[]): RowBuffer =>
      new RowBuffer(statements, table, ['resource', 'parameter', 'grp', 'ordinal', ...values]);
    this.#statements = statements;
    this.#dictionaries = dictionaries;
    this.#rows = {
      token: buffer('token', 'code', 'system'),
      string: buffer('string', 'folded', 'text', 'collation'),
      date: buffer('date', 'low', 'high'),
      quantity: buffer('quantity', 'low', 'high', 'system', 'code', 'unit'),
      reference: buffer('reference', 'target'),
      uri: buffer('uri', 'value'),
    };
  }

  /** Adds a resource that is in no index. */
  add({ project, collection, resource }: IndexOwner, entries: readonly IndexEntry[]): void {
    const { parameters } = this.#dictionaries;
    entries.forEach((entry, ordinal) => {
      this.#addRow(project, resource, parameters.intern(collection, entry.parameter), ordinal, entry);
    });
  }

  /** Takes a resource out of every index. */
  remove(resource: number): void {
    this.flush();
    for (const table of INDEX_TABLES) this.#statements.write(REMOVE[table]).run(resource);
  }

  /** Writes everything that was added: before anything is looked up in the index, and at the end. */
  flush(): void {
    for (const buffer of Object.values(this.#rows)) buffer.flush();
  }

  /** Forgets what was added but not written, after a rollback. */
  clear(): void {
    for (const buffer of Object.values(this.#rows)) buffer.clear();
  }

  #addRow(project: string, resource: number, parameter: number, ordinal: number, { group, value }: IndexEntry): void {
    const rows = this.#rows;
    switch (value.kind) {
      case 'token':
        rows.token.push(resource, parameter, group, ordinal, value.code ?? null, this.#system(project, value.system));
        return;
      case 'string': {
        const key = collationKey(value.text);
        const collation = key === value.folded ? null : key;
        rows.string.push(resource, parameter, group, ordinal, value.folded, value.text, collation);
        return;
      }
      case 'date':
        rows.date.push(resource, parameter, group, ordinal, value.low, value.high);
        return;
      case 'number':
        rows.quantity.push(resource, parameter, group, ordinal, value.low, value.high, null, null, null);
        return;
      case 'quantity': {
        const { low, high, code, unit } = value;
        const system = this.#system(project, value.system);
        rows.quantity.push(resource, parameter, group, ordinal, low, high, system, code ?? null, unit ?? null);
        return;
      }
      case 'reference':
        if ('url' in value) {
          rows.uri.push(resource, parameter, group, ordinal, value.url);
        } else {
          rows.reference.push(resource, parameter, group, ordinal, this.#target(project, value.type, value.id));
        }
        return;
      case 'uri':
        rows.uri.push(resource, parameter, group, ordinal, value.value);
    }
  }

  #system(project: string, uri: string | undefined): number {
    return uri === undefined ? NO_SYSTEM : this.#dictionaries.systems.intern(project, uri);
  }

  /** What a reference points to has a number, whether it exists or not. */
  #target(project: string, type: string, id: string): number {
    return this.#dictionaries.resources.intern(this.#dictionaries.collections.intern(project, type), id);
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
