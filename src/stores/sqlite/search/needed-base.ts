import type { FhirModel } from '../../../fhir/model/fhir-model.js';
import { parametersOf, type TypeParameter } from '../../../search/criteria/parameters-of.js';
import { linkParameter } from '../../../search/index/inside.js';
import type { SearchQuery } from '../../../store/search-query.js';
import type { SqlDialect } from '../../sql/dialect.js';
import { ownUrlRanges } from '../../sql/own-urls.js';
import { parameterKey, rowScope } from '../../sql/rows.js';
import { allOf, sql } from '../../sql/sql.js';
import type { Statements } from '../database/statements.js';

/**
 * The query without its base, if none of the references that it reads is absolute and below that base.
 *
 * PERF (scale): each request over HTTP has a base, and few projects have such references. With a base, a test of a reference
 * reads two tables, and no order by a reference comes from an index. Checking the index of URLs takes 2 µs for each
 * reference parameter.
 *
 * @param beside further parameters of the type: the parameter of a search by reference
 */
export function withNeededBase(
  query: SearchQuery,
  beside: readonly string[],
  dialect: SqlDialect,
  statements: Statements,
): SearchQuery {
  const { baseUrl, project, type, criteria, sort } = query;
  if (baseUrl === undefined) return query;
  const all = parametersOf(type, criteria, sort, beside);
  const isNeeded = (one: TypeParameter): boolean => {
    if (!readsReferences(one, dialect.model)) return false;
    // Components are in groups, which are not in the index by value.
    if (dialect.model.searchParameter(one.type, one.parameter)?.type === 'composite') return true;
    const scope = { ...rowScope({ project, dialect }, one.type), baseUrl };
    const linksInside = all.some(
      (other) =>
        other.parameter.startsWith('#') &&
        parameterKey(scope, linkParameter(one.parameter, other.parameter.slice(1))) !== undefined,
    );
    if (linksInside) return true;
    const key = parameterKey(scope, one.parameter);
    if (key === undefined) return false;
    const range = allOf(ownUrlRanges(undefined, undefined, X, scope));
    return (
      statements.get(sql`SELECT 1 FROM uri x WHERE x.parameter = ${key} AND x.grp = 0 AND ${range} LIMIT 1`) !==
      undefined
    );
  };
  return all.some(isNeeded) ? query : { ...query, baseUrl: undefined };
}

/** The query without its base, if it reads no references at all. This needs no look at the index. */
export function withUsableBase(query: SearchQuery, model: FhirModel): SearchQuery {
  if (query.baseUrl === undefined) return query;
  const all = parametersOf(query.type, query.criteria, query.sort, []);
  return all.some((one) => readsReferences(one, model)) ? query : { ...query, baseUrl: undefined };
}

function readsReferences({ type, parameter: code }: TypeParameter, model: FhirModel): boolean {
  const parameter = model.searchParameter(type, code);
  if (parameter?.type === 'composite') return (parameter.components ?? []).some((part) => part.type === 'reference');
  return parameter?.type === 'reference';
}

const X = sql`x`;
