import type { FhirModel } from '../../../fhir/model/fhir-model.js';
import type { SqlDialect } from '../../sql/dialect.js';
import { TABLE_NAMES } from '../../sql/index-tables.js';
import type { IndexTable } from '../../sql/lookup.js';
import { allOf, FALSE, Sql, sql, TRUE } from '../../sql/sql.js';
import { prefixEnd } from '../../sql/texts.js';
import type { Dictionaries } from './dictionary.js';
import { isInTime } from '../database/guard.js';
import { textCondition } from './text-test.js';

/** `token.system` and `quantity.system` of values without a system. */
export const NO_SYSTEM = 0;

/** The SQL dialect of SQLite. Texts are compared byte by byte in UTF-8, which is the order of code points. */
export function sqliteDialect(model: FhirModel, dictionaries: Dictionaries): SqlDialect {
  const { collections, parameters, resources, systems, frequentCodes } = dictionaries;
  return {
    model,

    collection: (project, type) => collections.find(project, type),
    parameter: (collection, code) => parameters.find(collection as number, code),
    system: (project, uri) => systems.find(project, uri),
    noSystem: NO_SYSTEM,
    unit: (text) => text,

    isCurrent: (row, _, collection) => sql`${row}.collection = ${collection} AND ${row}.content IS NOT NULL`,
    isFound: () => TRUE,
    byResource: (table, x, resource, _, parameter) => ({
      from: sql`${TABLE_NAMES[table]} ${x} INDEXED BY ${PRIMARY_KEYS[table]}`,
      where: sql`${x}.resource = ${resource} AND ${x}.parameter = ${parameter}`,
    }),
    byPoint: (table, x, resource, parameter) => ({
      from: sql`${TABLE_NAMES[table]} ${x} INDEXED BY ${BY_VALUE[table]}`,
      where: allOf([
        sql`${x}.resource = ${resource} AND ${x}.parameter = ${parameter}`,
        table === 'reference' ? TRUE : sql`${x}.grp = 0`,
      ]),
    }),
    byKeys: (row, keys) => ({ from: sql`resource ${row}`, where: sql`${row}.key IN (${keys})` }),
    ofParameter: (x, _, parameter) => sql`${x}.parameter = ${parameter}`,
    pointsTo: (x, project, types, ids) => {
      // PERF (import-rate): for one key, the index has the rows in order, each resource once.
      if (types?.length === 1 && ids?.length === 1) {
        const collection = collections.find(project, types[0]!);
        const target = collection === undefined ? undefined : resources.find(collection, ids[0]!);
        return target === undefined ? FALSE : sql`${x}.target = ${target}`;
      }
      const targets = targetKeys(project, types, ids, dictionaries);
      return targets === TRUE || targets === FALSE ? targets : sql`${x}.target IN (${targets})`;
    },
    targetText: {
      value: sql`c.type || '/' || t.id`,
      join: sql`CROSS JOIN resource t ON t.key = x.target CROSS JOIN collection c ON c.key = t.collection`,
    },

    isOneOf,
    indexed: { isOneOf, startsWith },
    codes: { isOneOf, startsWith },
    strings: {
      isOneOf: (column, texts) => [isOneOf(column, texts)],
      startsWith: (column, prefix) => [startsWith(column, prefix)],
    },
    endsWith,
    contains: (text, part) => sql`instr(${text}, ${part}) > 0`,
    beginsWith: (text, part) => sql`instr(${text}, ${part}) = 1`,
    evaluate: textCondition,
    measuresByValue: false,
    listsCodes: (parameter, codes) =>
      codes === undefined
        ? !frequentCodes.hasAny(parameter as number)
        : !codes.some((code) => frequentCodes.has(parameter as number, code)),
    inTime: isInTime,

    plans: false,
    // SQLite never reorders a CROSS JOIN.
    join: sql`CROSS JOIN`,
    noLimit: -1,
  };
}

/**
 * The primary keys of the index tables, by the names that SQLite gives them.
 *
 * PERF (import-rate): without statistics, the planner finds `min(code)` of one resource by walking the index by value, and for
 * `target IN (…)` it looks up every element of the list instead of the few values of the resource: minutes on 100,000
 * resources. A named key is used whatever the planner believes.
 */
const PRIMARY_KEYS = Object.fromEntries(
  Object.keys(TABLE_NAMES).map((table) => [table, new Sql(`sqlite_autoindex_${table}_1`, [])]),
) as { readonly [Table in IndexTable]: Sql };

/**
 * The indexes by value.
 *
 * PERF (import-rate): a test of a whole value is one look-up in either index. By value it takes a seventh of the time if resources do
 * not come in the order of their keys: the rows of one value are adjacent, and the rows by resource are in a tree many
 * times as large.
 */
const BY_VALUE = Object.fromEntries(
  Object.keys(TABLE_NAMES).map((table) => [table, new Sql(`${table}_by_value`, [])]),
) as { readonly [Table in IndexTable]: Sql };

function isOneOf(column: Sql, texts: readonly string[]): Sql {
  if (texts.length === 1) return sql`${column} = ${texts[0]!}`;
  return sql`${column} IN (SELECT value FROM json_each(${JSON.stringify(texts)}))`;
}

/** The column begins with the prefix, as one range. Every text begins with the empty prefix. */
function startsWith(column: Sql, prefix: string): Sql {
  const end = prefixEnd(prefix);
  return end === undefined ? sql`${column} >= ${prefix}` : sql`${column} >= ${prefix} AND ${column} < ${end}`;
}

function endsWith(column: Sql, suffix: string): Sql {
  const length = [...suffix].length;
  return length === 0 ? sql`${column} >= ''` : sql`substr(${column}, ${-length}) = ${suffix}`;
}

/** Keys of the resources of these types, with these ids; undefined: any. TRUE: all, FALSE: none. */
function targetKeys(
  project: string,
  types: readonly string[] | undefined,
  ids: readonly string[] | undefined,
  { collections: names }: Dictionaries,
): Sql {
  if (types === undefined) {
    if (ids === undefined) return TRUE;
    return sql`SELECT t.key FROM collection c CROSS JOIN resource t ON t.collection = c.key
      WHERE c.project = ${project} AND ${isOneOf(sql`t.id`, ids)}`;
  }
  const collections = types.flatMap((type) => names.find(project, type) ?? []);
  if (collections.length === 0) return FALSE;
  const ofType =
    collections.length === 1
      ? sql`t.collection = ${collections[0]!}`
      : sql`t.collection IN (SELECT value FROM json_each(${JSON.stringify(collections)}))`;
  return sql`SELECT t.key FROM resource t WHERE ${ofType} AND ${ids === undefined ? TRUE : isOneOf(sql`t.id`, ids)}`;
}
