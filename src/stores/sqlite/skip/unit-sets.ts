import type { QuantityTest } from '../../../search/criteria/value-test.js';
import { getOrCreate } from '../../../platform/maps.js';
import type { RowScope } from '../../sql/rows.js';
import { type Sql, sql, type SqlValue } from '../../sql/sql.js';

/**
 * The sets of a parameter of quantities: the resources with a value in a unit, and those with values in several units.
 *
 * Few resources may have a unit that is rare among many values. No index by value finds them.
 */

/** The value of the row with the resources that have values in several units. Those of units contain a `|`. */
export const SEVERAL_UNITS = '';

/** The most units of a parameter that are kept, most frequent first. */
const MAX_UNITS = 128;

/**
 * The resources by the values of their rows in the skip index.
 *
 * @param from rows `x` of the table `quantity` in an order, all of one parameter
 */
export function resourcesByUnit(
  from: Sql,
  column: (query: Sql) => readonly SqlValue[],
): ReadonlyMap<string, readonly number[]> {
  const keys = column(sql`SELECT x.resource ${from}`) as readonly number[];
  const texts = column(sql`SELECT json_array(x.system, x.code, x.unit) ${from}`) as readonly string[];
  const found = new Map<string, number[]>();
  // PERF: values have few units, which are read once each.
  const lists = new Map<string, readonly number[][]>();
  const unitOf = new Map<number, string>();
  const several: number[] = [];
  texts.forEach((text, place) => {
    const key = keys[place]!;
    let own = lists.get(text);
    if (own === undefined) {
      own = valuesOf(JSON.parse(text) as UnitRow).map((value) => getOrCreate(found, value, () => []));
      lists.set(text, own);
    }
    for (const list of own) list.push(key);
    const other = unitOf.get(key);
    if (other === undefined) unitOf.set(key, text);
    else if (other !== text) several.push(key);
  });
  if (found.size > 0) found.set(SEVERAL_UNITS, several);
  return found;
}

/** The values of the rows to keep. */
export function keptUnits(found: ReadonlyMap<string, readonly number[]>): readonly string[] {
  const frequent = [...found].filter(([value]) => value !== SEVERAL_UNITS).sort((a, b) => b[1].length - a[1].length);
  const kept = frequent.slice(0, MAX_UNITS).map(([value]) => value);
  return found.has(SEVERAL_UNITS) ? [SEVERAL_UNITS, ...kept] : kept;
}

/** The value of the row of a searched unit; undefined for tests without a unit, and of an unknown system. */
export function askedUnit({ system, code }: QuantityTest, { dialect, project }: RowScope): string | undefined {
  if (code === undefined) return undefined;
  if (system === undefined) return `|${code}`;
  const key = dialect.system(project, system);
  return key === undefined ? undefined : `${String(key)}|${code}`;
}

type UnitRow = readonly [system: number | null, code: string | null, unit: string | null];

/** A search without a system also compares the human unit. */
function valuesOf([system, code, unit]: UnitRow): readonly string[] {
  if (system === null) return [];
  const values = code === null ? [] : [`${system}|${code}`, `|${code}`];
  return unit === null || unit === code ? values : [...values, `|${unit}`];
}
