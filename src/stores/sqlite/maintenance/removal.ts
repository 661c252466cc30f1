import { purgeBoundsOf, type PurgeRequest, type PurgeStep, type RemovalStep } from '../../../store/removal.js';
import { INDEX_TABLES } from '../../sql/index-tables.js';
import { changeAccessEpoch } from '../rows/access-epoch.js';
import { type Dictionaries, forgetAll } from '../rows/dictionary.js';
import type { SqliteDatabase } from '../database/driver.js';
import type { Guard } from '../database/guard.js';
import type { IndexStatus } from '../schema/index-status.js';
import { endWorkOn } from '../../sql/index-takeover.js';
import { onIndexOfFile } from '../rows/index-port.js';
import { assertNotOvertaken } from '../schema/prepare-schema.js';
import { removeCodesOf } from '../rows/frequent-codes.js';
import { keepVersionKeys, noteRemoval } from '../rows/removal-epoch.js';
import { removeVersions } from '../rows/remove-versions.js';
import { removeSegments } from '../rows/segment-tables.js';
import type { Statements } from '../database/statements.js';
import { inTransaction } from '../database/transaction.js';

/** Removes earlier versions and whole projects, step by step, each step in one transaction. */
export class Removal {
  constructor(
    private readonly database: SqliteDatabase,
    private readonly statements: Statements,
    private readonly dictionaries: Dictionaries,
    private readonly status: IndexStatus,
    private readonly guard: Guard,
  ) {}

  purgeHistory(request: PurgeRequest): PurgeStep {
    const bounds = purgeBoundsOf(request);
    const [collection, id] = JSON.parse(request.after ?? '[0,""]') as [number, string];
    return this.#inTransaction(() => {
      let versions = 0;
      let examined = 0;
      const note = (removed: number, from: number): void => {
        if (removed > 0) {
          removeSegments(this.statements, from);
        }
        versions += removed;
      };
      let place = { collection, id };
      for (const [key] of this.#collections(request.project, collection, request.type)) {
        if (key !== place.collection) place = { collection: key, id: '' };
        for (;;) {
          const rows = this.statements.read(NEXT_RESOURCES).all(key, place.id, AT_ONCE) as readonly PurgedRow[];
          for (const row of rows) {
            this.guard.check();
            const { removed, isWhole } = this.#purge(key, row, bounds);
            note(removed, key);
            examined += 1;
            if (isWhole) place = { collection: key, id: row[1] };
            if (!isWhole || examined >= RESOURCES || versions >= VERSIONS) {
              return { versions, next: JSON.stringify([place.collection, place.id]) };
            }
          }
          if (rows.length < AT_ONCE) break;
        }
      }
      return { versions };
    });
  }

  removeProject(project: string): RemovalStep {
    const step = this.#inTransaction(() => {
      keepVersionKeys(this.statements);
      changeAccessEpoch(this.statements);
      let resources = 0;
      let examined = 0;
      let versions = 0;
      for (const [collection] of this.#collections(project, 0, undefined)) {
        removeSegments(this.statements, collection);
        for (;;) {
          const rows = this.#nextOf(collection);
          for (const row of rows) {
            this.guard.check();
            const [, , version] = row;
            const { removed, isWhole } = this.#remove(collection, row);
            versions += removed;
            examined += 1;
            if (isWhole && version > 0) resources += 1;
            if (!isWhole || examined >= RESOURCES || versions >= VERSIONS) {
              return { resources, versions, done: false };
            }
          }
          if (rows.length === 0) break;
        }
      }
      onIndexOfFile(this.statements, endWorkOn(project));
      this.statements.write('DELETE FROM system WHERE project = ?').run(project);
      removeCodesOf(this.statements, project);
      return { resources, versions, done: true };
    });
    forgetAll(this.dictionaries);
    return step;
  }

  /**
   * In the order of their writing, in which the rows of most tables are adjacent. In the order of ids, each
   * resource of a large project is in pages of its own, and every step writes all pages.
   */
  #nextOf(collection: number): readonly PurgedRow[] {
    const current = this.statements.read(NEXT_CURRENT).all(collection, AT_ONCE) as readonly PurgedRow[];
    if (current.length > 0) return current;
    return this.statements.read(NEXT_RESOURCES).all(collection, '', AT_ONCE) as readonly PurgedRow[];
  }

  #inTransaction<Result>(work: () => Result): Result {
    try {
      return inTransaction(this.database, () => {
        assertNotOvertaken(this.statements, this.status);
        noteRemoval(this.database, this.statements);
        return work();
      });
    } finally {
      this.status.forgetRemovals();
    }
  }

  /** The types of a project, from `from` on. They keep their numbers when all their resources are removed. */
  #collections(project: string, from: number, type: string | undefined): readonly (readonly [number, string])[] {
    const rows = this.statements.read(LIST_COLLECTIONS).all(project, from) as readonly (readonly [number, string])[];
    return type === undefined ? rows : rows.filter((row) => row[1] === type);
  }

  /** Removes the oldest versions of a resource, at most as many as fit into a step. */
  #purge(
    collection: number,
    [key, , version, purged]: PurgedRow,
    { replacedBefore, keep }: { readonly replacedBefore: number; readonly keep: number },
  ): Purged {
    if (version - purged <= keep) return NOTHING;
    const [last] = this.statements.read(LAST_REPLACED).get(key, version - keep + 1, replacedBefore) as [number | null];
    if (last === null || last <= purged) return NOTHING;
    return this.#removeVersions(collection, key, purged, last);
  }

  #remove(collection: number, [key, , version, purged]: PurgedRow): Purged {
    if (version - purged > VERSIONS) {
      return { ...this.#removeVersions(collection, key, purged, version - 1), isWhole: false };
    }
    removeVersions(this.statements, { collection, owner: key }, version);
    for (const table of INDEX_TABLES) this.statements.write(`DELETE FROM ${table} WHERE resource = ?`).run(key);
    this.statements.write('DELETE FROM unique_key WHERE resource = ?').run(key);
    this.statements.write('DELETE FROM resource WHERE key = ?').run(key);
    return { removed: version - purged, isWhole: true };
  }

  #removeVersions(collection: number, key: number, purged: number, last: number): Purged {
    const end = Math.min(last, purged + VERSIONS);
    removeVersions(this.statements, { collection, owner: key }, end);
    this.statements.write('UPDATE resource SET purged = ? WHERE key = ?').run(end, key);
    return { removed: end - purged, isWhole: end === last };
  }
}

interface Purged {
  readonly removed: number;
  /** True if nothing is left to do for this resource. */
  readonly isWhole: boolean;
}

const NOTHING: Purged = { removed: 0, isWhole: true };

/** A row of `resource`; a resource that is only referred to has version 0. */
type PurgedRow = readonly [key: number, id: string, version: number, purged: number];

/** Maximum resources and versions of a step: about 10 ms. */
const RESOURCES = 500;
const VERSIONS = 1_000;
const AT_ONCE = 100;

const LIST_COLLECTIONS = 'SELECT key, type FROM collection WHERE project = ? AND key >= ? ORDER BY key';
const NEXT_RESOURCES =
  'SELECT key, id, version, purged FROM resource WHERE collection = ? AND id > ? ORDER BY id LIMIT ?';
const NEXT_CURRENT = `SELECT key, id, version, purged FROM resource INDEXED BY resource_by_updated
  WHERE collection = ? AND content IS NOT NULL ORDER BY updated LIMIT ?`;
/** The newest version whose successor is early enough. */
const LAST_REPLACED = 'SELECT max(version) - 1 FROM version WHERE resource = ? AND version <= ? AND updated < ?';
