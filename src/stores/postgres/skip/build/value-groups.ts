import { TABLE_NAMES } from '../../../sql/index-tables.js';
import { parameterKey, type RowScope } from '../../../sql/rows.js';
import {
  factsOf,
  type GroupedComposite,
  groupedComposites,
  type GroupKind,
  MAX_CODE,
  MAX_KINDS,
  type ValueGroups,
} from '../../../sql/skip/value-groups.js';
import { sql, type Sql } from '../../../sql/sql.js';
import { arrayText } from '../../rows/array.js';
import { isWhole } from '../../rows/dialect.js';
import { plainKey, projectKey } from '../../rows/keys.js';
import type { Runner } from '../../rows/meta.js';
import { FIRST_GROUPS, SKIP_TUNING } from '../../rows/skip-row.js';
import type { Granule } from '../format/granule-rows.js';
import { readGranules } from './read-granules.js';

/** An order of groups: see sql/skip/value-groups.ts. */
export interface MadeGroups {
  readonly sort: number;
  readonly subject: number;
  readonly groups: ValueGroups;
  readonly granules: readonly Granule[];
}

/** The index rows of the groups of a composite: `x0` is the row of the code, `x1` that of the value. */
export interface GroupSource {
  readonly table: GroupedComposite['table'];
  /** The component of the values. */
  readonly values: number;
  readonly value: Sql;
  readonly from: Sql;
  /** The condition that `x0` has a code of the composite. */
  readonly ofCodes: Sql;
}

/** The composites of a type whose components have ever had values. */
export function groupSources(scope: RowScope): readonly GroupSource[] {
  return groupedComposites(scope.dialect.model, scope.type).flatMap((composite) => {
    const { table } = composite;
    const [codes, values] = [composite.code, composite.value].map(
      (one) => parameterKey(scope, one) as number | undefined,
    );
    if (codes === undefined || values === undefined) return [];
    const hasCode = table === 'token' ? sql` AND x1.code IS NOT NULL` : sql``;
    const ofValues = sql`x1.parameter = ${values}::bigint AND x1.grp = x0.grp${hasCode}`;
    const from = sql`token x0 JOIN ${TABLE_NAMES[table]} x1 ON x1.project = x0.project AND x1.resource = x0.resource AND ${ofValues}`;
    const ofCodes = sql`x0.project = ${projectKey(scope.project)} AND x0.parameter = ${codes}::bigint`;
    return [{ table, values, value: table === 'token' ? sql`x1.code` : sql`x1.low`, from, ofCodes }];
  });
}

/**
 * Makes the orders of groups of a type.
 *
 * PERF: one statement reads the groups of many codes. For each code alone, the server reads the values of all codes.
 */
export async function* madeGroups(runner: Runner, scope: RowScope): AsyncGenerator<MadeGroups> {
  for (const { table, values, value, from, ofCodes } of groupSources(scope)) {
    let subject = FIRST_GROUPS;
    for (const some of await frequentCodes(runner, ofCodes)) {
      const where = sql`${ofCodes} AND x0.code = ANY (${arrayText(some)}::text[])`;
      const facts = await factsIn(runner, table, sql`SELECT ${kindOf(table)} FROM ${from} WHERE ${where}`);
      const rows = sql`SELECT x0.code AS name, ${value} AS v, m.n FROM ${from}
        JOIN fhirgraph_number m ON m.resource = x0.resource WHERE ${where}`;
      const granules = await readGranules(runner, rows, table !== 'token', sql`name`);
      for (const name of some) {
        const [groups, own] = [facts.get(name), granules.get(name)];
        if (groups !== undefined && own !== undefined)
          yield { sort: values, subject: subject++, groups, granules: own };
      }
    }
  }
}

/** The frequent codes, some together. */
async function frequentCodes(runner: Runner, ofCodes: Sql): Promise<readonly (readonly string[])[]> {
  const rows = await runner.run(sql`SELECT x0.code, count(*) FROM token x0 WHERE ${ofCodes} AND ${isWhole(sql`x0.code`)}
    GROUP BY x0.code HAVING count(*) >= ${SKIP_TUNING.minGroups} ORDER BY x0.code COLLATE "C"`);
  const together: string[][] = [];
  let left = 0;
  for (const [code, count] of rows) {
    if (left < Number(count)) {
      together.push([]);
      left = MAX_GROUPS;
    }
    left -= Number(count);
    together.at(-1)!.push(code as string);
  }
  return together;
}

/**
 * The facts about the groups of each code. Codes with intervals among their values have none, and no order.
 *
 * @param kinds selects the columns of {@link kindOf} for each group
 */
export async function factsIn(
  runner: Runner,
  table: GroupedComposite['table'],
  kinds: Sql,
): Promise<ReadonlyMap<string, ValueGroups>> {
  const rows = await runner.run(sql`SELECT y.name, y.own, y.system, y.code, y.unit, max(y.other)
    FROM (${kinds}) y GROUP BY 1, 2, 3, 4, 5`);
  const facts = new Map<string, ValueGroups>();
  for (const [code, own] of Map.groupBy(rows, ([one]) => one as string)) {
    if (own.length > MAX_KINDS || own.some(([, , , , , isOther]) => Number(isOther) === 1)) continue;
    const kindsOfCode = own.map(([, first, ...unit]): GroupKind => [
      plainKey(first),
      key(unit[0]),
      key(unit[1]),
      key(unit[2]),
    ]);
    facts.set(code, factsOf(code, table, kindsOfCode, undefined));
  }
  return facts;
}

/** The code of a group, its system, the unit of its value, and whether the value is an interval or a long code. */
export function kindOf(table: GroupedComposite['table']): Sql {
  return sql`x0.code AS name, x0.system::text AS own, ${KINDS[table]}`;
}

const KINDS = {
  quantity: sql`x1.system::text, x1.code::text, x1.unit::text, (x1.high > x1.low)::int AS other`,
  token: sql`x1.system::text, NULL::text AS code, NULL::text AS unit, (length(x1.code) > ${MAX_CODE}::int)::int AS other`,
};

function key(text: unknown): string | null {
  return text === null ? null : plainKey(text);
}

/** Maximum groups that one statement reads, each about four bytes. */
const MAX_GROUPS = 4_000_000;
