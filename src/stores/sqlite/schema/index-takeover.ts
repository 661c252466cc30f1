import type { FhirModel } from '../../../fhir/model/fhir-model.js';
import { parameterFingerprints } from '../../../search/index/parameter-fingerprints.js';
import {
  changedParameters,
  changesOf,
  insideType,
  type Codes,
  codesOf,
  type CodesByType,
  FIRST_TYPES,
  readCodes,
  readCodesByType,
  union,
} from '../../sql/index-changes.js';
import { randomNumber } from '../../sql/random-number.js';
import { definitionEntries, isMadeWith, isOfThisVersion, readFingerprints } from '../../sql/index-state.js';
import type { SqliteDatabase } from '../database/driver.js';
import { READ_PARAMETERS } from './index-status.js';
import { removeSkipRows } from '../rows/skip-row.js';
import type { Statements } from '../database/statements.js';
import { inTransaction } from '../database/transaction.js';

/** Records the definitions for the rows of a new file. */
export function noteDefinitions(statements: Statements, model: FhirModel): void {
  setMeta(statements, { ...definitionEntries(model), index_epoch: randomNumber(52), index_pending: '{}' });
}

/**
 * Takes a file over for these definitions: from now on, rows are written with them, and existing rows of other
 * definitions are queued for re-indexing. If nothing differs, nothing is written.
 *
 * @param ifEmpty true to do so only if nothing was ever written to the file
 * @throws FhirError `unavailable` - a newer version of this library has the file
 */
export function takeOver(database: SqliteDatabase, statements: Statements, model: FhirModel, ifEmpty: boolean): void {
  const isDue = (): boolean =>
    !isOurs(statements, model) && !(ifEmpty && statements.read(HAS_CONTENT).get() !== undefined);
  if (!isDue()) return;
  inTransaction(database, () => {
    // Another process may have taken the file over, or written to it, first.
    if (!isDue()) return;
    const changes = changedParameters(
      readFingerprints(isOfThisVersion(readMeta(statements, 'index_version')) ? readParameters(statements) : undefined),
      parameterFingerprints(model),
    );
    setMeta(statements, {
      ...definitionEntries(model),
      ...(Object.keys(changes).length === 0
        ? {}
        : { index_epoch: randomNumber(52), index_pending: JSON.stringify(addWork(statements, changes)) }),
    });
  });
}

/** Ends the work on a collection. If it was the last of its type, all processes learn that the type is complete. */
export function endWork(statements: Statements, collection: number, type: string): void {
  statements.write('DELETE FROM index_work WHERE collection = ?').run(collection);
  removeSkipRows(statements, collection);
  if (statements.read(OTHER_WORK).get(type) !== undefined) return;
  const pending = readCodesByType(readMeta(statements, 'index_pending') ?? '{}');
  if (codesOf(pending, type).length === 0) return;
  const { [type]: _, ...others } = pending;
  setPending(statements, others);
}

/** Ends all work: every row has been rebuilt. */
export function endAllWork(statements: Statements): void {
  statements.write('DELETE FROM index_work').run();
  if ((readMeta(statements, 'index_pending') ?? '{}') !== '{}') setPending(statements, {});
}

/**
 * Adds changes to the remaining work, for the types of one or all projects.
 *
 * @returns all pending changes, of these projects
 */
export function addWork(statements: Statements, changes: CodesByType, project?: string): CodesByType {
  const pending: { [type: string]: Codes } = {};
  const rows = statements.read(LIST_COLLECTIONS).all(JSON.stringify(FIRST_TYPES)) as readonly CollectionRow[];
  const inside = statements.read(LIST_INSIDE);
  rows.forEach(([collection, type, before, ofProject], rank) => {
    if (project !== undefined && ofProject !== project) return;
    const held = (inside.all(collection) as readonly [string][]).map(([code]) => insideType(code)!);
    const changed = changesOf(changes, type, held);
    const left = before === null ? [] : readCodes(before);
    if (changed.length > 0) {
      statements.write(SET_WORK).run(collection, rank, JSON.stringify(union(changed, left)));
    }
    if (changed.length > 0 || left.length > 0) pending[type] = union(union(changed, left), pending[type] ?? []);
  });
  return pending;
}

function setPending(statements: Statements, pending: CodesByType): void {
  setMeta(statements, { index_epoch: randomNumber(52), index_pending: JSON.stringify(pending) });
}

function isOurs(statements: Statements, model: FhirModel): boolean {
  return isMadeWith(model, readMeta(statements, 'index_version'), readMeta(statements, 'index_definitions'));
}

function readParameters(statements: Statements): string | undefined {
  return (statements.read(READ_PARAMETERS).get() as [string] | undefined)?.[0];
}

function readMeta(statements: Statements, name: string): string | undefined {
  return (statements.read('SELECT value FROM meta WHERE name = ?').get(name) as [string] | undefined)?.[0];
}

function setMeta(statements: Statements, values: { readonly [name: string]: string }): void {
  const write = statements.write('INSERT OR REPLACE INTO meta (name, value) VALUES (?, ?)');
  for (const [name, value] of Object.entries(values)) write.run(name, value);
}

type CollectionRow = readonly [collection: number, type: string, parameters: string | null, project: string];

const HAS_CONTENT = 'SELECT 1 FROM version LIMIT 1';
/** Every collection that has a resource, in the order in which they are to be indexed. */
const LIST_COLLECTIONS = `SELECT c.key, c.type, w.parameters, c.project FROM collection c LEFT JOIN index_work w ON w.collection = c.key
  WHERE EXISTS (SELECT 1 FROM resource r WHERE r.collection = c.key AND r.content IS NOT NULL)
  ORDER BY c.type NOT IN (SELECT value FROM json_each(?)), c.project, c.type`;
/** Parameters that lead to, or index, contained resources. */
const LIST_INSIDE = "SELECT code FROM parameter WHERE collection = ? AND instr(code, '#') > 0";
/** Completed work no longer counts, so the type restarts from the beginning. */
const SET_WORK = `INSERT OR REPLACE INTO index_work (collection, rank, parameters) VALUES (?, ?, ?)`;
const OTHER_WORK = `SELECT 1 FROM index_work w CROSS JOIN collection c ON c.key = w.collection WHERE c.type = ? LIMIT 1`;
