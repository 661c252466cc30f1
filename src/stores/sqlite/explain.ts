import type { StatementPlan, StoreCall } from '../../store/store.js';
import type { Connection } from './connection.js';
import { TEXTS } from './rows/contents.js';
import type { ExplainedStatement } from '../sql/page.js';
import { readsTogether } from './search/reverse-statements.js';
import { Sql } from '../sql/sql.js';
import type { Statements } from './database/statements.js';

/**
 * The statements behind a call and SQLite's plan for each: the lines of `EXPLAIN QUERY PLAN`, indented by their nesting.
 * See https://www.sqlite.org/eqp.html.
 */
export function explainCall(
  call: StoreCall,
  connection: Pick<Connection, 'statements' | 'reads' | 'searches' | 'contents'>,
): readonly StatementPlan[] {
  return statementsOf(call, connection).map(({ way, statement }) => ({
    ...(way !== undefined && { way }),
    statement: statement.text.replace(/\s+/g, ' '),
    plan: planOf(statement, connection.statements),
  }));
}

function statementsOf(
  call: StoreCall,
  { reads, searches, contents }: Pick<Connection, 'reads' | 'searches' | 'contents'>,
): readonly ExplainedStatement[] {
  switch (call.kind) {
    case 'read':
      return reads.statements(call.keys).map((statement) => ({ statement }));
    case 'search': {
      const found = searches.explain(call.query);
      const [first, ...others] = found;
      return first === undefined || call.query.limit === 0 ? found : [first, LOAD, ...others];
    }
    case 'search-by-reference': {
      const { query, parameter, targets } = call;
      const { reverse } = searches;
      // Unknown names have no key; any number represents them.
      const keys = reverse.targetKeys(query, targets).map((key) => key ?? 0);
      const [key] = keys;
      if (key !== undefined && readsTogether(query, targets, contents.textsWithPage)) {
        const together = reverse.oneReference(query, parameter, key);
        return together === undefined ? [] : [{ statement: together }];
      }
      const statement = reverse.byReference(query, parameter, keys);
      return statement === undefined ? [] : [{ statement }, LOAD];
    }
  }
}

/** Loads the found resources by key, except cached ones. */
const LOAD: ExplainedStatement = { statement: new Sql(TEXTS, ['[]']) };

function planOf(statement: Sql, statements: Statements): readonly string[] {
  const rows = statements.read(`EXPLAIN QUERY PLAN ${statement.text}`).all(...statement.values);
  const depths = new Map<unknown, number>();
  return rows.map((row) => {
    const [id, parent, , detail] = row as readonly unknown[];
    const depth = (depths.get(parent) ?? -1) + 1;
    depths.set(id, depth);
    return `${'  '.repeat(depth)}${String(detail)}`;
  });
}
