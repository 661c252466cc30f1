import type { Criteria, SortKey } from './criteria.js';

/** A search parameter of a resource type. */
export interface TypeParameter {
  readonly type: string;
  /** Its code, as it is defined: `code-value-quantity`, never `code-value-quantity$0`. */
  readonly parameter: string;
}

/** True for a search parameter that stores hold beside the resource, so that it has no index values. */
export function isHeldApart(parameter: string): boolean {
  return parameter === '_id' || parameter === '_lastUpdated';
}

/**
 * The search parameters whose index values decide a search: those of the criteria, of chains and `_has` with the types they
 * lead to, and of the sort. `_id` and `_lastUpdated` are not among them, as stores hold both beside the resource. Each is
 * given once.
 *
 * @param beside further parameters of the type: the one of a search by reference
 */
export function parametersOf(
  type: string,
  criteria: Criteria,
  sort: readonly SortKey[] = [],
  beside: readonly string[] = [],
): readonly TypeParameter[] {
  const found = new Map<string, TypeParameter>();
  const add = (ofType: string, name: string): void => {
    // The other forms belong to the same parameter; see index-entry.ts.
    const parameter = name.split(/[$:]/, 1)[0]!;
    if (!isHeldApart(parameter)) found.set(`${ofType} ${parameter}`, { type: ofType, parameter });
  };
  const open: { readonly type: string; readonly criteria: Criteria }[] = [{ type, criteria }];
  while (open.length > 0) {
    const one = open.pop()!;
    switch (one.criteria.kind) {
      case 'and':
      case 'or':
        for (const inner of one.criteria.of) open.push({ type: one.type, criteria: inner });
        break;
      case 'not':
        open.push({ type: one.type, criteria: one.criteria.of });
        break;
      case 'chain':
        add(one.type, one.criteria.parameter);
        open.push({ type: one.criteria.type, criteria: one.criteria.of });
        break;
      case 'has':
        add(one.criteria.type, one.criteria.parameter);
        open.push({ type: one.criteria.type, criteria: one.criteria.of });
        break;
      case 'match':
      case 'missing':
      case 'composite':
        add(one.type, one.criteria.parameter);
        break;
      case 'all':
      case 'none':
      case 'id':
      case 'last-updated':
        break;
    }
  }
  for (const { parameter } of sort) add(type, parameter);
  for (const parameter of beside) add(type, parameter);
  return [...found.values()];
}
