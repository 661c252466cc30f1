import { orderKey } from '../../../search/index/fold.js';
import type { MarkedEntries } from '../../sql/extremes.js';
import type { ValueTable } from '../../sql/index-tables.js';
import type { SqlValue } from '../../sql/sql.js';
import { NO_SYSTEM } from './dialect.js';

/** The resource that index rows belong to. */
export interface IndexOwner {
  readonly project: string;
  readonly collection: number;
  /** Key of the `resource` row. */
  readonly resource: number;
}

/** Provides the numbers of names. */
export interface Names {
  readonly collections: NumberOf<string>;
  readonly parameters: NumberOf<number>;
  readonly resources: NumberOf<number>;
  readonly systems: NumberOf<string>;
  readonly frequentCodes: { has(parameter: number, code: string): boolean };
}

interface NumberOf<Owner> {
  intern(owner: Owner, name: string): number;
}

/** Receives the rows of a table. */
export interface RowSink {
  /** The array that receives the values of the next row, in the order of {@link INDEX_COLUMNS}. */
  next(): SqlValue[];
}

type RowSinks = { readonly [Table in ValueTable]: RowSink };

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
export function addIndexRows(owner: IndexOwner, { entries, marks }: MarkedEntries, names: Names, rows: RowSinks): void {
  const { project, collection, resource } = owner;
  let name: string | undefined;
  let parameter = 0;
  // PERF (import-rate): a resource has about 15 rows, so their parts get no arrays of their own.
  for (let ordinal = 0; ordinal < entries.length; ordinal++) {
    const { parameter: next, group, value } = entries[ordinal]!;
    if (next !== name) parameter = names.parameters.intern(collection, (name = next));
    const extreme = marks[ordinal]!;
    switch (value.kind) {
      case 'token': {
        const system = systemOf(names, project, value.system);
        const { code = null } = value;
        const isListed = group !== 0 || code === null || !names.frequentCodes.has(parameter, code);
        rows.token.next().push(resource, parameter, isListed ? group : -1, ordinal, code, system, extreme);
        break;
      }
      case 'string': {
        const { folded, text } = value;
        const key = orderKey(value);
        const collation = key === folded ? null : key;
        rows.string.next().push(resource, parameter, group, ordinal, folded, text, collation, extreme);
        break;
      }
      case 'date':
        rows.date.next().push(resource, parameter, group, ordinal, value.low, value.high, extreme);
        break;
      case 'number': {
        const { low, high } = value;
        rows.quantity.next().push(resource, parameter, group, ordinal, low, high, null, null, null, extreme);
        break;
      }
      case 'quantity': {
        const { low, high, unit = null } = value;
        const system = systemOf(names, project, value.system);
        const unitCode = value.code ?? null;
        rows.quantity.next().push(resource, parameter, group, ordinal, low, high, system, unitCode, unit, extreme);
        break;
      }
      case 'reference':
        if ('url' in value) {
          rows.uri.next().push(resource, parameter, group, ordinal, value.url, extreme);
        } else {
          const target = targetOf(names, project, value.type, value.id);
          rows.reference.next().push(resource, parameter, group, ordinal, target);
        }
        break;
      case 'uri':
        rows.uri.next().push(resource, parameter, group, ordinal, value.value, extreme);
    }
  }
}

function systemOf(names: Names, project: string, uri: string | undefined): number {
  return uri === undefined ? NO_SYSTEM : names.systems.intern(project, uri);
}

/** Reference targets have a number even if they do not exist. */
function targetOf(names: Names, project: string, type: string, id: string): number {
  return names.resources.intern(names.collections.intern(project, type), id);
}
