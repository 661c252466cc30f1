import { FhirError } from '../../fhir/error.js';
import type { AnyResource } from '../../fhir/resource.js';
import { indexEntries } from '../../search/index/index-resource.js';
import type { SqlValue } from '../sql/sql.js';
import { type CurrentResource, currentResources } from './current-resources.js';
import { createDictionaries, type Dictionaries } from './dictionary.js';
import type { SqliteDatabase } from './driver.js';
import { storeError } from './errors.js';
import { INDEX_TABLES, type ValueTable } from '../sql/index-tables.js';
import { addIndexRows, INDEX_COLUMNS, type IndexOwner, type Names } from './index-rows.js';
import { parseKept } from './kept-text.js';
import type { Statements } from './statements.js';
import { inSnapshot } from './transaction.js';

/** What a look at the whole database found. */
export interface Verification {
  /** Current resources looked at. */
  readonly resources: number;
  /** One line per contradiction, the first 100; empty: all is well. No line holds anything of a resource but type and id. */
  readonly problems: readonly string[];
}

/**
 * Looks for contradictions at every level: SQLite's pages and indexes, the tables against each other, texts against their
 * checksums, index rows against what resources say. It only reads, and others may write meanwhile.
 *
 * @throws FhirError `unavailable` - the file cannot be read; damage is reported, not thrown
 */
export function verifyDatabase(database: SqliteDatabase, statements: Statements): Verification {
  return inSnapshot(database, () => new Verifier(database, statements).run());
}

class Verifier {
  readonly #statements: Statements;
  readonly #names: Names;
  readonly #problems: string[] = [];
  #resources = 0;

  constructor(database: SqliteDatabase, statements: Statements) {
    this.#statements = statements;
    // What the store remembers of the dictionaries would hide that they have lost it.
    this.#names = knownNames(createDictionaries(database, statements));
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
    const rows = rightRows({ project, collection, resource: key }, resource, this.#names);
    const same = INDEX_TABLES.every((table) => this.#storedRows(table, key) === JSON.stringify(rows[table]));
    return same ? undefined : 'its index rows are not what it says';
  }

  #storedRows(table: ValueTable, resource: number): string {
    return JSON.stringify(this.#statements.read(ROWS[table]).all(resource));
  }

  /** A part of the file that SQLite cannot read is a finding too. */
  #try(what: string, check: () => void): void {
    try {
      check();
    } catch (error) {
      const fault = storeError(error);
      if (fault.code !== 'corrupt' && !isOfSize(error)) throw fault;
      this.#report(`${what}: ${fault.message}`);
    }
  }

  #report(problem: string): void {
    if (this.#problems.length < MAX_PROBLEMS) this.#problems.push(problem);
  }
}

/** A damaged length makes SQLite ask for more memory than there is, or for a longer value than there can be. */
function isOfSize(error: unknown): boolean {
  const { code } = error as { readonly code?: unknown };
  return code === 'SQLITE_NOMEM' || code === 'SQLITE_TOOBIG';
}

/** The names that have a number; others have one that stands for none. */
function knownNames({ collections, parameters, resources, systems }: Dictionaries): Names {
  return {
    collections: { intern: (project, type) => collections.find(project, type) ?? UNKNOWN },
    parameters: { intern: (collection, code) => parameters.find(collection, code) ?? UNKNOWN },
    resources: { intern: (collection, id) => resources.find(collection, id) ?? UNKNOWN },
    systems: { intern: (project, uri) => systems.find(project, uri) ?? UNKNOWN },
  };
}

const UNKNOWN = -1;

/** The rows that a resource should have. */
function rightRows(
  owner: IndexOwner,
  resource: AnyResource,
  names: Names,
): { readonly [Table in ValueTable]: SqlRow[] } {
  const rows: { readonly [Table in ValueTable]: SqlRow[] } = {
    token: [],
    string: [],
    date: [],
    quantity: [],
    reference: [],
    uri: [],
  };
  const sink = (table: ValueTable): { push(...row: SqlRow): void } => ({
    push: (...row) => void rows[table].push(row.map(asStored)),
  });
  addIndexRows(owner, indexEntries(resource), names, {
    token: sink('token'),
    string: sink('string'),
    date: sink('date'),
    quantity: sink('quantity'),
    reference: sink('reference'),
    uri: sink('uri'),
  });
  return rows;
}

type SqlRow = SqlValue[];

/** UTF-8 has no halves of surrogate pairs. */
function asStored(value: SqlValue): SqlValue {
  return typeof value === 'string' ? value.toWellFormed() : value;
}

const MAX_PROBLEMS = 100;

const ROWS = Object.fromEntries(
  INDEX_TABLES.map((table) => [
    table,
    `SELECT ${INDEX_COLUMNS[table].join(', ')} FROM ${table} WHERE resource = ? ORDER BY ordinal, parameter, grp`,
  ]),
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
    problem: 'version: damaged rows',
    count: 'SELECT count(*) FROM version WHERE sum IS NOT fhirgraph_sum(resource, version, updated, text)',
  },
  {
    problem: 'resource: damaged names',
    count: "SELECT count(*) FROM resource WHERE sum IS NOT fhirgraph_name_sum(collection, '', id)",
  },
  {
    problem: 'collection: damaged rows',
    count: 'SELECT count(*) FROM collection WHERE sum IS NOT fhirgraph_name_sum(0, project, type)',
  },
  {
    problem: 'unique_key: damaged rows',
    count: 'SELECT count(*) FROM unique_key WHERE sum IS NOT fhirgraph_name_sum(resource, project, text)',
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
