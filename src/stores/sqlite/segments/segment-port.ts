import { crc32 } from 'node:zlib';
import type { FhirModel } from '../../../fhir/model/fhir-model.js';
import type { Criteria } from '../../../search/criteria/criteria.js';
import { indexEntries } from '../../../search/index/index-resource.js';
import type { SyncPort } from '../../ask.js';
import {
  FORMAT,
  type IndexedResource,
  isComplete,
  listOf,
  listText,
  type RowKey,
  type SegmentChange,
  type SegmentList,
  type SegmentPort,
  type StoredState,
  type WrittenResource,
} from '../../segments/port.js';
import { setOfName } from '../../segments/run-format.js';
import { damaged } from '../../segments/segment-rows.js';
import { rowCondition } from '../../sql/conditions.js';
import type { SqlDialect } from '../../sql/dialect.js';
import { tablesOf } from '../../sql/index-tables.js';
import { isCurrent, rowScope } from '../../sql/rows.js';
import { allOf, sql } from '../../sql/sql.js';
import type { SqliteDatabase } from '../database/driver.js';
import type { Statements } from '../database/statements.js';
import { inTransaction } from '../database/transaction.js';
import { addFrequentCodes } from '../rows/frequent-codes.js';
import { type KeptText, parseKept } from '../rows/kept-text.js';
import type { IndexStatus } from '../schema/index-status.js';
import { assertNotOvertaken } from '../schema/prepare-schema.js';

/** What the ports of all projects share. */
export interface SegmentSource {
  readonly model: FhirModel;
  readonly database: SqliteDatabase;
  readonly statements: Statements;
  readonly dialect: SqlDialect;
  readonly status: IndexStatus;
}

/** The segments of a project in the file. */
export class SqliteSegmentPort implements SyncPort<SegmentPort> {
  readonly #maxWritten: () => number;
  /** The list of each type that was read last. */
  readonly #lists = new Map<number, SegmentList>();

  /** @param maxWritten with more writes since its list was made, a type has no list */
  constructor(
    private readonly project: string,
    private readonly source: SegmentSource,
    maxWritten = (): number => Infinity,
  ) {
    this.#maxWritten = maxWritten;
  }

  states(types: readonly string[]): readonly StoredState[] {
    return types.map((type) => {
      const collection = this.#collection(type);
      const list = collection === undefined ? undefined : this.#list(collection);
      if (list === undefined) return NO_STATE;
      const written = this.#written(collection!);
      return written.length > this.#maxWritten() ? NO_STATE : { list, written };
    });
  }

  rows(keys: readonly RowKey[]): readonly (Uint8Array | undefined)[] {
    const statement = this.source.statements.read(READ_ROW);
    return keys.map(({ segment, name }) => {
      const [data, sum] = (statement.get(segment, name) ?? []) as [data?: unknown, sum?: unknown];
      return data instanceof Uint8Array && crc32(data) === sum ? data : undefined;
    });
  }

  resources(type: string, ids: readonly string[]): readonly IndexedResource[] {
    return this.#indexed(this.source.statements.read(READ_RESOURCES).all(JSON.stringify(ids), this.#key(type)));
  }

  resourcesAfter(type: string, id: string | undefined, limit: number): readonly IndexedResource[] {
    return this.#indexed(this.source.statements.read(NEXT_RESOURCES).all(this.#key(type), id ?? '', limit));
  }

  /** Texts take as long to index as their index rows take to read, and are in fewer pages. */
  #indexed(rows: readonly unknown[]): readonly IndexedResource[] {
    return (rows as readonly ResourceRow[]).map((row) => {
      const { resource } = parseKept(row);
      return { id: row[5], lastUpdated: row[2], entries: indexEntries(this.source.model, resource) };
    });
  }

  matching(type: string, criteria: Criteria, ids: readonly string[]): readonly string[] {
    const { dialect, statements } = this.source;
    const scope = rowScope({ project: this.project, dialect }, type);
    const test = allOf([isCurrent(scope), rowCondition(criteria, scope)]);
    const statement = sql`SELECT r0.id FROM json_each(${JSON.stringify(ids)}) j
      CROSS JOIN resource r0 ON r0.collection = ${this.#key(type)} AND r0.id = j.value WHERE ${test}`;
    return statements.column(statement) as readonly string[];
  }

  /** Within the transaction that erases, or else in one of its own. */
  write(type: string, change: SegmentChange): boolean {
    const { database, statements, status } = this.source;
    if (database.inTransaction) return this.#write(type, change);
    return inTransaction(database, () => {
      assertNotOvertaken(statements, status);
      return this.#write(type, change);
    });
  }

  #write(type: string, { expected, list, added, dropped, covered }: SegmentChange): boolean {
    const { statements } = this.source;
    const collection = this.#collection(type);
    if (collection === undefined) return false;
    if (listIdOf(statements, collection) !== expected) return false;
    const drop = statements.write('DELETE FROM segment_row WHERE segment = ?');
    for (const segment of dropped) drop.run(segment);
    const add = statements.write(ADD_ROW);
    for (const [segment, rows] of added) {
      for (const [name, data] of rows) add.run(segment, name, collection, crc32(data), data as never);
    }
    const text = listText(list);
    const isBuilt = isComplete(list) ? FORMAT : 0;
    statements.write(SET_LIST).run(collection, list.id, isBuilt, text, crc32(text));
    const cover = statements.write(COVER);
    for (const { id, stamp } of covered) cover.run(collection, collection, id, stamp);
    const names = [...added.values()].flatMap((rows) => [...rows.keys()]);
    addFrequentCodes(statements, this.#frequentCodes(type, collection, names));
    return true;
  }

  /** The codes of tokens that have a set among rows with these names, with the keys of their parameters. */
  #frequentCodes(type: string, collection: number, names: readonly string[]): readonly (readonly [number, string])[] {
    const { dialect, model } = this.source;
    return names.flatMap((name) => {
      const { run, text } = setOfName(name) ?? {};
      if (run === undefined || text === undefined || String(tablesOf(model, type, run)) !== 'token') return [];
      const parameter = dialect.parameter(collection, run) as number | undefined;
      return parameter === undefined ? [] : [[parameter, text] as const];
    });
  }

  #list(collection: number): SegmentList | undefined {
    const id = listIdOf(this.source.statements, collection);
    if (id === undefined) return undefined;
    const known = this.#lists.get(collection);
    if (known?.id === id) return known;
    const [text, sum] = this.source.statements.read(READ_LIST).get(collection) as [unknown, unknown];
    if (typeof text !== 'string' || crc32(text) !== sum) throw damaged();
    const list = listOf(text);
    this.#lists.set(collection, list);
    return list;
  }

  #written(collection: number): readonly WrittenResource[] {
    const most = this.#maxWritten() === Infinity ? -1 : this.#maxWritten() + 1;
    const rows = this.source.statements.read(LIST_WRITTEN).all(collection, most) as readonly [string, number][];
    return rows.map(([id, stamp]) => ({ id, stamp }));
  }

  #collection(type: string): number | undefined {
    return this.source.dialect.collection(this.project, type) as number | undefined;
  }

  #key(type: string): number {
    return this.#collection(type) ?? 0;
  }
}

/** The id of the list of a type; undefined if it has none. */
export function listIdOf(statements: Statements, collection: number): string | undefined {
  return (statements.read(READ_LIST_ID).get(collection) as [string] | undefined)?.[0];
}

const NO_STATE: StoredState = { list: undefined, written: [] };

type ResourceRow = KeptText & readonly [number, number, number, string | null, number | null, id: string];

export const READ_ROW = 'SELECT data, sum FROM segment_row WHERE segment = ? AND name = ?';
const READ_LIST_ID = 'SELECT id FROM segment_list WHERE collection = ?';
const READ_LIST = 'SELECT list, sum FROM segment_list WHERE collection = ?';
const SET_LIST = 'INSERT OR REPLACE INTO segment_list (collection, id, built, list, sum) VALUES (?, ?, ?, ?, ?)';
const ADD_ROW = 'INSERT INTO segment_row (segment, name, collection, sum, data) VALUES (?, ?, ?, ?, ?)';
const LIST_WRITTEN = `SELECT r.id, w.stamp FROM segment_written w CROSS JOIN resource r ON r.key = w.resource
  WHERE w.collection = ? LIMIT ?`;
const READ_RESOURCES = `SELECT r.key, r.version, r.updated, v.text, v.sum, r.id FROM json_each(?) j
  CROSS JOIN resource r ON r.collection = ? AND r.id = j.value CROSS JOIN version v ON v.key = r.content`;
const NEXT_RESOURCES = `SELECT r.key, r.version, r.updated, v.text, v.sum, r.id
  FROM resource r CROSS JOIN version v ON v.key = r.content
  WHERE r.collection = ? AND r.id > ? AND r.content IS NOT NULL ORDER BY r.id LIMIT ?`;
const COVER = `DELETE FROM segment_written
  WHERE collection = ? AND resource = (SELECT key FROM resource WHERE collection = ? AND id = ?) AND stamp = ?`;
