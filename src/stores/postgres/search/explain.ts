import type { FhirModel } from '../../../fhir/model/fhir-model.js';
import type { StatementPlan, StoreCall } from '../../../store/store.js';
import { type Sql, sql } from '../../sql/sql.js';
import type { Run } from '../database/run.js';
import { localized } from './needed-bases.js';
import { currentStatement } from './reads.js';
import { type SearchIndex, searchStatements } from './search.js';
import { byReferenceStatement } from './search-by-reference.js';
import { toStatement } from '../database/statements.js';

/** The statements behind a call and PostgreSQL's plan for each. See https://www.postgresql.org/docs/current/using-explain.html. */
export async function explainCall(
  model: FhirModel,
  call: StoreCall,
  { epoch, run }: Pick<SearchIndex, 'epoch' | 'run'>,
): Promise<readonly StatementPlan[]> {
  const asked = await localizedCall(model, call, run);
  return Promise.all(
    statementsOf(model, asked, epoch).map(async (statement) => {
      const rows = await run(sql`EXPLAIN (COSTS OFF) ${statement}`);
      return {
        statement: toStatement(statement).text.replaceAll(/\s+/g, ' '),
        plan: rows.map(([line]) => String(line)),
      };
    }),
  );
}

async function localizedCall(model: FhirModel, call: StoreCall, run: Run): Promise<StoreCall> {
  if (call.kind === 'read') return call;
  const beside = call.kind === 'search' ? [] : [call.parameter];
  return { ...call, query: await localized(call.query, beside, model, run) };
}

function statementsOf(model: FhirModel, call: StoreCall, epoch: string): readonly Sql[] {
  switch (call.kind) {
    case 'read':
      return call.keys.length === 0 ? [] : [currentStatement(call.keys)];
    case 'search': {
      const { pages: ways, counts } = searchStatements(model, call.query, epoch);
      const pages = call.query.limit === 0 ? [] : ways;
      return call.query.total === true ? [...pages, ...counts] : pages;
    }
    case 'search-by-reference': {
      const { query, parameter, targets } = call;
      const statement = byReferenceStatement(model, query, parameter, targets, { epoch });
      return statement === undefined ? [] : [statement];
    }
  }
}
