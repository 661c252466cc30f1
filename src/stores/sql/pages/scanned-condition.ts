import type { Criteria } from '../../../search/criteria/criteria.js';
import type { Sql } from '../sql.js';
import type { Condition } from './condition.js';

/** How a store finds all resources that meet a condition. */
interface ConditionScan {
  readonly scan: Sql;
  /** True if the scan returns its first rows at once. */
  readonly direct: boolean;
  /** True if the scan returns each resource once. Default false. */
  readonly unique?: boolean;
}

/** A condition with a scan of its store. The test is made on demand; most searches do not need it. */
export class ScannedCondition implements Condition {
  readonly scan: Sql;
  readonly direct: boolean;
  readonly unique: boolean;
  readonly criteria: Criteria;

  constructor(
    private readonly condition: Condition,
    criteria: Criteria,
    { scan, direct, unique }: ConditionScan,
  ) {
    this.scan = scan;
    this.direct = direct;
    this.unique = unique === true;
    this.criteria = criteria;
  }

  get test(): Sql {
    return this.condition.test;
  }
}
