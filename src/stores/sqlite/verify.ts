import { FhirError } from '../../fhir/error.js';
import { indexEntries } from '../../search/index-resource.js';
import { type CurrentResource, currentResources } from './current-resources.js';
import { createDictionaries } from './dictionary.js';
import type { SqliteDatabase } from './driver.js';
import { storeError } from './errors.js';
import { INDEX_TABLES, type ValueTable } from '../sql/index-tables.js';
import { IndexWriter } from './index-writer.js';
import { parseKept } from './kept-text.js';
import type { Statements } from './statements.js';
import { withoutTrace } from './transaction.js';

/** What a look at the whole database found. */
export interface Verification {
  /** Current resources looked at. */
  readonly resources: number;
  /** One line per contradiction, the first 100; empty: all is well. No line holds anything of a resource but type and id. */
  readonly problems: readonly string[];
}

/**
 * Looks for contradictions at every level: SQLite's pages and indexes, the tables against each other, texts against their
 * checksums, index rows against what resources say. Others can read meanwhile, but not write.
 *
 * @throws FhirError `unavailable` - the database cannot be locked; damage is reported, not thrown
 */
export function verifyDatabase(database: SqliteDatabase, statements: Statements): Verification {
  return withoutTrace(database, () => new Verifier(database, statements).run());
}

class Verifier {
  readonly #statements: Statements;
  readonly #index: IndexWriter;
  readonly #problems: string[] = [];
  #resources = 0;

  constructor(database: SqliteDatabase, statements: Statements) {
    this.#statements = statements;
    // What the store remembers of the dictionaries would hide that they have lost it.
    this.#index = new IndexWriter(statements, createDictionaries(database, statements));
  }

  run(): Verification {
    this.#try('file', () => this.#checkFile());
    for (const { problem, count } of CONTRADICTIONS) this.#try(problem, () => this.#checkCount(problem, count));
    this.#try('resources', () => {
      for (const resource of currentResources(this.#statements)) this.#checkResource(resource);
    });
    return { resources: this.#resources, problems: this.#problems };
  }

  #checkFile(): void {
    for (const [line] of this.#statements.read('PRAGMA integrity_check(20)').all() as readonly [string][]) {
      if (line !== 'ok') this.#report(`file: ${line}`);
    }
  }

  #checkCount(problem: string, text: string): void {
    const [count] = this.#statements.read(text).get() as [number];
    if (count > 0) this.#report(`${problem}: ${count}`);
  }

  #checkResource(resource: CurrentResource): void {
    this.#resources++;
    const name = `${resource.type}/${resource.id}`;
    this.#try(name, () => {
      const problem = this.#problemOf(resource);
      if (problem !== undefined) this.#report(`${name}: ${problem}`);
    });
  }

  #problemOf({ project, collection, type, id, key, version, kept }: CurrentResource): string | undefined {
    let resource;
    try {
      const stored = parseKept(kept);
      resource = stored.resource;
      if (resource.resourceType !== type || resource.id !== id) return 'its text is of another resource';
      if (stored.versionId !== String(version)) return 'its text is of another version';
    } catch (error) {
      return error instanceof FhirError ? error.message : 'its text cannot be read';
    }
    // Indexed anew, it must look the same; the transaction around takes it back.
    const before = this.#indexRows(key);
    this.#index.remove(key);
    this.#index.add({ project, collection, resource: key }, indexEntries(resource));
    this.#index.flush();
    return this.#indexRows(key) === before ? undefined : 'its index rows are not what it says';
  }

  #indexRows(resource: number): string {
    return JSON.stringify(INDEX_TABLES.map((table) => this.#statements.read(ROWS[table]).all(resource)));
  }

  /** A part of the file that SQLite cannot read is a finding too. */
  #try(what: string, check: () => void): void {
    try {
      check();
    } catch (error) {
      const fault = storeError(error);
      if (fault.code !== 'corrupt') throw fault;
      this.#index.clear();
      this.#report(`${what}: ${fault.message}`);
    }
  }

  #report(problem: string): void {
    if (this.#problems.length < MAX_PROBLEMS) this.#problems.push(problem);
  }
}

const MAX_PROBLEMS = 100;

const ROWS = Object.fromEntries(
  INDEX_TABLES.map((table) => [table, `SELECT * FROM ${table} WHERE resource = ? ORDER BY parameter, grp, ordinal`]),
) as { readonly [Table in ValueTable]: string };

const CURRENT = 'SELECT key FROM resource WHERE content IS NOT NULL';

/** Statements that count what must not be. */
const CONTRADICTIONS: readonly { readonly problem: string; readonly count: string }[] = [
  {
    problem: 'resource: rows of no project and type',
    count: 'SELECT count(*) FROM resource WHERE collection NOT IN (SELECT key FROM collection)',
  },
  {
    problem: 'resource: rows that are not as their newest version says',
    count: `SELECT count(*) FROM resource r LEFT JOIN version v ON v.resource = r.key AND v.version = r.version
      WHERE CASE WHEN r.version = 0 THEN r.content IS NOT NULL ELSE v.key IS NULL OR v.updated IS NOT r.updated
        OR r.content IS NOT CASE WHEN v.text IS NULL THEN NULL ELSE v.key END END`,
  },
  {
    problem: 'version: resources whose versions are not all there',
    count: `SELECT count(*) FROM resource r LEFT JOIN
      (SELECT resource, count(*) number, max(version) newest FROM version GROUP BY resource) v ON v.resource = r.key
      WHERE r.version IS NOT coalesce(v.number, 0) OR r.version IS NOT coalesce(v.newest, 0)`,
  },
  {
    problem: 'version: rows of resources that are not there',
    count: 'SELECT count(*) FROM version WHERE resource NOT IN (SELECT key FROM resource)',
  },
  {
    problem: 'version: damaged texts',
    count: `SELECT count(*) FROM version
      WHERE CASE WHEN text IS NULL THEN sum IS NOT NULL ELSE sum IS NOT fhirgraph_sum(text) END`,
  },
  {
    problem: 'unique_key: rows of resources that are not there',
    count: `SELECT count(*) FROM unique_key WHERE resource NOT IN (${CURRENT})`,
  },
  {
    problem: 'parameter: rows of no project and type',
    count: 'SELECT count(*) FROM parameter WHERE collection NOT IN (SELECT key FROM collection)',
  },
  ...INDEX_TABLES.map((table) => ({
    problem: `${table}: rows of resources that are not there`,
    count: `SELECT count(*) FROM ${table} WHERE resource NOT IN (${CURRENT})`,
  })),
];
