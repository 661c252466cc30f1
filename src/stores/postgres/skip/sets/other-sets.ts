import type { Criteria, MatchCriteria } from '../../../../search/criteria/criteria.js';
import { isOfOneTarget } from '../../../sql/pages/condition.js';
import { parameterKey, type RowScope } from '../../../sql/rows.js';
import type { ConditionSet, KnownSets } from '../../../sql/skip/condition-set.js';
import type { KeySet } from '../../../sql/skip/key-set.js';
import { equalTestOf, setOfOthers } from '../../../sql/skip/other-values.js';
import { asksForUnit } from '../../../sql/skip/range-tests.js';
import { SEVERAL } from '../../rows/skip-row.js';
import { isOfCode } from '../../scans/own-scans.js';
import type { SkipIndex } from '../read/skip-index.js';
import type { DerivedCriteria } from './derived-criteria.js';
import type { TokenSets } from './token-sets.js';
import type { UnitSets } from './unit-sets.js';

/** Finds the resources with a value that a negated test does not exclude. */
export class OtherSets {
  readonly #index: SkipIndex;
  readonly #scope: RowScope;
  readonly #derived: DerivedCriteria;
  readonly #tokens: TokenSets;
  readonly #units: UnitSets;
  /** The resources that have only the code that a test excludes, if they are few. */
  readonly #only = new Map<Criteria, KeySet | undefined>();

  constructor(index: SkipIndex, scope: RowScope, derived: DerivedCriteria, tokens: TokenSets, units: UnitSets) {
    this.#index = index;
    this.#scope = scope;
    this.#derived = derived;
    this.#tokens = tokens;
    this.#units = units;
  }

  keepOnly(criteria: Criteria, set: KeySet | undefined): void {
    this.#only.set(criteria, set);
  }

  /** True if the set follows from the set of the opposite. Load the rows of units first. */
  isKnown(criteria: MatchCriteria): boolean {
    if (this.#derived.oppositeOf(criteria) === undefined) return false;
    return !asksForUnit(criteria.test) || this.#units.of(criteria)?.[0].exact === true;
  }

  /** @param known has the set of the opposite */
  find(criteria: MatchCriteria, known: KnownSets): ConditionSet | undefined {
    const opposite = this.#derived.oppositeOf(criteria);
    if (opposite === undefined) return undefined;
    if (asksForUnit(criteria.test)) return this.#inUnit(criteria, opposite, known);
    const ofToken = this.#tokens.others(criteria);
    if (ofToken !== undefined) return ofToken;
    const [present, equal] = [known.present(criteria.parameter), known.setOf(opposite)];
    if (equal === undefined || present === undefined) return undefined;
    const only = this.#only.get(criteria);
    if (only !== undefined) return { set: present.copy().subtract(only), exact: true };
    const several = this.#several(criteria);
    // A resource with several targets or codes also has another one.
    const areOthers = isOfCode(opposite) || (isOfOneTarget(opposite) && this.#scope.baseUrl === undefined);
    if (!areOthers || several === undefined || !equal.exact) {
      return setOfOthers(present, equal, equalTestOf(criteria.test)!.isWhole ? several : undefined);
    }
    return { set: present.copy().subtract(equal.set.copy().subtract(several)), exact: true };
  }

  /** Like {@link find}, among the values in a unit. Undefined if the resources with the unit are unknown. */
  #inUnit(criteria: MatchCriteria, opposite: MatchCriteria, known: KnownSets): ConditionSet | undefined {
    const [ofUnit] = this.#units.of(criteria) ?? [];
    const equal = known.setOf(opposite);
    if (ofUnit?.exact !== true || equal === undefined) return undefined;
    return setOfOthers(ofUnit.set, equal, this.#several(criteria));
  }

  #several({ parameter }: MatchCriteria): KeySet | undefined {
    return this.#index.setOf(parameterKey(this.#scope, parameter) as number, SEVERAL);
  }
}
