import type { SortKey } from '../../../../search/criteria/criteria.js';
import { LARGEST, SMALLEST } from '../../../sql/extremes.js';
import { TABLE_NAMES, type ValueTable } from '../../../sql/index-tables.js';
import type { RowScope } from '../../../sql/rows.js';
import { type Sql, sql, type SqlValue } from '../../../sql/sql.js';
import type { Statements } from '../../database/statements.js';
import { readInto } from '../../../sql/skip/key-bytes.js';
import { KeySet } from '../../../sql/skip/key-set.js';
import { readSkipData } from '../read/skip-header.js';
import { lastEndOf } from './long-ends.js';
import { skipOrderOf } from '../read/skip-order.js';
import { EVERYTHING, SETS, type SkipHeader, orderOfIds } from '../../rows/skip-row.js';

/** The writes to a type since its skip index was built. */
export class Written {
  readonly scope: RowScope;
  /** The id in the header of the index before this update. */
  readonly id: string;
  readonly keys: readonly number[];
  /** The number of keys in the range before this update. */
  readonly sizeBefore: number;
  /** The keys, as JSON. */
  readonly pending: string;
  readonly changed: KeySet;
  /** All resources before this update. */
  readonly before: KeySet;
  /** All resources now. */
  readonly all: KeySet;
  readonly #statements: Statements;
  readonly #check: () => void;

  /** @param check called between statements */
  constructor(
    scope: RowScope,
    statements: Statements,
    check: () => void,
    { id, first, size: sizeBefore }: SkipHeader,
    pending: readonly number[],
  ) {
    this.scope = scope;
    this.id = id;
    this.#statements = statements;
    this.#check = check;
    this.keys = pending;
    this.sizeBefore = sizeBefore;
    this.pending = JSON.stringify(pending);
    const size = pending.reduce((length, key) => Math.max(length, key - first + 1), sizeBefore);
    this.changed = new KeySet(first, size);
    for (const key of pending) this.changed.add(key);
    this.before = new KeySet(first, size);
    const everything = this.read(SETS, orderOfIds(scope.collection as number), EVERYTHING) as Uint8Array;
    readInto(this.before, everything, () => this.before);
    this.all = this.before.copy().subtract(this.changed);
    for (const [key] of this.among(sql`0`)) this.all.add(key);
  }

  /** The sort values of the current resources among some keys. */
  values(key: SortKey, keys: string): readonly (readonly [number, SqlValue])[] {
    return this.among(skipOrderOf(key, this.scope)!.valueOf, keys);
  }

  /** The end of the last long interval of each current resource among some keys. */
  lastEnds(parameter: number, table: ValueTable, keys: string): readonly (readonly [number, SqlValue])[] {
    return this.among(lastEndOf(table, parameter), keys);
  }

  /** The written resources with several values. See extremes.ts for the marks. */
  severalOf(parameter: number, table: Exclude<ValueTable, 'reference'>): readonly number[] {
    const rows = this.allOf(sql`SELECT x.resource FROM json_each(${this.pending}) j CROSS JOIN ${TABLE_NAMES[table]} x
      ON x.resource = j.value AND x.parameter = ${parameter} AND x.grp = 0
      WHERE x.extreme & ${SMALLEST | LARGEST} = ${LARGEST}`);
    return rows.map(([key]) => key as number);
  }

  /** The written resources with several references. */
  severalTargets(parameter: string): readonly number[] {
    const valueOf = (descending: boolean): Sql => skipOrderOf({ parameter, descending }, this.scope)!.valueOf;
    const rows = this.among(sql`${valueOf(false)} IS NOT ${valueOf(true)}`);
    return rows.filter(([, several]) => several === 1).map(([key]) => key);
  }

  among(value: Sql, keys = this.pending): readonly (readonly [number, SqlValue])[] {
    return this.allOf(sql`SELECT r0.key, ${value} FROM json_each(${keys}) j
      CROSS JOIN resource r0 ON r0.key = j.value WHERE r0.content IS NOT NULL`) as (readonly [number, SqlValue])[];
  }

  allOf(query: Sql): readonly (readonly SqlValue[])[] {
    this.#check();
    return this.#statements.all(query);
  }

  read(sort: number, subject: number, value: string | number): string | Uint8Array {
    return readSkipData(this.#statements, sort, subject, value)!;
  }
}
