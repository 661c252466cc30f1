import { setImmediate as turn } from 'node:timers/promises';
import { setBytes } from '../../../sql/skip/key-bytes.js';
import { KeySet } from '../../../sql/skip/key-set.js';
import { type Sql, sql } from '../../../sql/sql.js';
import { arrayText } from '../../rows/array.js';
import { isWhole } from '../../rows/dialect.js';
import type { Runner } from '../../rows/meta.js';
import { numbers, numbersIn, type Row, textOf } from '../format/number-texts.js';
import {
  inSystemName,
  SETS,
  SKIP_TUNING,
  type SkipLayer,
  systemsName,
  type SystemsOf,
  valueName,
} from '../../rows/skip-row.js';

/**
 * Builds the sets of one parameter's codes and systems.
 *
 * PERF: the server finds the number of each value's resource once, and gathers numbers by frequent code and by system only:
 * there may be as many identifiers as resources.
 *
 * @param all the resources of the type
 */
export async function* tokenRows(runner: Runner, project: Sql, parameter: number, all: KeySet): AsyncGenerator<Row> {
  const ofParameter = sql`x.project = ${project} AND x.parameter = ${parameter}::bigint AND x.grp = 0`;
  // See extremes.ts for the bits.
  const frequent = await runner.run(sql`SELECT x.code FROM token x WHERE ${ofParameter} AND ${isWhole(sql`x.code`)}
    AND x.extreme < 8 GROUP BY x.code HAVING count(*) >= ${SKIP_TUNING.minHolders}`);
  const codes = arrayText(frequent.map(([code]) => code as string));
  const rows = (await runner.run(sql`SELECT f.code, x.system, ${numbers(sql`m.n`)}
    FROM token x JOIN fhirgraph_number m ON m.resource = x.resource LEFT JOIN unnest(${codes}::text[]) f(code) ON f.code = x.code
    WHERE ${ofParameter} GROUP BY f.code, x.system`)) as readonly TokenRow[];
  yield* rowsOfTokens(parameter, rows, { first: 0, size: all.size });
}

/** The rows of one parameter, from the numbers of resources by code and system. */
export async function* rowsOfTokens(
  parameter: number,
  rows: readonly TokenRow[],
  { first, size }: Pick<SkipLayer, 'first' | 'size'>,
): AsyncGenerator<Row> {
  const all = new KeySet(0, size).fill();
  const write = (value: string, set: KeySet): Row => {
    return { sort: SETS, subject: parameter, value, data: textOf(setBytes(set, all)) };
  };
  const addNumbers = (set: KeySet, data: string): void => {
    for (const number of numbersIn(data)) set.add(number - first);
  };
  const groups: readonly (readonly [code: string | undefined, Map<string, string[]>])[] = [
    [undefined, bySystem(rows)],
    ...[...Map.groupBy(rows, ([code]) => code)].flatMap(([code, some]) =>
      code === null ? [] : [[code, bySystem(some)] as const],
    ),
  ];
  for (const [code, systems] of groups) {
    const holders = new KeySet(0, all.size);
    for (const data of [...systems.values()].flat()) addNumbers(holders, data);
    if (code !== undefined) yield write(valueName(code), holders);
    await turn();
    if (systems.size > MAX_SYSTEMS) {
      const many: SystemsOf = { same: [], own: [], areMany: true };
      // Without a row in the oldest layer, the systems are not kept. A later layer must say so itself.
      if (first > 0) yield { sort: SETS, subject: parameter, value: systemsName(code), data: JSON.stringify(many) };
      continue;
    }
    const count = holders.count;
    const found: Record<'same' | 'own', string[]> = { same: [], own: [] };
    for (const system of [...systems.keys()].sort()) {
      const set = new KeySet(0, all.size);
      for (const data of systems.get(system)!) addNumbers(set, data);
      const isSame = set.count === count;
      found[isSame ? 'same' : 'own'].push(system);
      if (!isSame) yield write(inSystemName(system, code), set);
      await turn();
    }
    yield { sort: SETS, subject: parameter, value: systemsName(code), data: JSON.stringify(found) };
  }
}

/** Maximum systems of a code, or of a parameter, that have sets of their own. */
const MAX_SYSTEMS = 64;

/** A null code means an infrequent code. */
export type TokenRow = readonly [code: string | null, system: string, data: string];

function bySystem(rows: readonly TokenRow[]): Map<string, string[]> {
  const systems = new Map<string, string[]>();
  for (const [, system, data] of rows) {
    const known = systems.get(system);
    if (known === undefined) systems.set(system, [data]);
    else known.push(data);
  }
  return systems;
}
