import type { FhirModel } from '../../../fhir/model/fhir-model.js';
import { FhirError } from '../../../fhir/error.js';
import { referenceTo } from '../../../fhir/reference.js';
import { indexEntries } from '../../../search/index/index-resource.js';
import { type MarkedEntries, markEntries } from '../../sql/extremes.js';
import type { SqlValue } from '../../sql/sql.js';
import { type CurrentResource, currentResources } from '../rows/current-resources.js';
import { CONTRADICTIONS } from './contradictions.js';
import { createDictionaries, type Dictionaries } from '../rows/dictionary.js';
import type { SqliteDatabase } from '../database/driver.js';
import { storeError } from '../database/errors.js';
import { TooLong } from '../database/guard.js';
import { INDEX_TABLES, type ValueTable } from '../../sql/index-tables.js';
import { type Codes, EVERY, isMadeAgain } from '../../sql/index-changes.js';
import { addIndexRows, INDEX_COLUMNS, type IndexOwner, type Names, type RowSink } from '../rows/index-rows.js';
import type { IndexStatus } from '../schema/index-status.js';
import { LIST_PARAMETERS } from './index-work.js';
import { parseKept } from '../rows/kept-text.js';
import type { ConnectionSegments } from '../segments/connection-segments.js';
import type { Statements } from '../database/statements.js';
import { inSnapshot } from '../database/transaction.js';

/** The findings of a verification. */
export interface Verification {
  /** Number of current resources checked. */
  readonly resources: number;
  /** One line per contradiction, the first 100; empty if all is well. Lines name resources by type and id only. */
  readonly problems: readonly string[];
}

/**
 * Checks consistency at every level: SQLite's pages and indexes, the tables with each other, texts with their
 * checksums, index rows with resources. It only reads, and concurrent writes are possible. Parameters that are being
 * re-indexed, or that the file indexes with other definitions, are skipped.
 *
 * @throws FhirError `unavailable` - the file cannot be read; damage is reported, not thrown
 */
export function verifyDatabase(
  model: FhirModel,
  database: SqliteDatabase,
  statements: Statements,
  status: IndexStatus,
  segments: ConnectionSegments,
): Verification {
  return inSnapshot(database, () => new Verifier(model, database, statements, status, segments).run());
}

class Verifier {
  readonly #statements: Statements;
  readonly #status: IndexStatus;
  /** The skipped parameters, by collection. */
  readonly #unknown = new Map<number, Codes>();
  readonly #names: Names;
  readonly #problems: string[] = [];
  #resources = 0;

  constructor(
    private readonly model: FhirModel,
    database: SqliteDatabase,
    statements: Statements,
    status: IndexStatus,
    private readonly segments: ConnectionSegments,
  ) {
    this.#statements = statements;
    this.#status = status;
    // The store's cached dictionaries would hide lost rows.
    const dictionaries = createDictionaries(database, statements);
    this.#names = knownNames(dictionaries);
  }

  run(): Verification {
    this.#try('file', () => this.#checkFile());
    for (const { problem, count } of CONTRADICTIONS) this.#try(problem, () => this.#checkCount(problem, count));
    this.#try('segments', () => {
      for (const type of this.segments.wrongTypes()) this.#report(`segments: those of ${type} are not what it says`);
    });
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
    const name = referenceTo(resource.type, resource.id);
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
    const unknown = this.#unknownOf(collection, project, type);
    if (unknown[0] === EVERY) return undefined;
    const all = indexEntries(this.model, resource);
    const entries = unknown.length === 0 ? all : all.filter(({ parameter }) => !isMadeAgain(unknown, parameter));
    const rows = rightRows({ project, collection, resource: key }, markEntries(entries), this.#names);
    const left = this.#parametersOf(collection, unknown);
    const same = INDEX_TABLES.every((table) => this.#storedRows(table, key, left) === textOf(rows[table]));
    return same ? undefined : 'its index rows are not what it says';
  }

  #storedRows(table: ValueTable, resource: number, leftOut: ReadonlySet<SqlValue>): string {
    const rows = this.#statements.read(ROWS[table]).all(resource) as SqlRow[];
    return textOf(leftOut.size === 0 ? rows : rows.filter(([, parameter]) => !leftOut.has(parameter!)));
  }

  #unknownOf(collection: number, project: string, type: string): Codes {
    let codes = this.#unknown.get(collection);
    if (codes === undefined) this.#unknown.set(collection, (codes = this.#status.unknownCodes(project, type)));
    return codes;
  }

  /** The numbers of the skipped parameters. */
  #parametersOf(collection: number, codes: Codes): ReadonlySet<SqlValue> {
    if (codes.length === 0) return NO_PARAMETERS;
    const rows = this.#statements.read(LIST_PARAMETERS).all(collection) as readonly (readonly [number, string])[];
    return new Set(rows.filter(([, code]) => isMadeAgain(codes, code)).map(([key]) => key));
  }

  /** Reports a part of the file that SQLite cannot read as a finding. */
  #try(what: string, check: () => void): void {
    try {
      check();
    } catch (error) {
      if (error instanceof TooLong) throw error;
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

/** The numbers of names; an unknown name gets a number that no name has. */
function knownNames({ collections, parameters, resources, systems }: Dictionaries): Names {
  return {
    collections: { intern: (project, type) => collections.find(project, type) ?? UNKNOWN },
    parameters: { intern: (collection, code) => parameters.find(collection, code) ?? UNKNOWN },
    resources: { intern: (collection, id) => resources.find(collection, id) ?? UNKNOWN },
    systems: { intern: (project, uri) => systems.find(project, uri) ?? UNKNOWN },
    frequentCodes: { has: () => false },
  };
}

const UNKNOWN = -1;

function rightRows(
  owner: IndexOwner,
  marked: MarkedEntries,
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
  const sink = (table: ValueTable): RowSink => ({
    next: () => {
      const row: SqlRow = [];
      rows[table].push(row);
      return row;
    },
  });
  addIndexRows(owner, marked, names, {
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

/**
 * Rows as a text to compare: in order of parameter, group and ordinal, but without the ordinal, which differs after
 * some parameters were re-indexed.
 */
function textOf(rows: readonly SqlRow[]): string {
  const order = (one: SqlRow, other: SqlRow): number =>
    Number(one[1]) - Number(other[1]) || Number(one[2]) - Number(other[2]) || Number(one[3]) - Number(other[3]);
  return JSON.stringify(rows.toSorted(order).map((row) => row.toSpliced(3, 1).map(asStored)));
}

/** UTF-8 cannot encode lone surrogates. */
function asStored(value: SqlValue): SqlValue {
  return typeof value === 'string' ? value.toWellFormed() : value;
}

const NO_PARAMETERS: ReadonlySet<SqlValue> = new Set();

const MAX_PROBLEMS = 100;

/** A code can become frequent after it was written, so -1 counts as 0: see frequent-codes.ts. */
const ROWS = Object.fromEntries(
  INDEX_TABLES.map((table) => {
    const columns = INDEX_COLUMNS[table].map((column) => (column === 'grp' ? 'max(grp, 0)' : column));
    return [table, `SELECT ${columns.join(', ')} FROM ${table} WHERE resource = ?`];
  }),
) as { readonly [Table in ValueTable]: string };
