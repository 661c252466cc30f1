import type { CompositeCriteria, Criteria, MatchCriteria } from '../../../search/criteria/criteria.js';
import { leavesOf } from '../pages/condition.js';
import { parameterKey, type RowScope } from '../rows.js';
import { waysOfComposite } from './composite-parts.js';
import { equalTestOf } from './other-values.js';

/**
 * Criteria that the sets of others are made of: the parts of a composite, and what asks for the value that a test asks for
 * another one than. The same ones each time, so that what is found of them can be kept.
 */
export class MadeCriteria {
  readonly #scope: RowScope;
  readonly #ways = new Map<CompositeCriteria, CompositeWays>();
  readonly #opposites = new Map<Criteria, MatchCriteria>();

  constructor(scope: RowScope) {
    this.#scope = scope;
  }

  /** All that a set has to be found for, before those of some criteria are known. */
  leavesOf(criteria: Criteria): readonly Criteria[] {
    return leavesOf(criteria).flatMap((one) => {
      const parts =
        one.kind === 'composite'
          ? this.waysOf(one)
              .flat()
              .filter((part) => part !== undefined)
          : [one];
      return parts.flatMap((part) => {
        const opposite = this.oppositeOf(part);
        return opposite === undefined ? [part] : [part, opposite];
      });
    });
  }

  /** The parts of a composite, for each way to have them all. */
  waysOf(criteria: CompositeCriteria): CompositeWays {
    let ways = this.#ways.get(criteria);
    if (ways === undefined) {
      ways = waysOfComposite(criteria, this.#scope.dialect.model, this.#scope.type);
      this.#ways.set(criteria, ways);
    }
    return ways;
  }

  /** Undefined where the test asks for no other value. */
  oppositeOf(criteria: Criteria): MatchCriteria | undefined {
    if (criteria.kind !== 'match' || criteria.parameter.includes('$')) return undefined;
    const known = this.#opposites.get(criteria);
    if (known !== undefined) return known;
    const equal = equalTestOf(criteria.test);
    if (equal === undefined || parameterKey(this.#scope, criteria.parameter) === undefined) return undefined;
    const opposite = { ...criteria, test: equal.test };
    this.#opposites.set(criteria, opposite);
    return opposite;
  }
}

type CompositeWays = readonly (readonly (MatchCriteria | undefined)[])[];
