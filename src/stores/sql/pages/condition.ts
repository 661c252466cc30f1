import type { Criteria, MatchCriteria } from '../../../search/criteria/criteria.js';
import type { ValueTest } from '../../../search/criteria/value-test.js';
import { rowCondition } from '../conditions.js';
import { type ChooseScan, isDirect, planRows } from '../plan.js';
import type { RowScope } from '../rows.js';
import { type Sql, TRUE } from '../sql.js';

/** One condition on a resource: how to test it, and how to find all resources that meet it. */
export interface Condition {
  /** Tests the row `r0`. */
  readonly test: Sql;
  /** Selects the keys of all matches; undefined if no index helps. */
  readonly scan?: Sql | undefined;
  /** True if the scan returns each resource once. */
  readonly unique?: boolean;
  /** True if the scan returns its first rows at once. */
  readonly direct?: boolean;
  /** The criteria of the condition, if it was made from criteria. */
  readonly criteria?: Criteria;
}

/** The conditions that criteria are made of. @param choose undefined if the database chooses between inner scans */
export function conditionsOf(criteria: Criteria, scope: RowScope, choose?: ChooseScan): readonly Condition[] {
  if (criteria.kind === 'all') return [];
  if (criteria.kind === 'and') return criteria.of.flatMap((one) => conditionsOf(one, scope, choose));
  return [new CriteriaCondition(criteria, scope, choose)];
}

/** The leaves of criteria. Chains and `_has` are leaves too. */
export function leavesOf(criteria: Criteria): readonly Criteria[] {
  if (criteria.kind === 'and' || criteria.kind === 'or') return criteria.of.flatMap(leavesOf);
  return criteria.kind === 'not' ? leavesOf(criteria.of) : [criteria];
}

/** Whether a test also requires a unit or its system, so that bounds alone do not decide. */
export function asksForUnit(test: ValueTest): boolean {
  return test.kind === 'quantity' && (test.system !== undefined || test.code !== undefined);
}

/** Whether a test also reads other resources, so that it takes as long as several other tests. */
export function isLinked({ criteria }: Condition): boolean {
  return criteria !== undefined && leavesOf(criteria).some(({ kind }) => kind === 'chain' || kind === 'has');
}

/** Whether a test reads all resources that refer to a resource, possibly very many. */
export function isOnReferrers({ criteria }: Condition): boolean {
  return criteria !== undefined && leavesOf(criteria).some(({ kind }) => kind === 'has');
}

/** Whether a test needs more of the resource `r0` than its key. */
export function looksAtRow(test: Sql): boolean {
  return /\br0\.(?!key\b)/.test(test.text);
}

/** The only resource to which a test requires a reference. A resource refers to it at most once per parameter. */
export function targetOf(test: ValueTest): { readonly type: string; readonly id: string } | undefined {
  if (test.kind !== 'reference') return undefined;
  const { id, types, url, negated } = test;
  if (id === undefined || types?.length !== 1 || url !== undefined || negated === true) return undefined;
  return { type: types[0]!, id };
}

export function isOfOneTarget(criteria: Criteria): boolean {
  return criteria.kind === 'match' && targetOf(criteria.test) !== undefined;
}

/** The tests of one parameter that criteria consist of: a single match, or alternatives. */
export function matchesOfOneParameter(criteria: Criteria): OneParameter | undefined {
  const all = criteria.kind === 'or' ? criteria.of : [criteria];
  const matches = all.filter((one) => one.kind === 'match');
  const [first] = matches;
  if (first === undefined || matches.length < all.length) return undefined;
  const { parameter } = first;
  return matches.every((one) => one.parameter === parameter) ? { parameter, matches } : undefined;
}

interface OneParameter {
  readonly parameter: string;
  readonly matches: readonly MatchCriteria[];
}

export function testsOf(conditions: readonly Condition[]): readonly Sql[] {
  return conditions.map(({ test }) => test);
}

class CriteriaCondition implements Condition {
  readonly criteria: Criteria;
  readonly #choose: ChooseScan | undefined;
  #planned: { readonly scan: Sql | undefined } | undefined;
  #test: Sql | undefined;

  constructor(
    criteria: Criteria,
    private readonly scope: RowScope,
    choose?: ChooseScan,
  ) {
    this.criteria = criteria;
    this.#choose = choose;
  }

  /** Planned on demand. Choosing between inner scans reads them, and a search that uses sets needs no scan. */
  get scan(): Sql | undefined {
    if (this.#planned === undefined) {
      const { scan, residual } = planRows(this.criteria, this.scope, this.#choose);
      this.#planned = { scan: residual === TRUE ? scan : undefined };
    }
    return this.#planned.scan;
  }

  get direct(): boolean {
    return isDirect(this.criteria);
  }

  /** Computed on demand, since a page that begins with the scan never needs it. */
  get test(): Sql {
    return (this.#test ??= rowCondition(this.criteria, this.scope));
  }
}
