import { setBytes } from '../../../sql/skip/key-bytes.js';
import { KeySet } from '../../../sql/skip/key-set.js';
import { type Sql, sql, type SqlValue } from '../../../sql/sql.js';
import { IN_SYSTEM, inSystem, SYSTEMS, systemsOf, type SystemsOf, type SkipRow } from '../../rows/skip-row.js';

/** Tokens of one parameter: those with a code, or all of them. */
export interface Tokens {
  readonly parameter: number;
  /** Undefined: all values. */
  readonly code: string | undefined;
  /** Their rows `x`: the tables and the condition. */
  readonly from: Sql;
}

/**
 * The rows of the systems of tokens. None if there are too many systems.
 *
 * @param all the resources of the type
 * @param known the systems that have sets; undefined: choose them
 */
export function* systemRows(
  { parameter, code, from }: Tokens,
  column: (query: Sql) => readonly SqlValue[],
  all: KeySet,
  known?: SystemsOf,
): Generator<SkipRow> {
  const rows = sql`FROM ${from} ORDER BY x.code, x.resource, x.system`;
  const systems = column(sql`SELECT x.system ${rows}`) as readonly number[];
  const found = [...new Set(systems)].sort((a, b) => a - b);
  if (known?.areMany === true || (known === undefined && found.length > MAX_SYSTEMS)) return;
  if (known === undefined && found.length < 2) {
    yield systemsRow(parameter, code, { same: found, own: [] });
    return;
  }
  const whole = new KeySet(all.first, all.size);
  const sets = new Map(found.map((system) => [system, new KeySet(all.first, all.size)]));
  (column(sql`SELECT x.resource ${rows}`) as readonly number[]).forEach((key, place) => {
    whole.add(key);
    sets.get(systems[place]!)!.add(key);
  });
  const { count } = whole;
  const same = (known?.same ?? found).filter((system) => (sets.get(system)?.count ?? 0) === count);
  const own = new Set([...(known?.own ?? []), ...found.filter((system) => !same.includes(system))]);
  for (const system of own) {
    const set = sets.get(system) ?? new KeySet(all.first, all.size);
    yield { sort: parameter, subject: IN_SYSTEM, value: inSystem(system, code), data: setBytes(set, all) };
  }
  yield systemsRow(parameter, code, { same, own: [...own] });
}

export function systemsRow(parameter: number, code: string | undefined, systems: SystemsOf): SkipRow {
  return { sort: parameter, subject: SYSTEMS, value: systemsOf(code), data: JSON.stringify(systems) };
}

/** Maximum systems of a code, or of a parameter, that have sets of their own. */
export const MAX_SYSTEMS = 64;
