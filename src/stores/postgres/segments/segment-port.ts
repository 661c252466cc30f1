import { LOOP_TURN } from '../../../platform/pace.js';
import type { FhirModel } from '../../../fhir/model/fhir-model.js';
import type { Criteria } from '../../../search/criteria/criteria.js';
import { indexEntries } from '../../../search/index/index-resource.js';
import {
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
import { rowCondition } from '../../sql/conditions.js';
import { parseStored } from '../../sql/parse-stored.js';
import { isCurrent, rowScope } from '../../sql/rows.js';
import { allOf, sql, type Sql, TRUE } from '../../sql/sql.js';
import type { Run } from '../database/run.js';
import type { Transaction } from '../database/transaction.js';
import { arrayText, plainArrayText, rowsOf } from '../rows/array.js';
import { BATCH_TEXTS } from '../rows/bounded-texts.js';
import { byKey } from '../rows/by-key.js';
import { postgresDialect } from '../rows/dialect.js';
import { resourceKeyIn, textKey } from '../rows/keys.js';
import { removeRows } from '../rows/segment-tables.js';
import { TUNING } from '../scans/tuning.js';

/** The states of types that were read last. The next search reads what has changed since. */
export type KnownStates = Map<string, KnownState>;

interface KnownState {
  readonly list: SegmentList;
  /** Their number and the sum of their stamps. */
  readonly digest: string;
  readonly written: readonly WrittenResource[];
}

/** How a port reads and writes. */
export interface PortConnection {
  readonly run: Run;
  /** Runs writes in one transaction. */
  readonly transact: <Result>(write: (transaction: Pick<Transaction, 'run'>) => Promise<Result>) => Promise<Result>;
  /** How many of the writes since a list was made are read. After a load there may be a million. Default: all. */
  readonly mostWritten?: number;
}

/** How a port answers a search. */
interface PortSearch {
  readonly project: string;
  /** Ends the statement that reads the states, unless it holds. */
  readonly holds: Sql;
  readonly known: KnownStates;
}

/** Rows by segment and name, in the order of these. */
export function rowsStatement(shard: string, keys: readonly RowKey[]): Sql {
  const segments = plainArrayText(keys.map(({ segment }) => textKey(segment)));
  const names = plainArrayText(keys.map(({ name }) => textKey(name)));
  // Drivers differ in the form of binary values.
  return sql`SELECT encode(r.data, 'base64') FROM unnest(${segments}::uuid[], ${names}::uuid[]) WITH ORDINALITY k(segment, name, n)
    LEFT JOIN LATERAL (SELECT r.data FROM fhirgraph_segment_row r
      WHERE r.project = ${shard} AND r.segment = k.segment AND r.name = k.name OFFSET 0) r ON TRUE
    ORDER BY k.n`;
}

/** A connection for reads. */
export function readOnly(run: Run): PortConnection {
  return { run, transact: () => Promise.reject(new TypeError('Searches do not write')) };
}

/** The segments of a project in the database. */
export class PostgresSegmentPort implements SegmentPort {
  readonly #search: PortSearch | undefined;

  /** @param search undefined for upkeep */
  constructor(
    private readonly model: FhirModel,
    private readonly shard: string,
    private readonly connection: PortConnection,
    search?: PortSearch,
  ) {
    this.#search = search;
  }

  async states(types: readonly string[]): Promise<readonly StoredState[]> {
    const { holds = TRUE, known: kept } = this.#search ?? {};
    const { mostWritten = NO_LIMIT } = this.connection;
    const maxWritten = this.#search === undefined ? NO_LIMIT : TUNING.maxWritten;
    const known = types.map((type) => kept?.get(type));
    const ids = arrayText(known.map((one) => one?.list.id ?? ''));
    const digests = arrayText(known.map((one) => one?.digest ?? ''));
    const written = sql`fhirgraph_segment_written w WHERE w.project = ${this.shard} AND w.type = t.type`;
    const rows = await this.connection
      .run(sql`SELECT l.id, CASE WHEN l.id = t.id THEN NULL ELSE l.list END, d.size, d.digest,
        CASE WHEN d.digest = t.digest OR d.size > ${maxWritten} OR l.id IS NULL THEN NULL
          ELSE (SELECT json_agg(json_build_array(w.id, w.stamp))::text FROM (SELECT * FROM ${written} LIMIT ${mostWritten}) w) END
      FROM unnest(${arrayText(types)}::text[], ${ids}::text[], ${digests}::text[]) WITH ORDINALITY t(type, id, digest, n)
      LEFT JOIN LATERAL (SELECT l.id, l.list FROM fhirgraph_segment_list l
        WHERE l.project = ${this.shard} AND l.type = t.type OFFSET 0) l ON TRUE
      LEFT JOIN LATERAL (SELECT count(*)::int AS size, count(*) || ' ' || coalesce(sum(w.stamp), 0) AS digest
        FROM (SELECT w.stamp FROM ${written} LIMIT ${maxWritten + 1}) w) d ON TRUE
      WHERE ${holds} ORDER BY t.n`);
    return types.map((type, index): StoredState => {
      const [id, text, size, digest, writes] = rows[index] as unknown as StateRow;
      if (id === null || size > maxWritten) return NO_STATE;
      const before = known[index];
      const list = text === null ? before!.list : listOf(text);
      const state = before?.digest === digest ? before.written : writtenOf(writes);
      kept?.set(type, { list, digest, written: state });
      return { list, written: state };
    });
  }

  async rows(keys: readonly RowKey[]): Promise<readonly (Uint8Array | undefined)[]> {
    const found = await this.connection.run(rowsStatement(this.shard, keys));
    return found.map(([text]) => (text === null ? undefined : Buffer.from(text as string, 'base64')));
  }

  async resources(type: string, ids: readonly string[]): Promise<readonly IndexedResource[]> {
    const found: IndexedResource[] = [];
    for (let left = ids; left.length > 0;) {
      const keys = rowsOf(left.map((id) => resourceKeyIn(this.shard, type, id)));
      const { part, isLast } = await this.#indexed(sql`SELECT r.id, r.updated, r.content
        FROM ${keys} WITH ORDINALITY k(key, n) CROSS JOIN LATERAL (${byKey(this.shard, sql`k.key`)}) r
        WHERE r.content IS NOT NULL ORDER BY k.n`);
      for (const one of part) found.push(one);
      if (isLast) break;
      left = left.slice(left.indexOf(part.at(-1)!.id) + 1);
    }
    return found;
  }

  async resourcesAfter(type: string, id: string | undefined, limit: number): Promise<readonly IndexedResource[]> {
    const found: IndexedResource[] = [];
    for (let after = id ?? ''; ; after = found.at(-1)!.id) {
      const { part, isLast } = await this.#indexed(sql`SELECT r.id, r.updated, r.content FROM resource r
        WHERE r.project = ${this.shard} AND r.type = ${type} AND r.content IS NOT NULL AND r.id > ${after}
        ORDER BY r.id LIMIT ${limit - found.length}`);
      for (const one of part) found.push(one);
      if (isLast) return found;
    }
  }

  /**
   * The first of some rows, as many as their texts fit in {@link BATCH_TEXTS}.
   *
   * From its text, a resource is indexed in less time than its index rows take to read.
   */
  async #indexed(rows: Sql): Promise<{ readonly part: readonly IndexedResource[]; readonly isLast: boolean }> {
    const found = await this.connection
      .run(sql`SELECT id, updated, content, size FROM (SELECT r.*, count(*) OVER ()::int AS size,
        sum(octet_length(r.content)) OVER (ROWS UNBOUNDED PRECEDING) - octet_length(r.content) AS before FROM (${rows}) r) s
      WHERE before <= ${BATCH_TEXTS.bytes}::bigint`);
    const part: IndexedResource[] = [];
    for (const [id, updated, content] of found as unknown as readonly ResourceRow[]) {
      if (LOOP_TURN.isSpent) await LOOP_TURN.nextOfBegun();
      const entries = indexEntries(this.model, parseStored(content).resource);
      part.push({ id, lastUpdated: Number(updated), entries });
    }
    return { part, isLast: part.length === Number(found[0]?.[3] ?? 0) };
  }

  async matching(type: string, criteria: Criteria, ids: readonly string[]): Promise<readonly string[]> {
    const scope = rowScope({ project: this.#search!.project, dialect: postgresDialect(this.model) }, type);
    const keys = rowsOf(ids.map((id) => resourceKeyIn(this.shard, type, id)));
    const rows = await this.connection
      .run(sql`SELECT r0.id FROM ${keys} k(key) CROSS JOIN LATERAL (${byKey(this.shard, sql`k.key`)}) r0
      WHERE ${allOf([isCurrent(scope), rowCondition(criteria, scope)])}`);
    return rows.map(([id]) => id as string);
  }

  /**
   * The rows come first, and the list is locked last: an erasure locks it, too, and should not wait for the rows.
   *
   * Statements see what is committed before each of them. Writes that are committed in between have stamps that no list
   * covers, and commits only add rows, so no commit waits for this.
   */
  async write(type: string, change: SegmentChange): Promise<boolean> {
    try {
      return await this.connection.transact((transaction) => this.#write(transaction, type, change));
    } catch (error) {
      if (error instanceof ListReplaced) return false;
      throw error;
    }
  }

  async #write(
    transaction: Pick<Transaction, 'run'>,
    type: string,
    { expected, list, added, dropped, covered }: SegmentChange,
  ): Promise<boolean> {
    const of = sql`l.project = ${this.shard} AND l.type = ${type}`;
    if (!(await this.#isExpected(transaction, of, expected, sql``))) return false;
    for (const part of partsOf(added)) await transaction.run(this.#insert(part));
    if (!(await this.#isExpected(transaction, of, expected, sql`FOR UPDATE`))) throw new ListReplaced();
    if (dropped.length > 0) await transaction.run(removeRows(this.shard, dropped));
    const [text, complete] = [listText(list), String(isComplete(list))];
    await transaction.run(
      expected === undefined
        ? sql`INSERT INTO fhirgraph_segment_list (project, type, id, complete, list)
              VALUES (${this.shard}, ${type}, ${list.id}, ${complete}, ${text})`
        : sql`UPDATE fhirgraph_segment_list l SET id = ${list.id}, complete = ${complete}, list = ${text}, busy = NULL WHERE ${of}`,
    );
    const stamps = covered.flatMap(({ id, stamp }) =>
      String(stamp)
        .split(',')
        .map((one) => [id, one] as const),
    );
    if (stamps.length === 0) return true;
    await transaction.run(sql`DELETE FROM fhirgraph_segment_written w
        USING unnest(${arrayText(stamps.map(([id]) => id))}::text[], ${plainArrayText(stamps.map(([, stamp]) => stamp))}::bigint[]) c(id, stamp)
        WHERE w.project = ${this.shard} AND w.type = ${type} AND w.id = c.id AND w.stamp = c.stamp`);
    return true;
  }

  async #isExpected(
    transaction: Pick<Transaction, 'run'>,
    of: Sql,
    expected: string | undefined,
    lock: Sql,
  ): Promise<boolean> {
    const [row] = await transaction.run(sql`SELECT l.id FROM fhirgraph_segment_list l WHERE ${of} ${lock}`);
    return row?.[0] === expected;
  }

  #insert(rows: readonly NamedRow[]): Sql {
    const segments = plainArrayText(rows.map(({ segment }) => textKey(segment)));
    const names = plainArrayText(rows.map(({ name }) => textKey(name)));
    const texts = arrayText(rows.map(({ data }) => Buffer.from(data).toString('base64')));
    return sql`INSERT INTO fhirgraph_segment_row (project, segment, name, data)
      SELECT ${this.shard}::uuid, u.segment, u.name, decode(u.text, 'base64')
      FROM unnest(${segments}::uuid[], ${names}::uuid[], ${texts}::text[]) u(segment, name, text)`;
  }
}

/** Rolls a change back: another process has replaced the list. */
class ListReplaced extends Error {}

type StateRow = readonly [string | null, string | null, number, string, string | null];

type ResourceRow = readonly [id: string, updated: string | number, content: string];

interface NamedRow extends RowKey {
  readonly data: Uint8Array;
}

/** A `LIMIT` of one more is a number of 32 bits. */
const NO_LIMIT = 0x7ffffffe;

const NO_STATE: StoredState = { list: undefined, written: [] };

/** The stamp of a resource is that of all its writes. */
function writtenOf(text: string | null): readonly WrittenResource[] {
  const stamps = new Map<string, number[]>();
  for (const [id, stamp] of JSON.parse(text ?? '[]') as readonly (readonly [string, number])[]) {
    const known = stamps.get(id);
    if (known === undefined) stamps.set(id, [stamp]);
    else known.push(stamp);
  }
  return [...stamps].map(([id, all]) => ({ id, stamp: all.sort((a, b) => a - b).join() }));
}

/** The rows of segments in parts of about a megabyte. */
function* partsOf(added: SegmentChange['added']): Generator<readonly NamedRow[]> {
  let part: NamedRow[] = [];
  let size = 0;
  for (const [segment, rows] of added) {
    for (const [name, data] of rows) {
      part.push({ segment, name, data });
      if ((size += data.length) < PART) continue;
      yield part;
      [part, size] = [[], 0];
    }
  }
  if (part.length > 0) yield part;
}

const PART = 1_000_000;
