import { getOrCreate } from '../../../../platform/maps.js';
import { namesOfUnit, type StoredUnit, withOtherUnits } from '../../../sql/skip/unit-sets.js';
import { type Sql, sql, type SqlValue } from '../../../sql/sql.js';

/**
 * The resources by the names of the sets of their units.
 *
 * @param from rows `x` of the table `quantity` in an order, all of one parameter
 * @param keep chooses the units that have sets
 */
export function resourcesByUnit(
  from: Sql,
  column: (query: Sql) => readonly SqlValue[],
  keep: (found: ReadonlyMap<string, readonly number[]>) => Iterable<string>,
): ReadonlyMap<string, readonly number[]> {
  const keys = column(sql`SELECT x.resource ${from}`) as readonly number[];
  const texts = column(sql`SELECT json_array(x.system, x.code, x.unit) ${from}`) as readonly string[];
  const found = new Map<string, number[]>();
  // PERF: values have few units, and each is parsed once.
  const lists = new Map<string, readonly number[][]>();
  const unitOf = new Map<number, string>();
  const several: number[] = [];
  texts.forEach((text, place) => {
    const key = keys[place]!;
    let own = lists.get(text);
    if (own === undefined) {
      own = namesOfUnit(JSON.parse(text) as StoredUnit).map((name) => getOrCreate(found, name, () => []));
      lists.set(text, own);
    }
    for (const list of own) list.push(key);
    const other = unitOf.get(key);
    if (other === undefined) unitOf.set(key, text);
    else if (other !== text) several.push(key);
  });
  return withOtherUnits(found, keep(found), several);
}
