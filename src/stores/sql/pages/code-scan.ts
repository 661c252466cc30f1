import type { Criteria, MatchCriteria } from '../../../search/criteria/criteria.js';
import { areListed, lookupsByTable } from '../match-sql.js';
import { matchesOfOneParameter } from './condition.js';
import { parameterKey, type RowScope } from '../rows.js';
import { anyOf, type Sql, type SqlValue } from '../sql.js';

/** The rows of some codes of one parameter. */
interface CodeRows {
  readonly key: SqlValue;
  /** Condition on a row `x` of `token`. */
  readonly codes: Sql;
}

/** The rows that criteria select, if they only name codes of one parameter. @param isOfCode whether a test only compares codes */
export function codeRows(
  criteria: Criteria,
  scope: RowScope,
  isOfCode: (one: Criteria) => one is MatchCriteria,
): CodeRows | undefined {
  const { parameter, matches = [] } = matchesOfOneParameter(criteria) ?? {};
  if (parameter === undefined || parameter.includes('$') || !matches.every(isOfCode)) return undefined;
  const key = parameterKey(scope, parameter);
  if (key === undefined || !areListed(matches, key, scope)) return undefined;
  const codes = lookupsByTable(matches, scope).flatMap(([, lookups]) => lookups.map(({ condition }) => condition));
  return { key, codes: anyOf(codes) };
}
