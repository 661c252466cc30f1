import { type FhirModel, perModel } from '../../../fhir/model/fhir-model.js';
import type { SqlDialect } from '../../sql/dialect.js';
import { TABLE_NAMES } from '../../sql/index-tables.js';
import { anyOf, FALSE, type Sql, sql, TRUE } from '../../sql/sql.js';
import { prefixEnd } from '../../sql/texts.js';
import { arrayText } from './array.js';
import { byKey } from './by-key.js';
import { parameterKey, projectKey, resourceKey, textKey } from './keys.js';

/** `token.system` and `quantity.system` of values without a system. */
export const NO_SYSTEM = '00000000-0000-0000-0000-000000000000';

/** The SQL dialect of PostgreSQL. Statements give the project of every row that they name, because it is the shard. */
export const postgresDialect: (model: FhirModel) => SqlDialect = perModel((model) => ({
  model,

  collection: (_, type) => type,
  parameter: (type, code) => (hasValues(model, type as string, code) ? parameterKey(type as string, code) : undefined),
  system: (_, uri) => textKey(uri),
  noSystem: NO_SYSTEM,
  unit: textKey,

  isCurrent: isCurrentRow,
  isFound: (row, project) => sql`${row}.project = ${projectKey(project)}`,
  // OFFSET keeps the planner from looking for the values of all resources by another condition. Without statistics, an
  // index by project and parameter looks as good to it as the one by resource; two alternatives for the project look worse.
  byResource: (table, x, resource, project, parameter) => ({
    from: sql`(SELECT * FROM ${TABLE_NAMES[table]} ${x} WHERE ${x}.resource = ${resource} AND ${x}.parameter = ${parameter}
      AND ${x}.project = ANY (ARRAY[${projectKey(project)}, ${projectKey(project)}]::uuid[]) OFFSET 0) ${x}`,
    where: TRUE,
  }),
  // The planner turns EXISTS over a plain join into a join with the outer row, which compares each row with every
  // other row if the keys come from two tables. OFFSET and a column of the outer row in FROM both prevent that.
  byKeys: (row, keys, project) => ({
    from: sql`(${keys}) k (key) CROSS JOIN LATERAL (${byKey(projectKey(project), sql`k.key`)}) ${row}`,
    where: TRUE,
  }),
  // A plain join is left to the planner, which joins all resources of the type until it has statistics.
  joinByKey: (row, key, project) => sql`CROSS JOIN LATERAL (${byKey(projectKey(project), key)}) ${row}`,
  // PERF (import-rate): the planner would read all references of a parameter, since it expects many keys. The first rows come at once if the
  // first keys do.
  byEachKey: (keys, rows) => sql`(${keys}) t (key) CROSS JOIN LATERAL (${rows(sql`t.key`)} OFFSET 0) x`,
  ofParameter: (x, project, parameter) => sql`${x}.project = ${projectKey(project)} AND ${x}.parameter = ${parameter}`,
  pointsTo: (...asked) => pointsTo(model, ...asked),
  targetText: { value: sql`x.target_type || '/' || x.target_id`, join: sql`` },

  isOneOf,
  indexed: { isOneOf: isOneOfLong, startsWith },
  codes: { isOneOf: isCode, startsWith: (column, prefix) => anyOf(rangesOfPrefix(column, prefix)) },
  strings: { isOneOf: stringRanges, startsWith: rangesOfPrefix },
  endsWith: (column, suffix) => (suffix === '' ? TRUE : sql`right(${column}, ${[...suffix].length}) = ${suffix}`),
  contains: (text, part) => sql`strpos(${text}, ${part}) > 0`,
  beginsWith: (text, part) => sql`starts_with(${text}, ${part})`,

  measuresByValue: true,
  plans: true,
  join: sql`JOIN`,
  noLimit: null,
}));

/**
 * Whether a parameter can have values, by its definition. Parameters that FHIR does not define, and special ones, are
 * never indexed; see index-entry.ts for the forms of codes.
 */
function hasValues(model: FhirModel, type: string, code: string): boolean {
  const inside = /^#(\w+)\.(.*)$/.exec(code);
  if (inside !== null) return hasValues(model, inside[1]!, inside[2]!);
  const definition = model.searchParameter(type, code.split(/[$:#]/, 1)[0]!);
  return definition !== undefined && definition.type !== 'special';
}

function isCurrentRow(row: Sql, project: string, type: string | number | null): Sql {
  return sql`${row}.project = ${projectKey(project)} AND ${row}.type = ${type} AND ${row}.content IS NOT NULL`;
}

/** Without types, any FHIR type. */
function pointsTo(
  model: FhirModel,
  x: Sql,
  project: string,
  types: readonly string[] | undefined,
  ids: readonly string[] | undefined,
): Sql {
  if (types?.length === 0) return FALSE;
  if (ids === undefined) return types === undefined ? TRUE : isOneOf(sql`${x}.target_type`, types);
  return isOneOf(
    sql`${x}.target`,
    (types ?? model.resourceTypes).flatMap((type) => ids.map((id) => resourceKey(project, type, id))),
  );
}

function isOneOf(column: Sql, texts: readonly string[]): Sql {
  return texts.length === 1 ? sql`${column} = ${texts[0]!}` : sql`${column} = ANY (${arrayText(texts)})`;
}

/**
 * Characters of a text in its index: a B-tree entry holds 2,704 bytes. The indexes in schema.ts use the same number.
 */
const INDEXED_LENGTH = 256;

/** Compares the indexed beginning, and the whole text only if a search text is longer. */
function isOneOfLong(column: Sql, texts: readonly string[]): Sql {
  const beginnings = texts.map((text) => [...text].slice(0, INDEXED_LENGTH).join(''));
  const begins = isOneOf(sql`left(${column}, 256)`, beginnings);
  const isWhole = beginnings.every((beginning) => [...beginning].length < INDEXED_LENGTH);
  return isWhole ? begins : sql`${begins} AND ${isOneOf(column, texts)}`;
}

/** Bytes of a text in the indexes that hold codes and strings whole; see schema.ts. */
const WHOLE_TEXT = 1024;

function isCode(column: Sql, codes: readonly string[]): Sql {
  return anyOf(stringRanges(column, codes));
}

/** The ranges of the two indexes of a column: of texts that an index holds whole, and of longer texts. */
function stringRanges(column: Sql, texts: readonly string[]): readonly Sql[] {
  const [short, long] = [texts.filter(isShort), texts.filter((text) => !isShort(text))];
  return [
    ...(short.length === 0 ? [] : [sql`${isOneOf(column, short)} AND ${isWhole(column)}`]),
    ...(long.length === 0 ? [] : [sql`${isOneOfLong(column, long)} AND ${isNotWhole(column)}`]),
  ];
}

function isShort(text: string): boolean {
  return Buffer.byteLength(text) <= WHOLE_TEXT;
}

function rangesOfPrefix(column: Sql, prefix: string): readonly Sql[] {
  const end = prefixEnd(prefix);
  const range = end === undefined ? sql`${column} >= ${prefix}` : sql`${column} >= ${prefix} AND ${column} < ${end}`;
  const long = sql`${startsWith(column, prefix)} AND ${isNotWhole(column)}`;
  return isShort(prefix) ? [sql`${range} AND ${isWhole(column)}`, long] : [long];
}

/** The condition as written in the indexes of schema.ts, so that PostgreSQL uses them. */
export function isWhole(column: Sql): Sql {
  return sql`octet_length(${column}) <= 1024`;
}

function isNotWhole(column: Sql): Sql {
  return sql`(octet_length(${column}) <= 1024) IS NOT TRUE`;
}

function startsWith(column: Sql, prefix: string): Sql {
  const beginning = [...prefix].slice(0, INDEXED_LENGTH).join('');
  const end = prefixEnd(beginning);
  const indexed = sql`left(${column}, 256)`;
  const range =
    end === undefined ? sql`${indexed} >= ${beginning}` : sql`${indexed} >= ${beginning} AND ${indexed} < ${end}`;
  return beginning === prefix ? range : sql`${range} AND starts_with(${column}, ${prefix})`;
}
