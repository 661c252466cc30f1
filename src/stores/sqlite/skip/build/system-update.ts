import { pushTo } from '../../../../platform/maps.js';
import { isSame, readInto, setBytes } from '../../../sql/skip/key-bytes.js';
import { KeySet } from '../../../sql/skip/key-set.js';
import { sql } from '../../../sql/sql.js';
import {
  ALL_VALUES,
  IN_SYSTEM,
  inSystem,
  PRESENCE,
  SETS,
  type SkipRow,
  SYSTEMS,
  type SystemsOf,
} from '../../rows/skip-row.js';
import { MAX_SYSTEMS, systemsRow } from './system-rows.js';
import type { Written } from './written.js';

/** The changed rows of the systems of a parameter. @param values which lists of systems the index has: of codes, of all values */
export function* changedSystems(
  written: Written,
  parameter: number,
  values: readonly (string | number)[],
): Generator<SkipRow> {
  const tokens = written.allOf(sql`SELECT x.resource, x.code, x.system FROM json_each(${written.pending}) j
    CROSS JOIN token x ON x.resource = j.value AND x.parameter = ${parameter} AND x.grp = 0`) as readonly TokenRow[];
  for (const value of values) {
    const code = value === ALL_VALUES ? undefined : (value as string);
    const own = code === undefined ? tokens : tokens.filter((row) => row[1] === code);
    yield* changedOf(written, parameter, code, own);
  }
}

function* changedOf(
  written: Written,
  parameter: number,
  code: string | undefined,
  tokens: readonly TokenRow[],
): Generator<SkipRow> {
  const text = written.read(parameter, SYSTEMS, code ?? ALL_VALUES) as string;
  const stored = JSON.parse(text) as SystemsOf;
  if (stored.areMany === true) return;
  const holders = new Map<number, number[]>();
  for (const [resource, , system] of tokens) pushTo(holders, system, resource);
  const { size } = new Set(tokens.map(([resource]) => resource));
  const same = stored.same.filter((system) => new Set(holders.get(system)).size === size);
  const moved = stored.same.filter((system) => !same.includes(system));
  const known = new Set([...stored.same, ...stored.own]);
  const added = [...holders.keys()].filter((system) => !known.has(system)).sort((a, b) => a - b);
  const own = [...stored.own, ...moved, ...added];
  if (same.length + own.length > MAX_SYSTEMS) {
    yield systemsRow(parameter, code, { same: [], own: [], areMany: true });
    return;
  }
  // A system that all resources had until now shares the set of the code, or of all values.
  const whole = [SETS, parameter, code ?? PRESENCE] as const;
  for (const system of own) {
    const name = [parameter, IN_SYSTEM, inSystem(system, code)] as const;
    const isKept = stored.own.includes(system);
    const before = isKept ? written.read(...name) : moved.includes(system) ? written.read(...whole) : undefined;
    const set = new KeySet(written.all.first, written.all.size);
    if (before !== undefined) readInto(set, before as Uint8Array, () => written.before);
    set.subtract(written.changed);
    for (const key of holders.get(system) ?? []) set.add(key);
    const data = setBytes(set, written.all);
    if (isKept && isSame(data, before as Uint8Array)) continue;
    const [sort, subject, value] = name;
    yield { sort, subject, value, data };
  }
  const row = systemsRow(parameter, code, { same, own });
  if (row.data !== text) yield row;
}

type TokenRow = readonly [resource: number, code: string | null, system: number];
