import type { FhirModel } from '../../../fhir/model/fhir-model.js';
import type { StatementPlan, StoreCall } from '../../../store/store.js';
import type { ExplainedStatement } from '../../sql/page.js';
import { sql } from '../../sql/sql.js';
import { currentStatement } from './reads.js';
import { explainSearch, type SearchIndex } from './search.js';
import { byReferenceStatement } from './search-by-reference.js';
import { toStatement } from '../database/statements.js';

/** The statements behind a call and PostgreSQL's plan for each. See https://www.postgresql.org/docs/current/using-explain.html. */
export async function explainCall(
  model: FhirModel,
  call: StoreCall,
  index: SearchIndex,
): Promise<readonly StatementPlan[]> {
  const statements = await statementsOf(model, call, index);
  return Promise.all(
    statements.map(async ({ way, statement }) => {
      const rows = await index.run(sql`EXPLAIN (COSTS OFF) ${statement}`);
      return {
        ...(way !== undefined && { way }),
        statement: toStatement(statement).text.replaceAll(/\s+/g, ' '),
        plan: rows.map(([line]) => String(line)),
      };
    }),
  );
}

async function statementsOf(
  model: FhirModel,
  call: StoreCall,
  index: SearchIndex,
): Promise<readonly ExplainedStatement[]> {
  switch (call.kind) {
    case 'read':
      return call.keys.length === 0 ? [] : [{ statement: currentStatement(call.keys) }];
    case 'search':
      return explainSearch(model, call.query, index);
    case 'search-by-reference': {
      const { query, parameter, targets } = call;
      const statement = byReferenceStatement(model, query, parameter, targets, index);
      return statement === undefined ? [] : [{ statement }];
    }
  }
}
