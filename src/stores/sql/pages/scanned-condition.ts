import type { Criteria } from '../../../search/criteria/criteria.js';
import type { Sql } from '../sql.js';
import type { Condition } from './condition.js';

/** How a store finds all resources that meet a condition. */
export interface ConditionScan {
  readonly scan: Sql;
  /** True if the scan returns its first rows at once. */
  readonly direct: boolean;
  /** True if the scan returns each resource once. Default false. */
  readonly unique?: boolean;
  /** The number of rows that the scan reads even if it returns few. Default: about as many as it returns. */
  readonly countReads?: (() => number) | undefined;
}

/** A condition with a scan of its store. PERF: the test and the number of rows are made on demand; most searches need neither. */
export class ScannedCondition implements Condition {
  readonly scan: Sql;
  readonly direct: boolean;
  readonly unique: boolean;
  readonly criteria: Criteria;
  readonly #condition: Condition;
  readonly #countReads: (() => number) | undefined;
  #reads: number | undefined;

  constructor(condition: Condition, criteria: Criteria, { scan, direct, unique, countReads }: ConditionScan) {
    this.scan = scan;
    this.direct = direct;
    this.unique = unique === true;
    this.criteria = criteria;
    this.#condition = condition;
    this.#countReads = countReads;
  }

  get reads(): number | undefined {
    return (this.#reads ??= this.#countReads?.());
  }

  get test(): Sql {
    return this.#condition.test;
  }
}
