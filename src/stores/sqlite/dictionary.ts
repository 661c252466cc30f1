import { LRUCache } from 'lru-cache';
import { type SqliteDatabase } from './driver.js';
import { type Statements } from './statements.js';

/** The tables that give numbers to names. See schema.ts. */
export interface Dictionaries {
  /** (project, type) */
  readonly collections: Dictionary<[project: string, type: string]>;
  /** (collection, code) */
  readonly parameters: Dictionary<[collection: number, code: string]>;
  /** (uri) */
  readonly systems: Dictionary<[uri: string]>;
  /** (collection, id) */
  readonly resources: Dictionary<[collection: number, id: string]>;
}

export function createDictionaries(database: SqliteDatabase, statements: Statements): Dictionaries {
  return {
    collections: new Dictionary(database, statements, 'collection', 10_000),
    parameters: new Dictionary(database, statements, 'parameter', 50_000),
    systems: new Dictionary(database, statements, 'system', 10_000),
    resources: new Dictionary(database, statements, 'resource', 50_000),
  };
}

/** Ends a transaction for all of them. See {@link Dictionary.settle}. */
export function settleAll(dictionaries: Dictionaries, committed: boolean): void {
  for (const dictionary of Object.values(dictionaries) as Dictionary<[string]>[]) dictionary.settle(committed);
}

/**
 * One table of names and their numbers.
 *
 * A number, once committed, stays forever, so it may be remembered; a missing one may be made by another process at any
 * time, so its absence may not. What is learned inside a transaction is remembered only after {@link settle}.
 */
export class Dictionary<Name extends readonly (string | number)[]> {
  readonly #database: SqliteDatabase;
  readonly #statements: Statements;
  readonly #findText: string;
  readonly #makeText: string;
  readonly #known: LRUCache<string, number>;
  readonly #fresh = new Map<string, number>();

  /** @param max how many names are remembered. */
  constructor(database: SqliteDatabase, statements: Statements, table: keyof typeof COLUMNS, max: number) {
    const columns = COLUMNS[table];
    this.#database = database;
    this.#statements = statements;
    this.#findText = `SELECT key FROM ${table} WHERE ${columns.map((column) => `${column} = ?`).join(' AND ')}`;
    this.#makeText = `INSERT INTO ${table} (${columns.join(', ')}) VALUES (${columns.map(() => '?').join(', ')})`;
    this.#known = new LRUCache({ max });
  }

  /** The number of a name; undefined where it has none yet. */
  find(...name: Name): number | undefined {
    const text = textOf(name);
    const known = this.#known.get(text) ?? this.#fresh.get(text);
    if (known !== undefined) return known;
    const row = this.#statements.read(this.#findText).get(...name) as [number] | undefined;
    if (row !== undefined) (this.#database.inTransaction ? this.#fresh : this.#known).set(text, row[0]);
    return row?.[0];
  }

  /** The number of a name, made if need be. Only inside a transaction. */
  intern(...name: Name): number {
    const found = this.find(...name);
    if (found !== undefined) return found;
    const key = Number(this.#statements.write(this.#makeText).run(...name).lastInsertRowid);
    this.#fresh.set(textOf(name), key);
    return key;
  }

  /** Ends a transaction: what was learned in it is kept, or forgotten after a rollback. */
  settle(committed: boolean): void {
    if (this.#fresh.size === 0) return;
    if (committed) for (const [text, key] of this.#fresh) this.#known.set(text, key);
    this.#fresh.clear();
  }
}

const COLUMNS = {
  collection: ['project', 'type'],
  parameter: ['collection', 'code'],
  system: ['uri'],
  resource: ['collection', 'id'],
} as const;

/** One text per name: the length of the first part keeps ("a", "bc") and ("ab", "c") apart, whatever they contain. */
function textOf(name: readonly (string | number)[]): string {
  const first = String(name[0]);
  return name.length === 1 ? first : `${first.length}:${first}${name[1]!}`;
}
