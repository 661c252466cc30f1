import { FhirError } from '../../fhir/error.js';
import { and, not, or, type AndCriteria, type Criteria, type OrCriteria } from './criteria.js';
import { getOrCreate, pushTo } from '../../platform/collections.js';

/** Maximum nesting of criteria; parsers stay far below it. */
const MAX_DEPTH = 1_000;

/**
 * Removes repeated conditions without changing the meaning: `gender=male` given 400 times is one index lookup. Equality
 * ignores the order of parts. Conditions shared by several alternatives are factored out.
 *
 * Takes linear time in the number of nodes; shared nodes are visited once. Unchanged nodes keep their identity.
 *
 * @throws FhirError `too-costly` - criteria nested deeper than 1,000 levels
 */
export function simplifyCriteria(criteria: Criteria): Criteria {
  return 'of' in criteria ? new Simplifier().simplify(criteria, 0).criteria : criteria;
}

/** Criteria with a number; equal criteria have equal numbers. */
interface Simplified {
  readonly criteria: Criteria;
  readonly number: number;
}

class Simplifier {
  readonly #done = new Map<Criteria, Simplified>();
  readonly #byKey = new Map<string, Simplified>();

  simplify(criteria: Criteria, depth: number): Simplified {
    const known = this.#done.get(criteria);
    if (known !== undefined) return known;
    if (depth > MAX_DEPTH) throw tooDeep();
    const simplified = this.#numbered(this.#simplified(criteria, depth), depth);
    this.#done.set(criteria, simplified);
    return simplified;
  }

  #simplified(criteria: Criteria, depth: number): Criteria {
    switch (criteria.kind) {
      case 'and':
      case 'or': {
        const parts = new Set(criteria.of.map((one) => this.simplify(one, depth + 1).criteria));
        const isKept = parts.size === criteria.of.length && criteria.of.every((one) => parts.has(one));
        const distinct = isKept
          ? criteria
          : this.#withoutRepeats(criteria.kind === 'and' ? and([...parts]) : or([...parts]), depth);
        return distinct.kind === 'or' ? this.#factored(distinct, depth) : distinct;
      }
      case 'not': {
        const of = this.simplify(criteria.of, depth + 1).criteria;
        return of === criteria.of ? criteria : not(of);
      }
      case 'chain':
      case 'has': {
        const of = this.simplify(criteria.of, depth + 1).criteria;
        return of === criteria.of ? criteria : { ...criteria, of };
      }
      default:
        return criteria;
    }
  }

  /** Flattened parts may repeat conditions of the outer list. */
  #withoutRepeats(criteria: Criteria, depth: number): Criteria {
    if (criteria.kind !== 'and' && criteria.kind !== 'or') return criteria;
    const parts = [...new Set(criteria.of.map((one) => this.simplify(one, depth + 1).criteria))];
    if (parts.length === criteria.of.length) return criteria;
    return criteria.kind === 'and' ? and(parts) : or(parts);
  }

  /**
   * Factors out conditions shared by all alternatives, unless a single index lookup answers the whole: `a and x or b
   * and x` as `(a or b) and x`.
   */
  #factored(criteria: OrCriteria, depth: number): Criteria {
    const holders = new Map<Criteria, AndCriteria[]>();
    for (const part of criteria.of) {
      for (const one of part.kind === 'and' ? part.of : []) {
        if (!('of' in one)) continue;
        pushTo(holders, one, part as AndCriteria);
      }
    }
    let [most, shared]: [readonly AndCriteria[], Criteria | undefined] = [[], undefined];
    for (const [one, found] of holders) if (found.length > Math.max(1, most.length)) [most, shared] = [found, one];
    if (shared === undefined) return criteria;
    const apart = or(most.map(({ of }) => and(of.filter((one) => one !== shared))));
    const joined = and([shared, this.simplify(apart, depth + 1).criteria]);
    return this.simplify(or([...criteria.of.filter((one) => !most.includes(one as AndCriteria)), joined]), depth + 1)
      .criteria;
  }

  /** Equal criteria are represented by the first of them. */
  #numbered(criteria: Criteria, depth: number): Simplified {
    const known = this.#done.get(criteria);
    if (known !== undefined) return known;
    const key = this.#keyOf(criteria, depth);
    return getOrCreate(this.#byKey, key, () => ({ criteria, number: this.#byKey.size }));
  }

  #keyOf(criteria: Criteria, depth: number): string {
    const numberOf = (one: Criteria): number => this.simplify(one, depth + 1).number;
    switch (criteria.kind) {
      case 'and':
      case 'or':
        return `${criteria.kind} ${criteria.of
          .map(numberOf)
          .sort((a, b) => a - b)
          .join()}`;
      case 'not':
        return `not ${numberOf(criteria.of)}`;
      case 'chain':
        return `chain ${criteria.reach ?? ''} ${criteria.type} ${criteria.parameter} ${numberOf(criteria.of)}`;
      case 'has':
        return `has ${criteria.type} ${criteria.parameter} ${numberOf(criteria.of)}`;
      default:
        return JSON.stringify(criteria);
    }
  }
}

function tooDeep(): FhirError {
  return new FhirError(
    'too-costly',
    `Criteria may be nested ${MAX_DEPTH} levels deep, these are deeper: simplify them`,
    { details: { max: MAX_DEPTH } },
  );
}
