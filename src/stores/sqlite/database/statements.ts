import { LRUCache } from 'lru-cache';
import { guardOf } from './guard.js';
import type { SqliteDatabase, SqliteStatement } from './driver.js';
import type { Sql, SqlValue } from '../../sql/sql.js';

/** One result row: the values of its columns in order. */
export type Row = readonly SqlValue[];

/**
 * Prepared statements by their text.
 *
 * The text never contains values, so queries of the same shape share a statement. Rarely used statements are dropped,
 * so callers cannot fill memory with ever new shapes.
 */
export class Statements {
  readonly #byText = new LRUCache<string, SqliteStatement>({ max: MAX_STATEMENTS });

  constructor(private readonly database: SqliteDatabase) {}

  /** Number of cached statements, at most {@link MAX_STATEMENTS}. */
  get size(): number {
    return this.#byText.size;
  }

  /** A statement that writes: for `run` only. */
  write(text: string): SqliteStatement {
    return this.#byText.get(text) ?? this.#keep(text, this.#prepare(text));
  }

  /** A statement that reads: `get` and `all` give {@link Row}s. */
  read(text: string): SqliteStatement {
    return this.#byText.get(text) ?? this.#keep(text, this.#prepare(text).raw(true));
  }

  all(query: Sql): readonly Row[] {
    return this.read(query.text).all(...query.values) as Row[];
  }

  get(query: Sql): Row | undefined {
    return this.read(query.text).get(...query.values) as Row | undefined;
  }

  /** The values of the only column. PERF (scale): reading rows takes three times as long. */
  column(query: Sql): readonly SqlValue[] {
    const name = `column of ${query.text}`;
    const statement = this.#byText.get(name) ?? this.#keep(name, this.#prepare(query.text).pluck(true));
    return statement.all(...query.values) as SqlValue[];
  }

  #prepare(text: string): SqliteStatement {
    if (text.length > LONG_TEXT) guardOf(this.database).assertPatient();
    return this.database.prepare(plannedOnce(text)).safeIntegers(false);
  }

  #keep(text: string, statement: SqliteStatement): SqliteStatement {
    this.#byText.set(text, statement);
    return statement;
  }
}

/**
 * The text with a unary plus, which does nothing, before each parameter.
 *
 * PERF (scale): with the option ENABLE_STAT4, which the driver sets in its build, SQLite plans a statement over several tables
 * again whenever a parameter of a comparison is bound, because another plan may suit the value better. That takes
 * longer than most statements. SQLite does so for bare parameters, not for expressions.
 */
function plannedOnce(text: string): string {
  return text.replaceAll('?', '+?');
}

/** SQLite takes 10 ms or more to prepare longer texts. In characters. */
const LONG_TEXT = 20_000;

/** Maximum number of cached statements. Each takes about 5 KB. */
export const MAX_STATEMENTS = 500;
