import type { Sql } from './sql.js';
import type { Statements } from './statements.js';

/** A statement and SQLite's plan for it. */
export interface Explanation {
  readonly sql: string;
  /** Lines of `EXPLAIN QUERY PLAN`. See https://www.sqlite.org/eqp.html. */
  readonly plan: readonly string[];
}

export function explainStatement(statements: Statements, statement: Sql): Explanation {
  const rows = statements.read(`EXPLAIN QUERY PLAN ${statement.text}`).all(...statement.values);
  return { sql: statement.text, plan: rows.map((row) => String((row as readonly unknown[])[3])) };
}
