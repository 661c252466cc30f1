import type { SortKey } from '../../../../search/criteria/criteria.js';
import { orderTerms } from '../../../sql/order.js';
import { tablesOf } from '../../../sql/index-tables.js';
import { parameterKey, type RowScope } from '../../../sql/rows.js';
import type { Sql } from '../../../sql/sql.js';
import { orderIndexOf } from '../../scans/order-index.js';

/** An order that skip indexes may have. */
export interface SkipOrderKey {
  /** Its number in the table `skip`. */
  readonly sort: number;
  /** The value of the resource `r0`; null if it has none. */
  readonly valueOf: Sql;
}

/** An order of skip indexes by its key; undefined if they never have it. Only skip indexes order references by text. */
export function skipOrderOf(key: SortKey, scope: RowScope): SkipOrderKey | undefined {
  if (isOfReferences(key.parameter, scope)) {
    const sort = parameterKey(scope, key.parameter) as number | undefined;
    // With a base, absolute references have other texts.
    if (sort === undefined || scope.baseUrl !== undefined) return undefined;
    return { sort, valueOf: orderTerms([key], scope)[0]!.value };
  }
  const index = orderIndexOf(key, scope);
  return index?.skip === undefined ? undefined : { sort: index.skip, valueOf: index.valueOf };
}

export function isOfReferences(parameter: string, { dialect, type }: RowScope): boolean {
  if (parameter.startsWith('_') || parameter.includes('$') || parameter.includes('#')) return false;
  return tablesOf(dialect.model, type, parameter)[0] === 'reference';
}
