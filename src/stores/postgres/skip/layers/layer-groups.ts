import { sql, type Sql, type SqlValue } from '../../../sql/sql.js';
import { arrayText } from '../../rows/array.js';
import type { RowScope } from '../../../sql/rows.js';
import type { ValueGroups } from '../../../sql/skip/value-groups.js';
import type { Runner } from '../../rows/meta.js';
import { GROUPS, type LayerGroups, valueName } from '../../rows/skip-row.js';
import { readGranules } from '../build/read-granules.js';
import { factsIn, type GroupSource, groupSources, kindOf } from '../build/value-groups.js';
import { distinctNumbers, type Granule, startsOf } from '../format/granule-rows.js';
import { granuleListsText } from '../format/granule-lists.js';
import { numbers, numbersIn, type Row } from '../format/number-texts.js';
import { ofType } from '../read/skip-state.js';

// The temporary table `fhirgraph_number` has the resources of the layer.

/** Makes the rows of a layer's groups: an order for each code whose groups the oldest layer has in order. */
export async function* layerGroupRows(runner: Runner, scope: RowScope): AsyncGenerator<Row> {
  for (const [source, codes] of await knownCodes(runner, scope)) {
    const facts = await factsIn(runner, source.table, ofLayer(source, codes, kindOf(source.table)));
    const rows = sql`SELECT y.name, y.v, m.n ${groupsOf(source, codes, valuesOf(source))}`;
    const granules = await readGranules(runner, rows, source.table !== 'token', sql`name`);
    for (const [code, own] of granules) {
      const data: LayerGroups = layerGroups(facts.get(code!), own);
      yield { sort: source.values, subject: GROUPS, value: valueName(code!), data: JSON.stringify(data) };
    }
  }
}

function layerGroups(groups: ValueGroups | undefined, granules: readonly Granule[]): LayerGroups {
  if (groups === undefined) return { starts: [], ties: [], lists: granuleListsText(new Map()) };
  const lists = new Map(granules.map((granule, place) => [place, distinctNumbers(granule)]));
  return { groups, ...startsOf(granules), lists: granuleListsText(lists) };
}

/** The groups with a code: the numbers of resources by value. */
export interface GroupNumbers {
  /** The component of the values. */
  readonly sort: number;
  readonly code: string;
  /** Undefined if no order can have the values. */
  readonly groups: ValueGroups | undefined;
  readonly values: readonly (readonly [value: SqlValue, numbers: Int32Array])[];
}

/** Reads the groups of a layer by their values. */
export async function* groupNumbers(runner: Runner, scope: RowScope): AsyncGenerator<GroupNumbers> {
  for (const [source, codes] of await knownCodes(runner, scope)) {
    const { table, values: sort } = source;
    const facts = await factsIn(runner, table, ofLayer(source, codes, kindOf(table)));
    const rows =
      await runner.run(sql`SELECT y.name, y.v, ${numbers(sql`m.n`)} ${groupsOf(source, codes, valuesOf(source))}
      GROUP BY 1, 2`);
    const byCode = Map.groupBy(rows, ([code]) => code as string);
    for (const code of codes) {
      const own = byCode.get(code) ?? [];
      const values = own.map(([, value, data]) => {
        return [table === 'token' ? (value as string) : Number(value), numbersIn(data as string)] as const;
      });
      yield { sort, code, groups: facts.get(code), values };
    }
  }
}

/** The codes of which the oldest layer has groups, by composite. */
async function knownCodes(
  runner: Runner,
  scope: RowScope,
): Promise<readonly (readonly [GroupSource, readonly string[]])[]> {
  const rows = await runner.run(sql`SELECT s.sort, s.value FROM fhirgraph_skip s
    WHERE ${ofType(scope.project, scope.type)} AND s.subject = ${GROUPS}::bigint AND s.value LIKE 'v%'`);
  const bySort = Map.groupBy(rows, ([sort]) => Number(sort));
  return groupSources(scope).flatMap((source) => {
    const codes = (bySort.get(source.values) ?? []).map(([, value]) => (value as string).slice(1));
    return codes.length === 0 ? [] : [[source, codes] as const];
  });
}

function valuesOf({ value }: GroupSource): Sql {
  return sql`x0.code AS name, ${value} AS v`;
}

function ofLayer(source: GroupSource, codes: readonly string[], columns: Sql): Sql {
  return sql`SELECT y.* ${groupsOf(source, codes, columns)}`;
}

/** Joins the groups `y` of each resource. PERF: OFFSET keeps the planner from reading the groups of other resources. */
function groupsOf({ from, ofCodes }: GroupSource, codes: readonly string[], columns: Sql): Sql {
  return sql`FROM fhirgraph_number m CROSS JOIN LATERAL (SELECT ${columns} FROM ${from}
    WHERE ${ofCodes} AND x0.resource = m.resource AND x0.code = ANY (${arrayText(codes)}::text[]) OFFSET 0) y`;
}
