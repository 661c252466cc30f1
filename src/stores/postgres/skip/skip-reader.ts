import type { Condition } from '../../sql/pages/condition.js';
import { partWith } from '../../sql/pages/value-range.js';
import type { RowScope } from '../../sql/rows.js';
import { list, sql, type SqlValue, TRUE, unionAll } from '../../sql/sql.js';
import { arrayText } from '../array.js';
import { projectKey } from '../keys.js';
import type { Row } from '../lent-connection.js';
import { inParts } from '../pages/open-parts.js';
import { type OrderIndex, orderIndexOf } from '../pages/order-index.js';
import type { Run } from '../run.js';
import type { OpenParts } from './order-parts.js';
import { RANGES, type Ranges, SKIP_TUNING, type SkipOrder, WHOLE } from './skip-row.js';
import { partsOf, type PartSet, rowsFor } from './skip-search.js';

/** An order of the resources of a type. */
export interface StaleOrder {
  readonly project: string;
  readonly type: string;
  /** The sort key. */
  readonly parameter: string;
}

/** Notes an order that lacks a skip index, or whose skip index is to be made again. */
export type NoteStale = (order: StaleOrder) => void;

/** Reads skip indexes for one search. */
export class SkipReader {
  readonly #scope: RowScope;
  readonly #epoch: string;
  readonly #noteStale: NoteStale | undefined;

  constructor(scope: RowScope, epoch: string, noteStale: NoteStale | undefined) {
    this.#scope = scope;
    this.#epoch = epoch;
    this.#noteStale = noteStale;
  }

  /**
   * The parts of an order that can have matches. Undefined where the database has no valid skip index of it, too much was
   * written since, or it says nothing of these conditions.
   *
   * @param run in one snapshot with the walk
   */
  async openParts(index: OrderIndex, conditions: readonly Condition[], run: Run): Promise<OpenParts | undefined> {
    if (conditions.length === 0) return undefined;
    const { project, type } = this.#scope;
    const asked = [[0, WHOLE] as const, ...rowsFor(conditions, this.#scope)];
    const columns = [asked.map(([subject]) => subject), asked.map(([, value]) => value)].map(arrayText);
    const written = sql`SELECT 1 FROM fhirgraph_skip_written w WHERE w.project = ${projectKey(project)} AND w.type = ${type}
      LIMIT ${SKIP_TUNING.maxPending + 1}`;
    const rows =
      await run(sql`SELECT s.subject, s.value, s.data FROM unnest(${columns[0]!}::bigint[], ${columns[1]!}::text[]) a(subject, value)
        CROSS JOIN LATERAL (SELECT * FROM fhirgraph_skip k WHERE k.project = ${projectKey(project)} AND k.type = ${type}
          AND k.sort = ${index.skip} AND k.subject = a.subject AND k.value = a.value OFFSET 0) s
      UNION ALL SELECT -1, '', (SELECT count(*) FROM (${written}) w)::text`);
    const found = new Map(
      rows.map(([subject, value, data]) => [`${String(subject)} ${String(value)}`, data as string]),
    );
    const text = found.get(`0 ${WHOLE}`);
    const order = text === undefined ? undefined : (JSON.parse(text) as SkipOrder);
    const pending = Number(found.get(`-1 ${WHOLE}`));
    if (order?.epoch !== this.#epoch || pending > SKIP_TUNING.maxFresh)
      this.#noteStale?.({ project, type, parameter: index.parameter });
    if (order?.epoch !== this.#epoch || pending > SKIP_TUNING.maxPending) return undefined;
    const { starts } = order;
    if (starts.length === 0) return undefined;
    const read = (subject: number, value: string): string | undefined => found.get(`${subject} ${value}`);
    const open = partsOf(conditions, this.#scope, starts.length + 1, read)?.slice();
    if (open === undefined) return undefined;
    for (const value of pending === 0 ? [] : await this.#writtenValues(index, run)) open[partWith(starts, value)] = 1;
    return { starts, large: new Set(order.large), open };
  }

  /**
   * A scan of the parts of any order that can have matches of all conditions: few where conditions exclude each other.
   * Undefined where no order has so few.
   *
   * @param run in one snapshot with what reads the scan
   */
  async fewestParts(conditions: readonly Condition[], run: Run): Promise<Condition | undefined> {
    const { project, type } = this.#scope;
    const asked = rowsFor(conditions, this.#scope);
    if (conditions.length < 2 || asked.length < 2) return undefined;
    const columns = [asked.map(([subject]) => subject), asked.map(([, value]) => value)].map(arrayText);
    const rows = await run(sql`SELECT s.sort, s.subject, s.value, s.data FROM fhirgraph_skip s
      WHERE s.project = ${projectKey(project)} AND s.type = ${type} AND (s.subject, s.value) IN (
        SELECT a.subject, a.value FROM unnest(${columns[0]!}::bigint[], ${columns[1]!}::text[]) a(subject, value))`);
    const candidates = [...Map.groupBy(rows, ([sort]) => String(sort))].flatMap(([sort, ofSort]) => {
      const texts = new Map(
        ofSort.map(([, subject, value, data]) => [`${String(subject)} ${String(value)}`, data as string]),
      );
      const read = (subject: number, value: string): string | undefined => texts.get(`${subject} ${value}`);
      const open = partsOf(conditions, this.#scope, countOf(ofSort), read);
      const count = open?.reduce((sum, one) => sum + one, 0) ?? Infinity;
      return open === undefined || count > MAX_PARTS ? [] : [{ sort, open, count }];
    });
    for (const { sort, open } of candidates.sort((a, b) => a.count - b.count).slice(0, MAX_ORDERS)) {
      const scan = await this.#scanOf(sort, open, run);
      if (scan !== undefined) return scan;
    }
    return undefined;
  }

  /** Undefined where the order is not valid, or a part is large. */
  async #scanOf(sort: string, open: PartSet, run: Run): Promise<Condition | undefined> {
    const { project, type } = this.#scope;
    const written = sql`FROM fhirgraph_skip_written w WHERE w.project = ${projectKey(project)} AND w.type = ${type}`;
    const [row] =
      await run(sql`SELECT s.data, (SELECT count(*) FROM (SELECT 1 ${written} LIMIT ${SKIP_TUNING.maxPending + 1}) w)
      FROM fhirgraph_skip s WHERE s.project = ${projectKey(project)} AND s.type = ${type} AND s.sort = ${sort}::bigint
        AND s.subject = 0 AND s.value = ${WHOLE}`);
    const order = row === undefined ? undefined : (JSON.parse(row[0] as string) as SkipOrder);
    if (order?.epoch !== this.#epoch || Number(row![1]) > SKIP_TUNING.maxPending) return undefined;
    const index = orderIndexOf({ parameter: order.parameter, descending: false }, this.#scope);
    if (index === undefined || open.length !== order.starts.length + 1) return undefined;
    const parts = [...open.keys()].filter((part) => open[part] === 1 && part < order.starts.length);
    if (order.large.some((part) => open[part] === 1)) return undefined;
    const all = { start: TRUE, end: TRUE, falling: false };
    const known = { starts: order.starts, large: new Set<number>(), open };
    const selects = [
      ...(parts.length === 0 ? [] : [inParts(index, all, known, parts)]),
      ...(index.missing !== undefined && open.at(-1) === 1 ? [index.missing.scan!] : []),
      sql`SELECT w.resource ${written}`,
    ];
    return { scan: unionAll(selects), test: TRUE, direct: true };
  }

  /** The sort values of what was written since: it stands anywhere. */
  async #writtenValues({ valueOf, isNumber }: OrderIndex, run: Run): Promise<readonly SqlValue[]> {
    const { project, type } = this.#scope;
    const rows = await run(sql`SELECT DISTINCT ${list([valueOf])} FROM (
        SELECT DISTINCT w.resource FROM fhirgraph_skip_written w WHERE w.project = ${projectKey(project)} AND w.type = ${type}) w
      CROSS JOIN LATERAL (SELECT * FROM resource y WHERE y.project = ${projectKey(project)} AND y.key = w.resource AND y.content IS NOT NULL OFFSET 0) r0`);
    return rows.flatMap(([value]) => (value === null ? [] : [isNumber ? Number(value) : (value as string)]));
  }
}

/** Number of parts of an order, by its rows. */
function countOf(rows: readonly Row[]): number {
  const [, , value, data] = rows[0]!;
  return value === RANGES ? (JSON.parse(data as string) as Ranges).low.length : (data as string).length;
}

/** Orders that are looked at: those by codes may have large parts. */
const MAX_ORDERS = 3;

/** Parts that are read instead of a longer scan or walk. */
const MAX_PARTS = 16;
