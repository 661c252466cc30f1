import type { Criteria } from '../../../../search/criteria/criteria.js';
import { conditionsOf } from '../../../sql/pages/condition.js';
import { planRows } from '../../../sql/plan.js';
import type { RowScope } from '../../../sql/rows.js';
import type { ConditionSet } from '../../../sql/skip/condition-set.js';
import type { KeySet } from '../../../sql/skip/key-set.js';
import { type Sql, sql, TRUE } from '../../../sql/sql.js';
import { withOwnScan } from '../../scans/own-scans.js';
import { countOfShapes, shapeScan } from '../../rows/shapes.js';
import type { Statements } from '../../database/statements.js';
import type { SkipIndex } from '../read/skip-index.js';

/** Finds sets by scans of the indexes by value. Undefined if a scan finds more than a limit. */
export class ScannedSets {
  readonly #index: SkipIndex;
  readonly #scope: RowScope;
  readonly #statements: Statements;
  /** Keys found by scans, kept because the rules of a policy repeat the conditions of a search. */
  readonly #known = new Map<string, FoundKeys>();

  constructor(index: SkipIndex, scope: RowScope, statements: Statements) {
    this.#index = index;
    this.#scope = scope;
    this.#statements = statements;
  }

  of(scan: Sql, limit = MAX_SCANNED): ConditionSet | undefined {
    const keys = this.keys(scan, limit);
    return keys && { set: this.setOf(keys), exact: true };
  }

  /** The matches in ranges of an index. */
  inRanges(criteria: Criteria, limit: number): ConditionSet | undefined {
    const { scan, residual } = planRows(criteria, this.#scope);
    return scan === undefined || residual !== TRUE ? undefined : this.of(scan, limit);
  }

  /** The matches in ranges, or among all values of a parameter, as for a code system or `contains`. */
  inValues(criteria: Criteria, limit: number): ConditionSet | undefined {
    const [condition] = conditionsOf(criteria, this.#scope);
    if (condition === undefined || this.#scope.collection === undefined) return undefined;
    const { scan, reads = 0 } = withOwnScan(condition, this.#scope, this.#statements);
    return scan === undefined || reads > limit ? undefined : this.of(scan, limit);
  }

  /** The resources with several values of a parameter. */
  several(parameter: number, limit = MAX_SCANNED): KeySet | undefined {
    const collection = this.#scope.collection as number;
    const [count] = this.#statements.get(countOfShapes(collection, parameter, 'several')) as [number];
    if (count > limit) return undefined;
    return count === 0 ? this.#index.emptySet() : this.of(shapeScan(collection, parameter, 'several'), limit)?.set;
  }

  keys(scan: Sql, limit: number): readonly number[] | undefined {
    this.#index.check();
    const name = JSON.stringify([scan.text, scan.values]);
    const known = this.#known.get(name);
    const found = known !== undefined && (known.isWhole || known.keys.length > limit) ? known : this.#read(scan, limit);
    this.#known.set(name, found);
    return found.keys.length > limit ? undefined : found.keys;
  }

  #read(scan: Sql, limit: number): FoundKeys {
    const keys = this.#statements.column(sql`SELECT * FROM (${scan}) LIMIT ${limit + 1}`) as readonly number[];
    return { keys, isWhole: keys.length <= limit };
  }

  setOf(keys: readonly number[]): KeySet {
    const set = this.#index.emptySet();
    for (const key of keys) set.add(key);
    return set;
  }
}

interface FoundKeys {
  readonly keys: readonly number[];
  /** False if the scan has more keys than these. */
  readonly isWhole: boolean;
}

/** Maximum rows of a scan that are read for a set of a page: some milliseconds. */
export const MAX_SCANNED = 32_768;
