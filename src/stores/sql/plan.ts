import type { AndCriteria, ChainCriteria, Criteria, HasCriteria, OrCriteria } from '../../search/criteria/criteria.js';
import { compositeScans } from './composite-sql.js';
import { linkOf, rowCondition } from './conditions.js';
import { matchesByParameter, matchScans } from './match-sql.js';
import {
  amongCurrent,
  chainScope,
  inPlan,
  inTime,
  innerScope,
  isCurrent,
  isFound,
  joinByKey,
  ofParameter,
  parameterKey,
  type RowPlan,
  type RowScope,
} from './rows.js';
import { allOf, anyOf, FALSE, type Sql, sql, type SqlValue, TRUE, unionAll } from './sql.js';

/** Picks the most selective of two or more scans, by position. */
export type ChooseScan = (scans: readonly PlannedScan[]) => number;

export interface PlannedScan {
  readonly scan: Sql;
  /** Reads only index ranges, so its first rows come immediately. */
  readonly direct: boolean;
}

/**
 * Plans a search that starts from an index if one helps, and tests all other conditions row by row.
 *
 * @param choose undefined if the database chooses.
 */
export function planRows(criteria: Criteria, scope: RowScope, choose?: ChooseScan): RowPlan {
  switch (criteria.kind) {
    case 'and':
      return planConjunction(criteria, scope, choose);
    case 'or':
      return planDisjunction(criteria, scope, choose);
    case 'id':
      return { scan: idScan(criteria.ids, scope), residual: TRUE };
    case 'match':
      return fromScans(matchScans(criteria.parameter, [criteria], scope), criteria, scope);
    case 'composite':
      return fromScans(compositeScans(criteria, scope), criteria, scope);
    case 'chain':
      return chainPlan(criteria, scope, choose);
    case 'has':
      return hasPlan(criteria, scope, choose);
    case 'missing':
    case 'last-updated':
    case 'not':
    case 'all':
    case 'none':
      return { residual: rowCondition(criteria, scope) };
  }
}

/** Starts from the most selective conjunct and tests the others on its rows. */
function planConjunction({ of }: AndCriteria, scope: RowScope, choose?: ChooseScan): RowPlan {
  if (choose === undefined && of.some(isOfFewIds))
    return { residual: allOf(of.map((one) => fewCondition(one, scope))) };
  const plans = of.map((criteria) => ({ criteria, plan: planRows(criteria, scope, choose) }));
  if (choose === undefined) return { residual: allOf(plans.map(({ plan }) => amongCurrent(plan, scope))) };
  const withScan = plans.filter(({ plan }) => plan.scan !== undefined);
  const start = withScan.length < 2 ? withScan[0] : withScan[choose(withScan.map(plannedScan))];
  const residuals = plans.map((one) => (one === start ? one.plan.residual : rowCondition(one.criteria, scope)));
  return start === undefined ? { residual: allOf(residuals) } : { scan: start.plan.scan!, residual: allOf(residuals) };
}

function isOfFewIds(criteria: Criteria): boolean {
  return criteria.kind === 'id' && criteria.ids.length <= MAX_TESTED;
}

/** Resources named by their ids, of which each is tested. */
const MAX_TESTED = 1_000;

/**
 * Whether one of few rows matches.
 *
 * Some planners begin with the scan of a chain, which can read all references of a parameter, even for a single
 * row. A `_has` begins with its scan if that is an index range: very many resources may refer to the row.
 */
function fewCondition(criteria: Criteria, scope: RowScope): Sql {
  switch (criteria.kind) {
    case 'and':
      return allOf(criteria.of.map((one) => fewCondition(one, scope)));
    case 'or': {
      const [sources, others] = [criteria.of.filter(isOfSources), criteria.of.filter((one) => !isOfSources(one))];
      return anyOf([
        ...sources.map((one) => fewCondition(one, scope)),
        ...(others.length === 0 ? [] : [rowCondition({ kind: 'or', of: others }, scope)]),
      ]);
    }
    case 'id':
      return amongCurrent(planRows(criteria, scope), scope);
    case 'has':
      return isDirect(criteria.of) ? amongCurrent(planRows(criteria, scope), scope) : rowCondition(criteria, scope);
    default:
      return rowCondition(criteria, scope);
  }
}

function isOfSources({ kind }: Criteria): boolean {
  return kind === 'has' || kind === 'and' || kind === 'or';
}

function plannedScan({ criteria, plan }: { readonly criteria: Criteria; readonly plan: RowPlan }): PlannedScan {
  return { scan: plan.scan!, direct: isDirect(criteria) };
}

/** Whether a scan for the criteria reads only index ranges. */
export function isDirect(criteria: Criteria): boolean {
  const parts = criteria.kind === 'or' ? criteria.of : [criteria];
  return parts.every(({ kind }) => DIRECT_KINDS.has(kind));
}

const DIRECT_KINDS: ReadonlySet<Criteria['kind']> = new Set(['id', 'match', 'composite']);

/** Joins the scans of all alternatives, if each has one. */
function planDisjunction(criteria: OrCriteria, scope: RowScope, choose?: ChooseScan): RowPlan {
  const selects: Sql[] = [];
  for (const [parameter, group] of matchesByParameter(criteria.of)) {
    const scans = matchScans(parameter, group, scope);
    if (scans === undefined) return { residual: rowCondition(criteria, scope) };
    selects.push(...scans);
  }
  for (const one of criteria.of) {
    if (one.kind === 'match') continue;
    const plan = planRows(one, scope, choose);
    if (plan.scan === undefined && plan.residual !== FALSE) return { residual: rowCondition(criteria, scope) };
    selects.push(keysOf(plan, scope));
  }
  return fromScans(selects, criteria, scope);
}

function fromScans(scans: readonly Sql[] | undefined, criteria: Criteria, scope: RowScope): RowPlan {
  if (scans === undefined) return { residual: rowCondition(criteria, scope) };
  return scans.length === 0 ? { residual: FALSE } : { scan: unionAll(scans), residual: TRUE };
}

const X = sql`x`;

function idScan(ids: readonly string[], scope: RowScope): Sql {
  const { row, dialect } = scope;
  return sql`SELECT ${row}.key FROM resource ${row} WHERE ${allOf([isCurrent(scope), dialect.isOneOf(sql`${row}.id`, ids)])}`;
}

function chainPlan(criteria: ChainCriteria, scope: RowScope, choose?: ChooseScan): RowPlan {
  const outside = outsidePlan(criteria, scope, choose);
  const link = linkOf(criteria, scope);
  if (link === undefined) return outside;
  const { row, project, dialect } = scope;
  const { k, key, target } = link;
  const scan = sql`SELECT ${row}.key FROM quantity ${k} ${joinByKey(row, sql`${k}.resource`, scope)}
    WHERE ${dialect.ofParameter(k, project, key)} AND ${k}.grp = 0 AND ${k}.system IS NULL AND ${allOf([isFound(scope), rowCondition(criteria.of, target)])}`;
  return { scan: outside.scan === undefined ? scan : unionAll([outside.scan, scan]), residual: TRUE };
}

function outsidePlan(criteria: ChainCriteria, scope: RowScope, choose?: ChooseScan): RowPlan {
  if (criteria.reach === 'inside') return { residual: FALSE };
  const key = parameterKey(scope, criteria.parameter);
  const target = chainScope(scope, criteria.type);
  if (key === undefined || target.collection === undefined) return { residual: FALSE };
  const targets = planRows(criteria.of, target, choose);
  if (targets.residual === FALSE) return { residual: FALSE };
  const references = referencesBy(sql`x.target`, keysOf(targets, target), key, scope);
  return { scan: sql`SELECT x.resource FROM ${references}`, residual: TRUE };
}

function hasPlan(criteria: HasCriteria, scope: RowScope, choose?: ChooseScan): RowPlan {
  const source = innerScope(scope, criteria.type);
  const key = parameterKey(source, criteria.parameter);
  if (key === undefined || scope.collection === undefined) return { residual: FALSE };
  const sources = planRows(criteria.of, source, choose);
  if (sources.residual === FALSE) return { residual: FALSE };
  const { row } = scope;
  const targets =
    sources.scan === undefined
      ? sql`SELECT x.target FROM reference x ${scope.dialect.join} resource ${source.row} ON ${source.row}.key = x.resource
          WHERE ${ofParameter(X, key, source)} AND ${allOf([isFound(source), inTime(sql`x.resource`, scope), sources.residual])}`
      : sql`SELECT x.target FROM ${referencesBy(sql`x.resource`, keysOf(sources, source), key, source)}`;
  // The target may be of another type, deleted or missing.
  const { from, where } = scope.dialect.byKeys(row, targets, scope.project);
  const scan = sql`SELECT ${row}.key FROM ${from} WHERE ${allOf([where, isCurrent(scope)])}`;
  return { scan, wide: targets, residual: TRUE };
}

/** The references `x` of a parameter with one of the selected keys in a column: what follows FROM. */
function referencesBy(column: Sql, keys: Sql, parameter: SqlValue, scope: RowScope): Sql {
  const where = allOf([ofParameter(X, parameter, scope), inTime(sql`x.resource`, scope)]);
  return (
    scope.dialect.byEachKey?.(keys, (key) => sql`SELECT * FROM reference x WHERE ${column} = ${key} AND ${where}`) ??
    sql`reference x WHERE ${column} IN (${keys}) AND ${where}`
  );
}

function keysOf(plan: RowPlan, scope: RowScope): Sql {
  if (plan.scan !== undefined && plan.residual === TRUE) return plan.scan;
  return sql`SELECT ${scope.row}.key FROM resource ${scope.row} WHERE ${inPlan(plan, scope)}`;
}
