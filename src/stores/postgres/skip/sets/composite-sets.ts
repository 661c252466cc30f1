import type { CompositeCriteria, Criteria } from '../../../../search/criteria/criteria.js';
import { parameterKey, type RowScope } from '../../../sql/rows.js';
import { type ConditionSet, intersection, sureOf, union } from '../../../sql/skip/condition-set.js';
import { PRESENCE, SETS, SEVERAL } from '../../rows/skip-row.js';
import { type NarrowComponent, narrowWays } from '../format/narrow-components.js';
import type { SkipIndex } from '../read/skip-index.js';
import { presenceName, type RowName } from '../read/skip-rows.js';
import type { DerivedCriteria } from './derived-criteria.js';

/**
 * Finds the sets of composites by those of their parts. Load {@link namesOf} first.
 *
 * If the resource itself is the only group, each resource that meets all parts is a match, apart from those with other values of
 * a plain parameter. Of a composite of components even a resource that surely meets each part may do so with values of several
 * groups.
 */
export class CompositeSets {
  readonly #index: SkipIndex;
  readonly #scope: RowScope;
  readonly #derived: DerivedCriteria;

  constructor(index: SkipIndex, scope: RowScope, derived: DerivedCriteria) {
    this.#index = index;
    this.#scope = scope;
    this.#derived = derived;
  }

  namesOf(criteria: CompositeCriteria): readonly RowName[] {
    return this.#narrowWays(criteria).flatMap((way) =>
      (way ?? []).flatMap((one) => {
        const [component, plain] = this.#keysOf(one);
        if (component === undefined || plain === undefined) return [];
        return [presenceName(component), { sort: SETS, subject: plain, value: SEVERAL }];
      }),
    );
  }

  /** @param setOf the set of a part */
  find(criteria: CompositeCriteria, setOf: (part: Criteria) => ConditionSet | undefined): ConditionSet | undefined {
    const narrow = this.#narrowWays(criteria);
    return union(
      this.#derived.waysOf(criteria).map(({ parts }, way) => {
        const found = intersection(
          parts.map((part, place) => part && this.#narrowed(setOf(part), narrow[way]?.[place])),
        );
        return narrow[way] === undefined ? found && { set: found.set, exact: false } : found;
      }),
    );
  }

  /** Without what has other values of a plain parameter. It is unknown by which of several values a resource passes. */
  #narrowed(found: ConditionSet | undefined, narrow: NarrowComponent | undefined): ConditionSet | undefined {
    if (found === undefined || narrow === undefined) return found;
    const [component, plain] = this.#keysOf(narrow);
    const present = component === undefined ? undefined : this.#index.setOf(component, PRESENCE);
    // A component without the row had no value in any resource.
    if (present === undefined || plain === undefined) return { set: this.#index.emptySet(), exact: true };
    const set = found.set.copy().intersect(present);
    const several = this.#index.setOf(plain, SEVERAL);
    const sure = sureOf(found)?.copy().intersect(present);
    if (several !== undefined) sure?.subtract(several);
    return found.exact && sure!.count === set.count ? { set, exact: true } : { set, exact: false, sure };
  }

  #narrowWays(criteria: CompositeCriteria): ReturnType<typeof narrowWays> {
    return narrowWays(criteria, this.#scope.dialect.model, this.#scope.type);
  }

  #keysOf(narrow: NarrowComponent | undefined): readonly (number | undefined)[] {
    if (narrow === undefined) return [];
    return [narrow.component, narrow.plain].map((one) => parameterKey(this.#scope, one) as number | undefined);
  }
}
