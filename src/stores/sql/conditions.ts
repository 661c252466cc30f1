import type { ChainCriteria, Criteria, HasCriteria, MissingCriteria } from '../../search/criteria/criteria.js';
import type { DateTest } from '../../search/criteria/value-test.js';
import { linkParameter } from '../../search/index/inside.js';
import { compositeCondition } from './composite-sql.js';
import { tablesOf } from './index-tables.js';
import { matchCondition, matchesByParameter } from './match-sql.js';
import {
  chainScope,
  innerScope,
  insideScope,
  inTime,
  isCurrent,
  isFound,
  joinByKey,
  ofParameter,
  parameterKey,
  type RowScope,
  valuesOf,
} from './rows.js';
import { allOf, anyOf, exists, FALSE, negation, Sql, sql, type SqlValue, TRUE } from './sql.js';

/** Whether the current row matches, by point lookups under its own key. Never NULL. */
export function rowCondition(criteria: Criteria, scope: RowScope): Sql {
  switch (criteria.kind) {
    case 'all':
      return TRUE;
    case 'none':
      return FALSE;
    case 'and':
      return allOf(criteria.of.map((one) => rowCondition(one, scope)));
    case 'or':
      return anyOf([
        ...[...matchesByParameter(criteria.of)].map(([parameter, group]) => matchCondition(parameter, group, scope)),
        ...criteria.of.filter(({ kind }) => kind !== 'match').map((one) => rowCondition(one, scope)),
      ]);
    case 'not':
      return negation(rowCondition(criteria.of, scope));
    case 'id':
      // A contained resource has neither a logical id nor a time of its own, and no other resource refers to it.
      if (scope.inside !== undefined) return FALSE;
      return criteria.ids.length === 0 ? FALSE : scope.dialect.isOneOf(sql`${scope.row}.id`, criteria.ids);
    case 'last-updated':
      return scope.inside === undefined ? updatedCondition(criteria.test, scope) : FALSE;
    case 'match':
      return matchCondition(criteria.parameter, [criteria], scope);
    case 'missing':
      return missingCondition(criteria, scope);
    case 'composite':
      return compositeCondition(criteria, scope);
    case 'chain':
      return chainCondition(criteria, scope);
    case 'has':
      return scope.inside === undefined ? hasCondition(criteria, scope) : FALSE;
  }
}

const X = sql`x`;

/** Instants are stored with millisecond precision and last 1 ms, so every prefix is a range of whole milliseconds. */
function updatedCondition({ prefix, low, high }: DateTest, { row }: RowScope): Sql {
  const updated = sql`${row}.updated`;
  switch (prefix) {
    case 'eq':
      return sql`${updated} BETWEEN ${low} AND ${high - 1}`;
    case 'ne':
      return sql`${updated} NOT BETWEEN ${low} AND ${high - 1}`;
    case 'lt':
      return sql`${updated} < ${low}`;
    case 'le':
      return sql`${updated} < ${high}`;
    case 'eb':
      return sql`${updated} <= ${low - 1}`;
    case 'gt':
    case 'sa':
      return sql`${updated} >= ${high}`;
    case 'ge':
      return sql`${updated} >= ${low}`;
    case 'ap':
    case 'po':
      return sql`${updated} BETWEEN ${low} AND ${high - 1}`;
  }
}

function missingCondition({ parameter, missing }: MissingCriteria, scope: RowScope): Sql {
  const key = parameterKey(scope, parameter);
  if (key === undefined) return missing ? TRUE : FALSE;
  const present = anyOf(
    tablesOf(scope.dialect.model, scope.type, parameter).map((table) => {
      const { from, where } = valuesOf(table, X, sql`${scope.row}.key`, key, scope);
      return exists(from, where);
    }),
  );
  return missing ? negation(present) : present;
}

function chainCondition(criteria: ChainCriteria, scope: RowScope): Sql {
  const link = linkOf(criteria, scope);
  if (link === undefined) return outsideCondition(criteria, scope);
  const { k, key, target } = link;
  const { from, where } = valuesOf('quantity', k, sql`${scope.row}.key`, key, scope);
  const inside = exists(from, allOf([where, rowCondition(criteria.of, target)]));
  return anyOf([outsideCondition(criteria, scope), inside]);
}

/** The links of a reference parameter to contained resources; undefined if it has none. */
export function linkOf(
  { parameter, type, reach }: ChainCriteria,
  scope: RowScope,
): { readonly k: Sql; readonly key: SqlValue; readonly target: RowScope } | undefined {
  const key =
    reach === 'outside' || scope.sealed === true ? undefined : parameterKey(scope, linkParameter(parameter, type));
  if (key === undefined) return undefined;
  const k = new Sql(`k${scope.depth}`, []);
  return { k, key, target: insideScope(scope, type, sql`${k}.low`) };
}

function outsideCondition({ parameter, type, of, reach }: ChainCriteria, scope: RowScope): Sql {
  if (reach === 'inside') return FALSE;
  const key = parameterKey(scope, parameter);
  const target = chainScope(scope, type);
  if (key === undefined || target.collection === undefined) return FALSE;
  const { from, where } = valuesOf('reference', X, sql`${scope.row}.key`, key, scope);
  const joined = sql`${from} ${joinByKey(target.row, sql`x.target`, scope)}`;
  return exists(joined, allOf([where, isCurrent(target), rowCondition(of, target)]));
}

function hasCondition({ parameter, type, of }: HasCriteria, scope: RowScope): Sql {
  const source = innerScope(scope, type);
  const key = parameterKey(source, parameter);
  if (key === undefined) return FALSE;
  return sql`EXISTS (SELECT 1 FROM reference x ${joinByKey(source.row, sql`x.resource`, scope)}
    WHERE ${ofParameter(X, key, source)} AND x.target = ${scope.row}.key
      AND ${allOf([isFound(source), inTime(sql`x.resource`, scope), rowCondition(of, source)])})`;
}
