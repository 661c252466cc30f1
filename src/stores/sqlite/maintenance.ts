import { FhirError } from '../../fhir/error.js';
import { indexEntries } from '../../search/index-resource.js';
import { parseStored } from '../sql/parse-stored.js';
import { type Dictionaries, settleAll } from './dictionary.js';
import type { SqliteDatabase } from './driver.js';
import { INDEX_TABLES, type ValueTable } from '../sql/index-tables.js';
import { IndexWriter } from './index-writer.js';
import { INDEX_VERSION } from './schema.js';
import type { Row, Statements } from './statements.js';
import { inTransaction, withoutTrace } from './transaction.js';

/** What a look at the whole database found. */
export interface Verification {
  /** Current resources looked at. */
  readonly resources: number;
  /** One line per contradiction, the first 100; empty: all is well. */
  readonly problems: readonly string[];
}

/** Rebuilds and checks what is derived: the index tables. */
export class Maintenance {
  readonly #database: SqliteDatabase;
  readonly #statements: Statements;
  readonly #dictionaries: Dictionaries;
  readonly #index: IndexWriter;

  constructor(database: SqliteDatabase, statements: Statements, dictionaries: Dictionaries) {
    this.#database = database;
    this.#statements = statements;
    this.#dictionaries = dictionaries;
    this.#index = new IndexWriter(statements, dictionaries);
  }

  /** Indexes everything anew if the file was written by an older extraction. */
  reindexIfOld(): void {
    if (this.#indexVersion() >= INDEX_VERSION) return;
    this.reindex();
  }

  /** Indexes every current resource anew, in one transaction. @returns how many. */
  reindex(): number {
    const work = (): number => {
      for (const table of INDEX_TABLES) this.#database.exec(CLEAR[table]);
      let count = 0;
      for (const resource of this.#resources()) {
        this.#addToIndex(resource);
        count++;
      }
      this.#index.flush();
      this.#statements.write("UPDATE meta SET value = ? WHERE name = 'index_version'").run(String(INDEX_VERSION));
      return count;
    };
    return inTransaction(this.#database, work, (committed) => this.#settle(committed));
  }

  /** Compares every current resource with its versions and index rows. Others can read meanwhile, but not write. */
  verify(): Verification {
    const problems: string[] = [];
    const report = (problem: string): void => {
      if (problems.length < MAX_PROBLEMS) problems.push(problem);
    };
    for (const [line] of this.#statements.read('PRAGMA quick_check(20)').all() as readonly [string][]) {
      if (line !== 'ok') report(`file: ${line}`);
    }
    for (const table of INDEX_TABLES) {
      const [orphans] = this.#statements.read(ORPHANS[table]).get() as [number];
      if (orphans > 0) report(`${table}: ${orphans} rows of resources that are not there`);
    }
    let resources = 0;
    const check = (): void => {
      for (const resource of this.#resources()) {
        resources++;
        const problem = this.#problemOf(resource);
        if (problem !== undefined) report(`${resource.type}/${resource.id}: ${problem}`);
      }
    };
    try {
      withoutTrace(this.#database, check);
    } finally {
      this.#settle(false);
    }
    return { resources, problems };
  }

  #problemOf(current: CurrentResource): string | undefined {
    try {
      const { versionId, resource } = parseStored(current.text ?? '');
      if (resource.resourceType !== current.type || resource.id !== current.id)
        return 'its text is of another resource';
      if (versionId !== String(current.version)) return 'its text is of another version';
    } catch (error) {
      return error instanceof FhirError ? error.message : 'its text cannot be read';
    }
    // Indexed anew, it must look the same; the transaction around takes it back.
    const before = this.#indexRows(current.key);
    this.#index.remove(current.key);
    this.#addToIndex(current);
    this.#index.flush();
    return this.#indexRows(current.key) === before ? undefined : 'its index rows are not what it says';
  }

  #indexRows(resource: number): string {
    return JSON.stringify(INDEX_TABLES.map((table) => this.#statements.read(ROWS[table]).all(resource)));
  }

  #addToIndex({ project, collection, key, text }: CurrentResource): void {
    const { resource } = parseStored(text ?? '');
    this.#index.add({ project, collection, resource: key }, indexEntries(resource));
  }

  /** Current resources, a few hundred in memory at a time. */
  *#resources(): Iterable<CurrentResource> {
    let last = 0;
    for (;;) {
      const rows = this.#statements.read(NEXT_RESOURCES).all(last) as readonly Row[];
      if (rows.length === 0) return;
      for (const row of rows) {
        const [key, collection, id, version, project, type, text] = row as unknown as CurrentRow;
        yield { key, collection, id, version, project, type, text };
        last = key;
      }
    }
  }

  #indexVersion(): number {
    const row = this.#statements.read("SELECT value FROM meta WHERE name = 'index_version'").get() as
      [string] | undefined;
    return Number(row?.[0] ?? 0);
  }

  #settle(committed: boolean): void {
    settleAll(this.#dictionaries, committed);
    if (!committed) this.#index.clear();
  }
}

interface CurrentResource {
  readonly key: number;
  readonly collection: number;
  readonly id: string;
  readonly version: number;
  readonly project: string;
  readonly type: string;
  /** Null where the version is lost or a deletion, which contradicts that the resource is current. */
  readonly text: string | null;
}

type CurrentRow = readonly [number, number, string, number, string, string, string | null];

const MAX_PROBLEMS = 100;

const NEXT_RESOURCES = `SELECT r.key, r.collection, r.id, r.version, c.project, c.type, v.text
  FROM resource r CROSS JOIN collection c ON c.key = r.collection LEFT JOIN version v ON v.key = r.content
  WHERE r.key > ? AND r.content IS NOT NULL ORDER BY r.key LIMIT 500`;

/** One statement per index table. */
function forEachTable(text: (table: ValueTable) => string): { readonly [Table in ValueTable]: string } {
  return Object.fromEntries(INDEX_TABLES.map((table) => [table, text(table)])) as { [Table in ValueTable]: string };
}

const CLEAR = forEachTable((table) => `DELETE FROM ${table}`);
const ROWS = forEachTable((table) => `SELECT * FROM ${table} WHERE resource = ? ORDER BY parameter, grp, ordinal`);
const ORPHANS = forEachTable(
  (table) => `SELECT count(*) FROM ${table} WHERE resource NOT IN (SELECT key FROM resource WHERE content IS NOT NULL)`,
);
