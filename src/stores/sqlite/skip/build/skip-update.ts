import { pushTo } from '../../../../platform/maps.js';
import { randomId } from '../../../../platform/node-crypto.js';
import { holdsIntervals, tablesOf } from '../../../sql/index-tables.js';
import type { RowScope } from '../../../sql/rows.js';
import { type Sql, sql, type SqlValue } from '../../../sql/sql.js';
import { countOfCollection } from '../../rows/shapes.js';
import type { Statements } from '../../database/statements.js';
import { LAST_KEY } from '../../rows/versions.js';
import { isSame, readInto, setBytes } from '../../../sql/skip/key-bytes.js';
import { KeySet } from '../../../sql/skip/key-set.js';
import { changedReferences, countRows } from '../read/reference-rows.js';
import { KEYS_IN_ROW, MAX_TARGET } from '../../../sql/skip/references.js';
import { hasIndexWork, readHeader, writtenSince } from '../read/skip-header.js';
import { hasComponent, narrowKeys } from './narrow-sets.js';
import { OrderUpdate } from './skip-order-update.js';
import { changedSystems } from './system-update.js';
import {
  EVERYTHING,
  HEADER,
  ORDER,
  PRESENCE,
  SETS,
  SEVERAL,
  SKIP_TUNING,
  type SkipHeader,
  type SkipRow,
  type SkipSizes,
  SYSTEMS,
  TARGETS,
  orderOfIds,
} from '../../rows/skip-row.js';
import { resourcesByUnit } from './unit-sets.js';
import { Written } from './written.js';

/**
 * Finds the rows of a skip index that have changed since it was built, as of this transaction, in a fraction of the time of a
 * build. Undefined if all rows must be rebuilt: too much was written, or additional rows are needed.
 *
 * @param check called between statements
 */
export function updatedSkipRows(
  scope: RowScope,
  statements: Statements,
  { granule }: SkipSizes,
  check: () => void,
): { readonly base: number; readonly rows: readonly SkipRow[] } | undefined {
  const collection = scope.collection as number;
  const header = readHeader(collection, statements);
  const limits = { maxPending: SKIP_TUNING.maxUpdated, maxVersions: 2 * SKIP_TUNING.maxUpdated };
  const pending = header && writtenSince(header.lastVersion, collection, statements, limits);
  const [count] = statements.get(countOfCollection(collection)) as [number];
  if (header === undefined || pending === undefined || pending.length > limits.maxPending) return undefined;
  if (count > MAX_GROWTH * header.built || hasIndexWork(collection, statements)) return undefined;
  if (pending.some((key) => key < header.first || key - header.first >= SKIP_TUNING.maxSpread)) return undefined;
  const written = new Written(scope, statements, check, header, pending);
  const [lastVersion] = statements.read(LAST_KEY).get() as [number];
  const { size, count: now } = written.all;
  const rows = changedRows(written, statements, granule, {
    ...header,
    id: randomId(),
    lastVersion,
    size,
    count: now,
  });
  return rows && { base: header.lastVersion, rows };
}

/** A skip index is rebuilt when its type has grown by this factor, because other codes have become frequent. */
const MAX_GROWTH = 1.5;

function changedRows(
  written: Written,
  statements: Statements,
  granule: number,
  header: SkipHeader,
): readonly SkipRow[] | undefined {
  const collection = written.scope.collection as number;
  const ids = orderOfIds(collection);
  const everything = setBytes(written.all, new KeySet(header.first, header.size));
  const rows: SkipRow[] = [
    { sort: SETS, subject: ids, value: HEADER, data: JSON.stringify(header) },
    { sort: SETS, subject: ids, value: EVERYTHING, data: everything },
  ];
  const kept = statements.read(LIST_ROWS).all(collection) as [number, number, string | number][];
  const codes = new Map(statements.read(LIST_PARAMETERS).all(collection) as [number, string][]);
  const values = new Map<number, (string | number)[]>();
  for (const [sort, subject, value] of kept) {
    if (sort !== SETS || subject === ids) continue;
    values.set(subject, [...(values.get(subject) ?? []), value]);
  }
  // A parameter without a row has no value in any resource.
  if (parametersOf(written).some((one) => values.get(one)?.includes(PRESENCE) !== true)) return undefined;
  if (narrowKeys(written.scope).some(({ component }) => values.get(component.key) === undefined)) return undefined;
  for (const [parameter, own] of values) rows.push(...changedSets(written, parameter, codes.get(parameter)!, own));
  const systems = Map.groupBy(
    kept.filter(([sort, subject]) => sort !== SETS && subject === SYSTEMS),
    ([parameter]) => parameter,
  );
  for (const [parameter, own] of systems) {
    const lists = own.map(([, , value]) => value);
    rows.push(...changedSystems(written, parameter, lists));
  }
  const orders = new OrderUpdate(written, granule, header.id);
  for (const [sort, subject, value] of kept) {
    if (sort === SETS || value !== ORDER) continue;
    const changed = orders.rows(sort, subject);
    if (changed === undefined) return undefined;
    rows.push(...changed);
  }
  for (const [sort, subject, value] of kept) {
    if (sort === SETS || subject !== TARGETS || value !== 0) continue;
    const changed = changedReferenceRows(written, sort, header.size);
    if (changed === undefined) return undefined;
    rows.push(...changed);
  }
  return rows;
}

/** The changed references of a parameter; undefined if they need another form. */
function changedReferenceRows(written: Written, parameter: number, size: number): readonly SkipRow[] | undefined {
  const { first } = written.all;
  const pairs = written.allOf(sql`SELECT x.resource, x.target FROM json_each(${written.pending}) j
    CROSS JOIN reference x ON x.resource = j.value AND x.parameter = ${parameter} AND x.grp = 0`) as [number, number][];
  if (pairs.some(([, target]) => target >= MAX_TARGET)) return undefined;
  const parts = new Set(written.keys.map((key) => Math.floor((key - first) / KEYS_IN_ROW)));
  const before = countRows(written.sizeBefore);
  for (let row = before; row < countRows(size); row++) parts.add(row);
  return [...parts].map((row) => {
    const own = pairs.filter(([key]) => Math.floor((key - first) / KEYS_IN_ROW) === row);
    const stored = row < before ? (written.read(parameter, TARGETS, row) as Uint8Array) : new Uint8Array();
    const start = first + row * KEYS_IN_ROW;
    const added = { places: own.map(([key]) => key - start), targets: own.map(([, target]) => target) };
    const data = changedReferences(stored, (place) => written.changed.has(start + place), added);
    return { sort: parameter, subject: TARGETS, value: row, data };
  });
}

/** The parameters of the written resources. */
function parametersOf(written: Written): readonly number[] {
  const rows = written.allOf(sql`SELECT DISTINCT abs(p.value) FROM json_each(${written.pending}) j
    CROSS JOIN resource r ON r.key = j.value AND r.content IS NOT NULL CROSS JOIN shape s ON s.key = r.shape
    CROSS JOIN json_each(s.parameters) p`);
  return rows.map(([parameter]) => parameter as number);
}

/** The changed sets of a parameter. */
function* changedSets(
  written: Written,
  parameter: number,
  code: string,
  values: readonly (string | number)[],
): Generator<SkipRow> {
  const holders = holdersOf(written, parameter, code, values);
  for (const value of values) {
    const stored = written.read(SETS, parameter, value) as Uint8Array;
    const set = new KeySet(written.all.first, written.all.size);
    readInto(set, stored, () => written.before);
    set.subtract(written.changed);
    for (const key of holders.get(value) ?? []) set.add(key);
    const data = setBytes(set, written.all);
    if (!isSame(data, stored)) yield { sort: SETS, subject: parameter, value, data };
  }
}

/** The written resources by their values of a parameter. */
function holdersOf(
  written: Written,
  parameter: number,
  code: string,
  values: readonly (string | number)[],
): ReadonlyMap<SqlValue, readonly number[]> {
  const [table] = tablesOf(written.scope.dialect.model, written.scope.type, code);
  const isComponent = code.includes('$');
  const present = isComponent
    ? hasComponent({ key: parameter, table: table! }, sql`r0.key`)
    : shapeHas(sql`${parameter}, -${parameter}`);
  const holders = new Map<SqlValue, number[]>();
  const add = (key: number, value: SqlValue): void => pushTo(holders, value, key);
  for (const [key, is] of written.among(present)) if (is === 1) add(key, PRESENCE);
  if (isComponent) return holders;
  if (table === 'token' || table === 'reference') {
    const value = table === 'token' ? sql`x.code` : sql`x.target`;
    const from = table === 'token' ? sql`token` : sql`reference`;
    const rows = written.allOf(sql`SELECT x.resource, ${value} FROM json_each(${written.pending}) j CROSS JOIN ${from} x
      ON x.resource = j.value AND x.parameter = ${parameter} AND x.grp = 0 WHERE ${value} IS NOT NULL`);
    for (const [key, one] of rows) add(key as number, one!);
  }
  if (holdsIntervals(table)) {
    for (const key of written.severalOf(parameter, table)) add(key, SEVERAL);
    if (table === 'quantity') {
      for (const [value, keys] of unitsOf(written, parameter, values.map(String))) holders.set(value, [...keys]);
    }
  } else {
    for (const [key, is] of written.among(shapeHas(sql`-${parameter}`))) if (is === 1) add(key, SEVERAL);
  }
  return holders;
}

/** Whether the shape of the resource `r0` has a number: see shapes.ts. */
function shapeHas(numbers: Sql): Sql {
  return sql`EXISTS (SELECT 1 FROM shape s JOIN json_each(s.parameters) p WHERE s.key = r0.shape AND p.value IN (${numbers}))`;
}

function unitsOf(
  written: Written,
  parameter: number,
  known: readonly string[],
): ReadonlyMap<string, readonly number[]> {
  const rows = sql`FROM json_each(${written.pending}) j CROSS JOIN quantity x
    ON x.resource = j.value AND x.parameter = ${parameter} AND x.grp = 0 ORDER BY x.resource, x.ordinal`;
  return resourcesByUnit(
    rows,
    (query) => written.allOf(query).map(([value]) => value!),
    () => known,
  );
}

const LIST_ROWS = 'SELECT sort, subject, value FROM skip WHERE collection = ?';
const LIST_PARAMETERS = 'SELECT key, code FROM parameter WHERE collection = ?';
