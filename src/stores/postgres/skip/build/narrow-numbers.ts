import { TABLE_NAMES, tablesOf } from '../../../sql/index-tables.js';
import { parameterKey, type RowScope } from '../../../sql/rows.js';
import { narrowComponents } from '../../../sql/skip/narrow-components.js';
import { anyOf, sql } from '../../../sql/sql.js';
import { projectKey } from '../../rows/keys.js';
import type { Runner } from '../../rows/meta.js';
import { numbers, numbersIn } from '../format/number-texts.js';

const NONE = new Int32Array(0);

/** The numbered resources (see numbered-resources.ts) with a value of each narrow component, by the key of the component. */
export async function* numbersOfNarrow(
  runner: Runner,
  scope: RowScope,
): AsyncGenerator<{ readonly component: number; readonly own: Int32Array }> {
  const { model } = scope.dialect;
  for (const { component } of narrowComponents(model, scope.type)) {
    const key = parameterKey(scope, component);
    if (key === undefined) continue;
    // PERF: OFFSET keeps the planner from reading the rows of other resources.
    const isIn = tablesOf(model, scope.type, component).map(
      (table) => sql`EXISTS (SELECT 1 FROM ${TABLE_NAMES[table]} x WHERE x.project = ${projectKey(scope.project)}
        AND x.resource = m.resource AND x.parameter = ${key}::bigint OFFSET 0)`,
    );
    const [[data]] = (await runner.run(
      sql`SELECT ${numbers(sql`m.n`)} FROM fhirgraph_number m WHERE ${anyOf(isIn)}`,
    )) as [[string | null]];
    yield { component: Number(key), own: data === null ? NONE : numbersIn(data) };
  }
}
