import type { CompositeCriteria, Criteria } from '../../../../search/criteria/criteria.js';
import type { RowScope } from '../../../sql/rows.js';
import { type PresenceSets, setOfComposite } from '../../../sql/skip/composite-set.js';
import type { ConditionSet } from '../../../sql/skip/condition-set.js';
import { narrowWays } from '../../../sql/skip/narrow-components.js';
import { PRESENCE, SETS, SEVERAL } from '../../rows/skip-row.js';
import type { SkipIndex } from '../read/skip-index.js';
import { presenceName, type RowName } from '../read/skip-rows.js';
import type { DerivedCriteria } from './derived-criteria.js';

/** Finds the sets of composites. Load {@link namesOf} and the sets of their parts first. */
export class CompositeSets {
  readonly #scope: RowScope;
  readonly #derived: DerivedCriteria;
  readonly #keyOf: (parameter: string) => number | undefined;
  readonly #presence: PresenceSets;

  /** @param keyOf the key of a parameter or component; undefined if the skip index has none */
  constructor(
    index: SkipIndex,
    scope: RowScope,
    derived: DerivedCriteria,
    keyOf: (parameter: string) => number | undefined,
  ) {
    this.#scope = scope;
    this.#derived = derived;
    this.#keyOf = keyOf;
    this.#presence = {
      emptySet: () => index.emptySet(),
      present: (key) => index.setOf(key as number, PRESENCE),
      several: (key) => index.setOf(key as number, SEVERAL),
    };
  }

  /** The rows that a composite needs in addition to those of its parts. */
  namesOf({ parameter }: CompositeCriteria): readonly RowName[] {
    const { dialect, type } = this.#scope;
    return narrowWays(parameter, dialect.model, type).flatMap((way = []) =>
      way.flatMap((one) => {
        const [component, plain] = one === undefined ? [] : [this.#keyOf(one.component), this.#keyOf(one.plain)];
        if (component === undefined || plain === undefined) return [];
        return [presenceName(component), { sort: SETS, subject: plain, value: SEVERAL }];
      }),
    );
  }

  /** @param setOf the set of a part */
  find(criteria: CompositeCriteria, setOf: (part: Criteria) => ConditionSet | undefined): ConditionSet | undefined {
    return setOfComposite(criteria, this.#scope, this.#presence, setOf, this.#derived.waysOf(criteria));
  }
}
