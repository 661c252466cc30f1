import { collationKey } from '../../search/index/fold.js';
import type { IndexEntry } from '../../search/index/index-entry.js';
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
  token: [...OF_ALL, 'code', 'system'],
  string: [...OF_ALL, 'folded', 'text', 'collation'],
  date: [...OF_ALL, 'low', 'high'],
  quantity: [...OF_ALL, 'low', 'high', 'system', 'code', 'unit'],
  reference: [...OF_ALL, 'target'],
  uri: [...OF_ALL, 'value'],
};

/** Makes the rows of a resource, one per entry, in the order of `ordinal`. */
export function addIndexRows(owner: IndexOwner, entries: readonly IndexEntry[], names: Names, rows: RowSinks): void {
  entries.forEach((entry, ordinal) => {
    addRow(owner, names.parameters.intern(owner.collection, entry.parameter), ordinal, entry, names, rows);
  });
}

function addRow(
  { project, resource }: IndexOwner,
  parameter: number,
  ordinal: number,
  { group, value }: IndexEntry,
  names: Names,
  rows: RowSinks,
): void {
  switch (value.kind) {
    case 'token':
      rows.token.push(resource, parameter, group, ordinal, value.code ?? null, systemOf(names, project, value.system));
      return;
    case 'string': {
      const key = collationKey(value.text);
      const collation = key === value.folded ? null : key;
      rows.string.push(resource, parameter, group, ordinal, value.folded, value.text, collation);
      return;
    }
    case 'date':
      rows.date.push(resource, parameter, group, ordinal, value.low, value.high);
      return;
    case 'number':
      rows.quantity.push(resource, parameter, group, ordinal, value.low, value.high, null, null, null);
      return;
    case 'quantity': {
      const { low, high, code, unit } = value;
      const system = systemOf(names, project, value.system);
      rows.quantity.push(resource, parameter, group, ordinal, low, high, system, code ?? null, unit ?? null);
      return;
    }
    case 'reference':
      if ('url' in value) {
        rows.uri.push(resource, parameter, group, ordinal, value.url);
      } else {
        const target = targetOf(names, project, value.type, value.id);
        rows.reference.push(resource, parameter, group, ordinal, target);
      }
      return;
    case 'uri':
      rows.uri.push(resource, parameter, group, ordinal, value.value);
  }
}

function systemOf(names: Names, project: string, uri: string | undefined): number {
  return uri === undefined ? NO_SYSTEM : names.systems.intern(project, uri);
}

/** What a reference points to has a number, whether it exists or not. */
function targetOf(names: Names, project: string, type: string, id: string): number {
  return names.resources.intern(names.collections.intern(project, type), id);
}
