import type { FhirModel } from '../../../fhir/model/fhir-model.js';
import { rowScope } from '../../sql/rows.js';
import { sqliteDialect } from '../rows/dialect.js';
import type { Dictionaries } from '../rows/dictionary.js';
import type { SqliteDatabase } from '../database/driver.js';
import type { Guard } from '../database/guard.js';
import { REMOVAL_EPOCH } from '../rows/removal-epoch.js';
import { countOfCollection } from '../rows/shapes.js';
import type { IndexStatus } from '../schema/index-status.js';
import { assertNotOvertaken } from '../schema/prepare-schema.js';
import type { Statements } from '../database/statements.js';
import { asOfNow, inTransaction } from '../database/transaction.js';
import { buildSkipRows } from './build/skip-build.js';
import { readHeader, writtenSince } from './read/skip-header.js';
import { type PackedRows, packRows, unpackRows } from './build/packed-rows.js';
import { updatedSkipRows } from './build/skip-update.js';
import { removeSkipRows, SKIP_TUNING, type SkipSizes } from '../rows/skip-row.js';

/** The skip indexes of a type of a project, built but not written. */
export interface BuiltSkipIndexes {
  readonly collection: number;
  /** The removal epoch of the file at that time: see removal-epoch.ts. */
  readonly removals: string | null;
  /** For an update of some rows: the newest version that the rows in the file include. */
  readonly base?: number;
  readonly rows: PackedRows;
}

/** Makes the skip indexes of a file: see skip-row.ts. */
export class SkipIndexes {
  readonly #model: FhirModel;
  readonly #database: SqliteDatabase;
  readonly #statements: Statements;
  readonly #dictionaries: Dictionaries;
  readonly #status: IndexStatus;
  readonly #guard: Guard;
  readonly #noted = new Set<number>();

  constructor(
    model: FhirModel,
    database: SqliteDatabase,
    statements: Statements,
    dictionaries: Dictionaries,
    status: IndexStatus,
    guard: Guard,
  ) {
    this.#model = model;
    this.#database = database;
    this.#statements = statements;
    this.#dictionaries = dictionaries;
    this.#status = status;
    this.#guard = guard;
  }

  /** Notes that a search had no skip index, or had to test many written resources. */
  noteStale(collection: number): void {
    this.#noted.add(collection);
  }

  /** The types for which searches had no skip index. */
  takeNoted(): readonly number[] {
    if (this.#noted.size === 0) return NONE;
    const noted = [...this.#noted];
    this.#noted.clear();
    return noted;
  }

  /** The types of projects with many resources and without a skip index, or with many writes since it was built. */
  listStale(): readonly number[] {
    const keys = this.#statements.read(LIST_COLLECTIONS).all() as readonly [number][];
    return keys.map(([key]) => key).filter((key) => this.isStale(key));
  }

  isStale(collection: number): boolean {
    const { granule, minGranules, maxFresh } = SKIP_TUNING;
    const [count] = this.#statements.get(countOfCollection(collection)) as [number];
    if (count < granule * minGranules) return false;
    const header = readHeader(collection, this.#statements);
    const written = header && writtenSince(header.lastVersion, collection, this.#statements);
    return written === undefined || written.length > maxFresh;
  }

  /** Builds from one consistent state: from the writes since the index was built, or from everything. */
  build(collection: number, sizes: SkipSizes = SKIP_TUNING): BuiltSkipIndexes {
    return asOfNow(this.#database, () => {
      const [removals] = this.#statements.read(READ_REMOVALS).get() as [string | null];
      const names = this.#statements.read(READ_COLLECTION).get(collection) as [string, string] | undefined;
      if (names === undefined) return { collection, removals, rows: packRows([]) };
      const [project, type] = names;
      const scope = rowScope({ project, dialect: sqliteDialect(this.#model, this.#dictionaries) }, type);
      const check = (): void => this.#guard.check();
      const update = updatedSkipRows(scope, this.#statements, sizes, check);
      if (update !== undefined) return { collection, removals, base: update.base, rows: packRows(update.rows) };
      return { collection, removals, rows: packRows(buildSkipRows(scope, this.#statements, sizes, check)) };
    });
  }

  /**
   * Writes built skip indexes, unless the file has lost content since they were built, or another process wrote them.
   *
   * @throws FhirError `unavailable` - the index of the file is made with other definitions
   */
  write({ collection, removals, base, rows }: BuiltSkipIndexes): void {
    inTransaction(this.#database, () => {
      assertNotOvertaken(this.#statements, this.#status);
      const [now] = this.#statements.read(READ_REMOVALS).get() as [string | null];
      if (now !== removals) return;
      if (base === undefined) removeSkipRows(this.#statements, collection);
      else if (readHeader(collection, this.#statements)?.lastVersion !== base) return;
      const write = this.#statements.write(ADD);
      for (const { sort, subject, value, data } of unpackRows(rows)) {
        write.run(collection, sort, subject, value, data as string);
      }
    });
  }
}

const NONE: readonly number[] = [];

const LIST_COLLECTIONS = 'SELECT DISTINCT collection FROM shape WHERE resources > 0';
const READ_COLLECTION = 'SELECT project, type FROM collection WHERE key = ?';
const READ_REMOVALS = `SELECT (SELECT value FROM meta WHERE name = '${REMOVAL_EPOCH}')`;
const ADD = 'INSERT OR REPLACE INTO skip (collection, sort, subject, value, data) VALUES (?, ?, ?, ?, ?)';
