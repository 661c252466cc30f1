import { setImmediate as turn } from 'node:timers/promises';
import { getOrCreate } from '../../../../platform/maps.js';
import { namesOfUnit, withOtherUnits } from '../../../sql/skip/unit-sets.js';
import { plainKey } from '../../rows/keys.js';
import { numbersIn } from './number-texts.js';
import type { SkipLayer } from '../../rows/skip-row.js';

/** Keys of a unit, and the numbers of the resources with such a value. */
export type UnitNumbers = readonly [system: string, code: string | null, unit: string | null, data: string];

/**
 * The resources by the names of the sets of their units.
 *
 * @param rows the rows of one parameter, each unit once
 * @param keep chooses the units that have sets
 */
export async function numbersByUnit(
  rows: readonly UnitNumbers[],
  { first, size }: Pick<SkipLayer, 'first' | 'size'>,
  keep: (found: ReadonlyMap<string, readonly number[]>) => readonly string[],
): Promise<ReadonlyMap<string, readonly number[]>> {
  const found = new Map<string, number[]>();
  const several: number[] = [];
  // For each resource the place of its unit among the rows, from 1 up.
  const placeOf = new Int32Array(size);
  for (const [place, [system, code, unit, data]] of rows.entries()) {
    const [keyOfCode, keyOfUnit] = [code, unit].map((key) => key && plainKey(key));
    const names = namesOfUnit([plainKey(system), keyOfCode ?? null, keyOfUnit ?? null]);
    const lists = names.map((name) => getOrCreate(found, name, () => []));
    for (const number of numbersIn(data)) {
      for (const list of lists) list.push(number);
      const other = placeOf[number - first]!;
      if (other === 0) placeOf[number - first] = place + 1;
      else if (other !== place + 1) several.push(number);
    }
    await turn();
  }
  return withOtherUnits(found, keep(found), several);
}
