import type { Condition } from '../../sql/pages/condition.js';
import { isBefore } from '../../sql/pages/value-range.js';
import type { RowScope } from '../../sql/rows.js';
import { list, sql, type SqlValue } from '../../sql/sql.js';
import { arrayText } from '../array.js';
import { projectKey } from '../keys.js';
import type { OrderIndex } from '../pages/order-index.js';
import type { Run } from '../run.js';
import { SKIP_TUNING, type SkipOrder, WHOLE } from './skip-row.js';
import { partsOf, type PartSet, rowsFor } from './skip-search.js';

/** The parts of an order that can have matches. */
export interface OpenParts {
  /** The first value of each part. */
  readonly starts: readonly SqlValue[];
  /** Those of a value that many resources have. */
  readonly large: ReadonlySet<number>;
  /** By part; the last one has the resources without a value. */
  readonly open: PartSet;
}

/** An order of the resources of a type. */
export interface StaleOrder {
  readonly project: string;
  readonly type: string;
  /** The sort key. */
  readonly parameter: string;
}

/** Told of an order whose skip index is lacking, or is to be made again. */
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

  /** The sort values of what was written since: it stands anywhere. */
  async #writtenValues({ valueOf, isNumber }: OrderIndex, run: Run): Promise<readonly SqlValue[]> {
    const { project, type } = this.#scope;
    const rows = await run(sql`SELECT DISTINCT ${list([valueOf])} FROM (
        SELECT DISTINCT w.resource FROM fhirgraph_skip_written w WHERE w.project = ${projectKey(project)} AND w.type = ${type}) w
      CROSS JOIN LATERAL (SELECT * FROM resource y WHERE y.project = ${projectKey(project)} AND y.key = w.resource AND y.content IS NOT NULL OFFSET 0) r0`);
    return rows.flatMap(([value]) => (value === null ? [] : [isNumber ? Number(value) : (value as string)]));
  }
}

/** The part that a value belongs to. */
export function partWith(starts: readonly SqlValue[], value: SqlValue): number {
  let [low, high] = [0, starts.length - 1];
  while (low < high) {
    const middle = (low + high + 1) >> 1;
    if (isBefore(value, starts[middle]!)) high = middle - 1;
    else low = middle;
  }
  return low;
}
