import type { SqliteDatabase } from '../database/driver.js';
import type { Statements } from '../database/statements.js';
import { inTransaction } from '../database/transaction.js';

/**
 * The indexes by value and instant, which searches need and every write maintains.
 *
 * A load into an empty file does without them: the first large commit drops them, and the first search, or the end of
 * the store, creates them again. Sorting all rows once takes a fifth of the time of adding each in its place. The
 * schema of the file is the only record of this, so an interrupted load needs no repair. Only a migration drops them from
 * a file with content.
 */
export class ValueIndexes {
  #areKnown = false;

  /** @param mayBeDropped false for a database in memory or of the host */
  constructor(
    private readonly database: SqliteDatabase,
    private readonly statements: Statements,
    private readonly mayBeDropped: boolean,
  ) {}

  /** True if the file has the indexes for good. From the first search on, this does not read the file. */
  get areKnown(): boolean {
    return this.#areKnown;
  }

  /** Reads whether the file has the indexes. */
  exist(): boolean {
    const [exist, hasContent] = this.statements.read(LOOK).get() as [number, number];
    // Indexes that an open transaction has made may be rolled back.
    this.#areKnown = exist === 1 && hasContent === 1 && !this.database.inTransaction;
    return exist === 1;
  }

  /** Makes the next call read the file again. */
  forget(): void {
    this.#areKnown = false;
  }

  create(): void {
    if (this.database.inTransaction) this.database.exec(CREATE_VALUE_INDEXES);
    else inTransaction(this.database, () => this.database.exec(CREATE_VALUE_INDEXES));
  }

  /** Only inside a transaction that is the first to write content. */
  drop(): void {
    if (!this.mayBeDropped) return;
    for (const name of NAMES) this.database.exec(`DROP INDEX IF EXISTS ${name}`);
  }
}

/** Whether a search failed because a load dropped the indexes after the search had checked for them. */
export function isIndexDropped(error: unknown): boolean {
  const { cause } = error as { readonly cause?: { readonly message?: unknown } | null };
  return DROPPED.test(String(cause?.message));
}

const DROPPED = /^no such index: \w+_by_(?:value|place|end|updated)$/;

const INDEXES: readonly string[] = [
  'token_by_value ON token (parameter, code, resource, system, extreme) WHERE grp = 0',
  'string_by_value ON string (parameter, folded, resource, extreme) WHERE grp = 0',
  'string_by_place ON string (parameter, coalesce(collation, folded), resource, extreme) WHERE grp = 0 AND extreme & 3 <> 0',
  'date_by_value ON date (parameter, low, high, resource, extreme) WHERE grp = 0',
  'date_by_end ON date (parameter, high, low, resource, extreme) WHERE grp = 0 AND high - low > 86400000',
  'quantity_by_value ON quantity (parameter, low, high, resource) WHERE grp = 0 AND system IS NULL',
  'reference_by_value ON reference (target, parameter, resource)',
  'uri_by_value ON uri (parameter, value, resource, extreme) WHERE grp = 0',
  'resource_by_updated ON resource (collection, updated, content) WHERE content IS NOT NULL',
];

/** The file has all of them or none. */
export const CREATE_VALUE_INDEXES = INDEXES.map((text) => `CREATE INDEX IF NOT EXISTS ${text};`).join('\n');

const NAMES = INDEXES.map((text) => text.slice(0, text.indexOf(' ')));

const LOOK = `SELECT EXISTS (SELECT 1 FROM sqlite_schema WHERE type = 'index' AND name = '${NAMES[0]}'),
  EXISTS (SELECT 1 FROM version)`;
