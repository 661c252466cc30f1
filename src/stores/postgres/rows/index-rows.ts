import { fold, orderKey } from '../../../search/index/fold.js';
import type { IndexEntry } from '../../../search/index/index-entry.js';
import { markEntries } from '../../sql/extremes.js';
import { insideType } from '../../sql/index-changes.js';
import { INDEX_TABLES, TABLE_NAMES } from '../../sql/index-tables.js';
import type { IndexTable } from '../../sql/lookup.js';
import { list, Sql, sql, type SqlValue } from '../../sql/sql.js';
import { arrayText, plainArrayText } from './array.js';
import { copyInto } from '../database/copy-text.js';
import { NO_SYSTEM } from './dialect.js';
import type { PostgresScriptStatement } from '../database/driver.js';
import { parameterKey, resourceKeyIn, textKey } from './keys.js';

/** Every table with rows of current resources. */
export const ALL_INDEX_TABLES: readonly IndexTable[] = [...INDEX_TABLES, 'display'];

/** Collects rows of one project for the index tables. */
export class IndexRows {
  /** The columns after `project`, as in {@link COLUMNS}. */
  readonly #rows = new Map<IndexTable, (readonly SqlValue[])[]>();
  /** Types of contained resources, by the type that contains them. */
  readonly #inside = new Map<string, Set<string>>();
  #size = 0;
  #characters = 0;

  /** @param shard the key of the project. */
  constructor(private readonly shard: string) {}

  /** Number of rows. */
  get size(): number {
    return this.#size;
  }

  /** UTF-16 units of the rows' texts. */
  get characters(): number {
    return this.#characters;
  }

  /** Adds the index entries of a resource. */
  add(key: string, type: string, entries: readonly IndexEntry[]): void {
    const texts = new Set<string>();
    const { marks } = markEntries(entries);
    for (const [index, { parameter, group, value }] of entries.entries()) {
      const mark = marks[index]!;
      const inside = insideType(parameter);
      if (inside !== undefined) this.#addInside(type, inside);
      const owner: Owner = [key, parameterKey(type, parameter), group];
      switch (value.kind) {
        case 'token':
          this.#push('token', owner, value.code ?? null, systemKey(value.system), mark);
          for (const text of value.texts ?? []) this.#addText(owner, fold(text), texts);
          break;
        case 'string': {
          const order = orderKey(value);
          this.#push('string', owner, value.folded, value.text, order === value.folded ? null : order, mark);
          break;
        }
        case 'date':
          this.#push('date', owner, value.low, value.high, mark);
          break;
        case 'number':
          this.#push('quantity', owner, value.low, value.high, null, null, null, mark);
          break;
        case 'quantity': {
          const { low, high, system, code, unit } = value;
          this.#push('quantity', owner, low, high, systemKey(system), unitKey(code), unitKey(unit), mark);
          break;
        }
        case 'reference':
          if ('url' in value) this.#push('uri', owner, value.url, mark);
          else this.#push('reference', owner, resourceKeyIn(this.shard, value.type, value.id), value.type, value.id);
          break;
        case 'uri':
          this.#push('uri', owner, value.value, mark);
      }
    }
  }

  /** The statements that write the rows: one per table that has any. */
  inserts(): readonly Sql[] {
    // In a fixed order, so that there are few texts to prepare.
    const inserts = ALL_INDEX_TABLES.filter((table) => this.#rows.has(table)).map(
      (table) => sql`INSERT INTO ${TABLE_NAMES[table]} (project, ${COLUMNS[table].names})
        SELECT ${this.shard}::uuid, u.* FROM ${this.#rowsOf(table)}`,
    );
    return [...inserts, ...this.sharedInserts()];
  }

  /** The statements of {@link inserts} for rows that resources share. */
  sharedInserts(): readonly Sql[] {
    return this.#inside.size === 0 ? [] : [this.#insertInside()];
  }

  /** The other rows of {@link inserts}, by COPY. */
  copies(): readonly PostgresScriptStatement[] {
    return [...this.#rows].map(([table, rows]) =>
      copyInto(TABLE_NAMES[table], sql`project, ${COLUMNS[table].names}`, this.shard, rows),
    );
  }

  /** Finds the resources whose rows in a table differ from these. */
  differences(table: IndexTable, keys: readonly string[]): Sql {
    const there = sql`SELECT ${COLUMNS[table].names} FROM ${TABLE_NAMES[table]}
      WHERE project = ${this.shard} AND resource = ANY (${arrayText(keys)})`;
    const here = sql`SELECT u.* FROM ${this.#rowsOf(table)}`;
    return sql`SELECT d.resource FROM ((${there} EXCEPT ALL ${here}) UNION ALL (${here} EXCEPT ALL ${there})) AS d`;
  }

  #rowsOf(table: IndexTable): Sql {
    const { types } = COLUMNS[table];
    const rows = this.#rows.get(table) ?? [];
    const columns = types.map((type, index) => {
      const values = rows.map((row) => row[index]!);
      return sql`${type === TEXTS ? arrayText(values) : plainArrayText(values)}${type}`;
    });
    return sql`unnest(${list(columns)}) AS u`;
  }

  #addInside(type: string, inside: string): void {
    const known = this.#inside.get(type);
    if (known === undefined) this.#inside.set(type, new Set([inside]));
    else known.add(inside);
  }

  #insertInside(): Sql {
    const pairs = [...this.#inside].flatMap(([type, held]) => [...held].map((inside) => [type, inside] as const));
    // All commits use the same order, so that they never deadlock.
    pairs.sort((one, other) => (String(one) < String(other) ? -1 : 1));
    return sql`INSERT INTO fhirgraph_inside (project, type, inside) SELECT ${this.shard}::uuid, u.*
      FROM unnest(${arrayText(pairs.map(([type]) => type))}::text[], ${arrayText(pairs.map(([, inside]) => inside))}::text[]) AS u
      ON CONFLICT DO NOTHING`;
  }

  /** Codings of one concept share its text. */
  #addText(owner: Owner, folded: string, seen: Set<string>): void {
    // Parameter and group are numbers, so the name is unambiguous for any text.
    const name = `${owner[1]} ${owner[2]} ${folded}`;
    if (seen.has(name)) return;
    seen.add(name);
    this.#push('display', owner, folded);
  }

  #push(table: IndexTable, owner: Owner, ...values: readonly SqlValue[]): void {
    this.#size++;
    for (const value of values) if (typeof value === 'string') this.#characters += value.length;
    const rows = this.#rows.get(table);
    const row = [...owner, ...values];
    if (rows === undefined) this.#rows.set(table, [row]);
    else rows.push(row);
  }
}

function systemKey(system: string | undefined): string {
  return system === undefined ? NO_SYSTEM : textKey(system);
}

function unitKey(text: string | undefined): string | null {
  return text === undefined ? null : textKey(text);
}

type Owner = readonly [resource: string, parameter: number, group: number];

const TEXTS = new Sql('::text[]', []);

/** The columns of a table after `project`, and their array types. */
function columns(names: string, ...types: readonly string[]): { readonly names: Sql; readonly types: readonly Sql[] } {
  return {
    names: new Sql(`resource, parameter, grp, ${names}`, []),
    types: ['uuid', 'bigint', 'int', ...types].map((type) => (type === 'text' ? TEXTS : new Sql(`::${type}[]`, []))),
  };
}

const COLUMNS: { readonly [Table in IndexTable]: ReturnType<typeof columns> } = {
  token: columns('code, system, extreme', 'text', 'uuid', 'smallint'),
  string: columns('folded, text, "collation", extreme', 'text', 'text', 'text', 'smallint'),
  date: columns('low, high, extreme', 'bigint', 'bigint', 'smallint'),
  quantity: columns('low, high, system, code, unit, extreme', 'float8', 'float8', 'uuid', 'uuid', 'uuid', 'smallint'),
  reference: columns('target, target_type, target_id', 'uuid', 'text', 'text'),
  uri: columns('value, extreme', 'text', 'smallint'),
  display: columns('folded', 'text'),
};
