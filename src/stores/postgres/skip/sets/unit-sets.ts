import type { MatchCriteria } from '../../../../search/criteria/criteria.js';
import type { RowScope } from '../../../sql/rows.js';
import type { ConditionSet } from '../../../sql/skip/condition-set.js';
import type { KeySet } from '../../../sql/skip/key-set.js';
import { askedUnit, OTHER_UNITS, setOfUnit, SEVERAL_UNITS } from '../../../sql/skip/unit-sets.js';
import { SETS, valueName } from '../../rows/skip-row.js';
import type { SkipIndex } from '../read/skip-index.js';
import type { RowName } from '../read/skip-rows.js';

/** Finds the sets of the units of quantities. Load {@link namesOf} first. */
export class UnitSets {
  readonly #index: SkipIndex;
  readonly #scope: RowScope;
  readonly #keyOf: (parameter: string) => number | undefined;

  /** @param keyOf the key of a parameter; undefined if the skip index has none */
  constructor(index: SkipIndex, scope: RowScope, keyOf: (parameter: string) => number | undefined) {
    this.#index = index;
    this.#scope = scope;
    this.#keyOf = keyOf;
  }

  /** Empty for tests without a unit. */
  namesOf({ parameter, test }: MatchCriteria): readonly RowName[] {
    const unit = test.kind === 'quantity' ? askedUnit(test, this.#scope) : undefined;
    const subject = this.#keyOf(parameter);
    if (unit === undefined || subject === undefined) return [];
    return [unit, OTHER_UNITS, SEVERAL_UNITS].map((one) => ({ sort: SETS, subject, value: valueName(one) }));
  }

  /**
   * The resources with a value in the unit of a test, and those with values in several units. Undefined if no resource
   * has a unit.
   */
  of(criteria: MatchCriteria): readonly [ofUnit: ConditionSet, several: KeySet] | undefined {
    const [own, others, several] = this.namesOf(criteria).map((one) => this.#index.setOf(one.subject, one.value));
    return others && several && [setOfUnit(own, others), several];
  }
}
