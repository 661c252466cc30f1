import type { FhirModel } from '../../../fhir/model/fhir-model.js';
import { runNow, type SyncPort } from '../../ask.js';
import { type CodesByType, FIRST_TYPES, insideType } from '../../sql/index-changes.js';
import { isMadeWith } from '../../sql/index-state.js';
import * as shared from '../../sql/index-takeover.js';
import type { SqliteDatabase } from '../database/driver.js';
import type { Statements } from '../database/statements.js';
import { inTransaction } from '../database/transaction.js';

/** Records the definitions for the rows of a new file. */
export function noteDefinitions(statements: Statements, model: FhirModel): void {
  runNow(shared.takeOver(model, true), portOf(statements));
}

/**
 * Takes a file over for these definitions, in a transaction of its own.
 *
 * @param ifEmpty true to do so only if nothing was ever written to the file
 * @throws FhirError `unavailable` - a newer version of this library has the file
 */
export function takeOver(database: SqliteDatabase, statements: Statements, model: FhirModel, ifEmpty: boolean): void {
  const port = portOf(statements);
  const isDue = (): boolean => {
    const found = port.entries(['index_version', 'index_definitions']);
    if (isMadeWith(model, found.get('index_version'), found.get('index_definitions'))) return false;
    return !ifEmpty || statements.read(HAS_CONTENT).get() === undefined;
  };
  if (!isDue()) return;
  inTransaction(database, () => {
    // Another process may have taken the file over, or written to it, first.
    if (isDue()) runNow(shared.takeOver(model, false), port);
  });
}

/** Adds changes to the work that is left, for the types of one or all projects. */
export function addWork(statements: Statements, changes: CodesByType, project?: string): void {
  runNow(shared.addWork(changes, project), portOf(statements));
}

/** Ends the work on a collection. If it was the last of its type, all processes learn that the type is complete. */
export function endWork(statements: Statements, collection: number, type: string): void {
  runNow(shared.endWork({ collection, rank: 0 }, type), portOf(statements));
}

/** Ends all work: every row has been rebuilt. */
export function endAllWork(statements: Statements): void {
  const port = portOf(statements);
  statements.write('DELETE FROM index_work').run();
  if ((port.entries(['index_pending']).get('index_pending') ?? '{}') !== '{}') {
    port.setEntries(shared.pendingEntries({}));
  }
}

/** A collection, and its place in the order of the work. */
interface Place {
  readonly collection: number;
  readonly rank: number;
}

function portOf(statements: Statements): SyncPort<shared.TakeoverPort<Place>> {
  return {
    entries: (names) => new Map(statements.read(READ_ENTRIES).all(JSON.stringify(names)) as [string, string][]),
    setEntries(values) {
      const write = statements.write('INSERT OR REPLACE INTO meta (name, value) VALUES (?, ?)');
      for (const [name, value] of Object.entries(values)) write.run(name, value);
    },
    // Each write compares the definitions of the file: see IndexStatus.
    refuseOthers: () => ({}),
    heldTypes(project) {
      const rows = statements.read(LIST_COLLECTIONS).all(JSON.stringify(FIRST_TYPES)) as readonly CollectionRow[];
      const inside = statements.read(LIST_INSIDE);
      return rows.flatMap(([collection, type, left, ofProject], rank) => {
        if (project !== undefined && ofProject !== project) return [];
        const held = (inside.all(collection) as readonly [string][]).map(([code]) => insideType(code)!);
        return [{ place: { collection, rank }, type, left, inside: held }];
      });
    },
    setWork({ collection, rank }, _, codes) {
      statements.write(SET_WORK).run(collection, rank, JSON.stringify(codes));
    },
    work: () => statements.read(READ_WORK).all() as [type: string, codes: string][],
    removeWork({ collection }, type) {
      statements.write('DELETE FROM index_work WHERE collection = ?').run(collection);
      return statements.read(OTHER_WORK).get(type) !== undefined;
    },
  };
}

type CollectionRow = readonly [collection: number, type: string, parameters: string | null, project: string];

const READ_ENTRIES = 'SELECT name, value FROM meta WHERE name IN (SELECT value FROM json_each(?))';
const HAS_CONTENT = 'SELECT 1 FROM version LIMIT 1';
/** Every collection that has a resource, in the order in which they are to be indexed. */
const LIST_COLLECTIONS = `SELECT c.key, c.type, w.parameters, c.project FROM collection c LEFT JOIN index_work w ON w.collection = c.key
  WHERE EXISTS (SELECT 1 FROM resource r WHERE r.collection = c.key AND r.content IS NOT NULL)
  ORDER BY c.type NOT IN (SELECT value FROM json_each(?)), c.project, c.type`;
/** Parameters that lead to, or index, contained resources. */
const LIST_INSIDE = "SELECT code FROM parameter WHERE collection = ? AND instr(code, '#') > 0";
/** Completed work no longer counts, so the type restarts from the beginning. */
const SET_WORK = `INSERT OR REPLACE INTO index_work (collection, rank, parameters) VALUES (?, ?, ?)`;
const READ_WORK =
  'SELECT DISTINCT c.type, w.parameters FROM index_work w CROSS JOIN collection c ON c.key = w.collection';
const OTHER_WORK = `SELECT 1 FROM index_work w CROSS JOIN collection c ON c.key = w.collection WHERE c.type = ? LIMIT 1`;
