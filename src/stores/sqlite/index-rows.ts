import { collationKey } from '../../search/index/fold.js';
import type { IndexEntry, IndexValue } from '../../search/index/index-entry.js';
import { markExtremes } from '../sql/extremes.js';
import type { ValueTable } from '../sql/index-tables.js';
import type { SqlValue } from '../sql/sql.js';
import { NO_SYSTEM } from './dialect.js';

/** The resource that index rows belong to. */
export interface IndexOwner {
  readonly project: string;
  readonly collection: number;
  /** Key of the `resource` row. */
  readonly resource: number;
}

/** Where the numbers of names come from. */
export interface Names {
  readonly collections: NumberOf<string>;
  readonly parameters: NumberOf<number>;
  readonly resources: NumberOf<number>;
  readonly systems: NumberOf<string>;
}

interface NumberOf<Owner> {
  intern(owner: Owner, name: string): number;
}

/** What takes the rows: the values of {@link INDEX_COLUMNS}, in this order. */
export type RowSinks = { readonly [Table in ValueTable]: { push(...row: readonly SqlValue[]): void } };

const OF_ALL = ['resource', 'parameter', 'grp', 'ordinal'] as const;

/** The columns of the index tables. */
export const INDEX_COLUMNS: { readonly [Table in ValueTable]: readonly string[] } = {
  token: [...OF_ALL, 'code', 'system', 'extreme'],
  string: [...OF_ALL, 'folded', 'text', 'collation', 'extreme'],
  date: [...OF_ALL, 'low', 'high', 'extreme'],
  quantity: [...OF_ALL, 'low', 'high', 'system', 'code', 'unit', 'extreme'],
  reference: [...OF_ALL, 'target'],
  uri: [...OF_ALL, 'value', 'extreme'],
};

/** Makes the rows of a resource, one per entry, in the order of `ordinal`. */
export function addIndexRows(owner: IndexOwner, entries: readonly IndexEntry[], names: Names, rows: RowSinks): void {
  const extremes = markExtremes(entries);
  entries.forEach((entry, ordinal) => {
    const parameter = names.parameters.intern(owner.collection, entry.parameter);
    addRow(owner, [owner.resource, parameter, entry.group, ordinal], extremes[ordinal]!, entry.value, names, rows);
  });
}

function addRow(
  { project }: IndexOwner,
  place: readonly [resource: number, parameter: number, grp: number, ordinal: number],
  extreme: number,
  value: IndexValue,
  names: Names,
  rows: RowSinks,
): void {
  switch (value.kind) {
    case 'token':
      rows.token.push(...place, value.code ?? null, systemOf(names, project, value.system), extreme);
      return;
    case 'string': {
      const key = collationKey(value.text);
      rows.string.push(...place, value.folded, value.text, key === value.folded ? null : key, extreme);
      return;
    }
    case 'date':
      rows.date.push(...place, value.low, value.high, extreme);
      return;
    case 'number':
      rows.quantity.push(...place, value.low, value.high, null, null, null, extreme);
      return;
    case 'quantity': {
      const { low, high, code, unit } = value;
      rows.quantity.push(
        ...place,
        low,
        high,
        systemOf(names, project, value.system),
        code ?? null,
        unit ?? null,
        extreme,
      );
      return;
    }
    case 'reference':
      if ('url' in value) rows.uri.push(...place, value.url, extreme);
      else rows.reference.push(...place, targetOf(names, project, value.type, value.id));
      return;
    case 'uri':
      rows.uri.push(...place, value.value, extreme);
  }
}

function systemOf(names: Names, project: string, uri: string | undefined): number {
  return uri === undefined ? NO_SYSTEM : names.systems.intern(project, uri);
}

/** Reference targets have a number even if they do not exist. */
function targetOf(names: Names, project: string, type: string, id: string): number {
  return names.resources.intern(names.collections.intern(project, type), id);
}
