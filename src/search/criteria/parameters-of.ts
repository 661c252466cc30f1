import type { Criteria, SortKey } from './criteria.js';

/** A search parameter of a resource type. */
export interface TypeParameter {
  readonly type: string;
  /**
   * The code as defined: `code-value-quantity`, never `code-value-quantity$0`. `#Patient` represents all values
   * of the Patients inside resources of the type: see index-entry.ts.
   */
  readonly parameter: string;
}

/** True for search parameters that stores keep in the resource's row, without index values. */
export function isHeldApart(parameter: string): boolean {
  return parameter === '_id' || parameter === '_lastUpdated';
}

/**
 * The search parameters whose index values a search depends on: those of the criteria, of chains and `_has` with their
 * types, and of the sort, without duplicates. `_id` and `_lastUpdated` are excluded because stores keep them in the
 * resource's row.
 *
 * @param beside additional parameters of the type, such as the parameter of a search by reference
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
    const parameter = name.startsWith('#') ? name : name.split(/[$:]/, 1)[0]!;
    if (!isHeldApart(parameter)) found.set(`${ofType} ${parameter}`, { type: ofType, parameter });
  };
  // `within`: the types whose resources may contain the resource under test.
  const open: { readonly type: string; readonly within: readonly string[]; readonly criteria: Criteria }[] = [
    { type, within: [], criteria },
  ];
  while (open.length > 0) {
    const one = open.pop()!;
    switch (one.criteria.kind) {
      case 'and':
      case 'or':
        for (const inner of one.criteria.of) open.push({ ...one, criteria: inner });
        break;
      case 'not':
        open.push({ ...one, criteria: one.criteria.of });
        break;
      case 'chain': {
        const { parameter, type: target, of } = one.criteria;
        const within = [...new Set([...one.within, one.type])];
        add(one.type, parameter);
        for (const holder of within) add(holder, `#${target}`);
        open.push({ type: target, within, criteria: of });
        break;
      }
      case 'has':
        add(one.criteria.type, one.criteria.parameter);
        open.push({ type: one.criteria.type, within: [], criteria: one.criteria.of });
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
