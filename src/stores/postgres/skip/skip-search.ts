import type { Criteria, MatchCriteria } from '../../../search/criteria/criteria.js';
import type { Condition } from '../../sql/pages/condition.js';
import { rangeOf, type ValueRange } from '../../sql/pages/value-range.js';
import { parameterKey, type RowScope } from '../../sql/rows.js';
import { resourceKey } from '../keys.js';
import { HOLDING, INSTANTS, RANGES, type Ranges, WHOLE } from './skip-row.js';

/** Which parts of an order: a byte each, 1 or 0. */
export type PartSet = Uint8Array;

/** Reads a row of the skip index of an order; undefined if the index lacks it. */
export type ReadSkip = (subject: number, value: string) => string | undefined;

/** The rows that say where matches of conditions can be. */
export function rowsFor(
  conditions: readonly Condition[],
  scope: RowScope,
): readonly (readonly [subject: number, value: string])[] {
  const asked = new Map<string, readonly [number, string]>();
  const note: ReadSkip = (subject, value) => {
    asked.set(`${subject} ${value}`, [subject, value]);
    return undefined;
  };
  partsOf(conditions, scope, 1, note);
  return [...asked.values()];
}

/** The parts that can have matches of all conditions. Undefined: any of them. */
export function partsOf(
  conditions: readonly Condition[],
  scope: RowScope,
  count: number,
  read: ReadSkip,
): PartSet | undefined {
  return new SkipSearch(scope, count, read).parts(conditions);
}

class SkipSearch {
  readonly #scope: RowScope;
  readonly #count: number;
  readonly #read: ReadSkip;

  constructor(scope: RowScope, count: number, read: ReadSkip) {
    this.#scope = scope;
    this.#count = count;
    this.#read = read;
  }

  parts(conditions: readonly Condition[]): PartSet | undefined {
    const sets = conditions.flatMap(({ criteria, shared }) => [
      ...present(criteria && this.#matching(criteria)),
      ...present(shared && this.#holding(shared.parameter, String(shared.value))?.some),
    ]);
    return sets.length === 0 ? undefined : sets.reduce(intersection);
  }

  /** The parts with a resource that may match. */
  #matching(criteria: Criteria): PartSet | undefined {
    switch (criteria.kind) {
      case 'none':
        return new Uint8Array(this.#count);
      case 'and':
        return any(
          criteria.of.map((one) => this.#matching(one)),
          intersection,
        );
      case 'or':
        return every(
          criteria.of.map((one) => this.#matching(one)),
          union,
        );
      case 'not':
        return this.#failing(criteria.of);
      case 'match':
        return this.#matchingValue(criteria);
      case 'missing':
        return this.#presence(criteria.parameter)?.[criteria.missing ? 'lacking' : 'some'];
      case 'last-updated':
        return this.#reaching(INSTANTS, rangeOf(criteria, '_lastUpdated'));
      default:
        return undefined;
    }
  }

  /** The parts with a resource that may not match. */
  #failing(criteria: Criteria): PartSet | undefined {
    switch (criteria.kind) {
      case 'and':
        return every(
          criteria.of.map((one) => this.#failing(one)),
          union,
        );
      case 'or':
        return any(
          criteria.of.map((one) => this.#failing(one)),
          intersection,
        );
      case 'not':
        return this.#matching(criteria.of);
      case 'missing':
        return this.#presence(criteria.parameter)?.[criteria.missing ? 'some' : 'lacking'];
      case 'match': {
        const { test } = criteria;
        // A code with a system may be lacking where the code alone is not.
        if (test.kind === 'token' && (test.system !== undefined || test.noSystem === true)) return undefined;
        const holdings = this.#holdings(criteria);
        return (
          holdings &&
          any(
            holdings.map((one) => one?.lacking),
            intersection,
          )
        );
      }
      default:
        return undefined;
    }
  }

  #matchingValue(criteria: MatchCriteria): PartSet | undefined {
    const { parameter, test } = criteria;
    if (test.kind === 'text' || parameter.includes('$')) return undefined;
    const holdings = this.#holdings(criteria);
    const exact =
      holdings &&
      every(
        holdings.map((one) => one?.some),
        union,
      );
    if (exact !== undefined) return exact;
    const key = this.#keyOf(parameter);
    const isRange = test.kind === 'date' || test.kind === 'number' || test.kind === 'quantity';
    const reaching = isRange && key !== undefined ? this.#reaching(key, rangeOf(criteria, parameter)) : undefined;
    return reaching ?? this.#presence(parameter)?.some;
  }

  /** What is known of the codes or the target that a test asks for. */
  #holdings({ parameter, test }: MatchCriteria): readonly (Holding | undefined)[] | undefined {
    const key = parameter.includes('$') ? undefined : this.#keyOf(parameter);
    if (key === undefined) return undefined;
    if (test.kind === 'token') {
      const { code, folded, negated, below } = test;
      if (code === undefined || negated === true || below === true) return undefined;
      const codes = folded === undefined || folded === code ? [code] : [code, folded];
      return codes.map((one) => this.#holding(key, one));
    }
    if (test.kind !== 'reference' || this.#scope.baseUrl !== undefined) return undefined;
    const { id, types, url, negated } = test;
    if (id === undefined || types?.length !== 1 || url !== undefined || negated === true) return undefined;
    return [this.#holding(key, targetText(resourceKey(this.#scope.project, types[0]!, id)))];
  }

  /** What has no row had no value in any resource. */
  #presence(parameter: string): Holding | undefined {
    const key = parameter.includes('$') ? undefined : this.#keyOf(parameter);
    if (key === undefined) return undefined;
    return (
      this.#holding(key, WHOLE) ?? { some: new Uint8Array(this.#count), lacking: new Uint8Array(this.#count).fill(1) }
    );
  }

  #keyOf(parameter: string): number | undefined {
    return parameterKey(this.#scope, parameter) as number | undefined;
  }

  #holding(subject: number, value: string): Holding | undefined {
    const text = this.#read(subject, value);
    return text === undefined ? undefined : readHolding(text);
  }

  /** The parts with values in a range. */
  #reaching(subject: number, range: ValueRange | undefined): PartSet | undefined {
    const text = range && this.#read(subject, RANGES);
    if (range === undefined || text === undefined) return undefined;
    const ranges = JSON.parse(text) as Ranges;
    const { low, high, intervalsAfter } = range as { low?: number; high?: number; intervalsAfter?: number };
    return Uint8Array.from({ length: this.#count }, (_, part) => {
      const smallest = ranges.low[part]!;
      if (smallest === null || (high !== undefined && smallest > high)) return 0;
      if (low === undefined || ranges.last[part]! >= low) return 1;
      // Long intervals may match by their end.
      return intervalsAfter !== undefined && ranges.high[part]! >= intervalsAfter ? 1 : 0;
    });
  }
}

/** Which parts have a resource with something, and which have one without it. */
interface Holding {
  readonly some: PartSet;
  readonly lacking: PartSet;
}

function readHolding(text: string): Holding {
  const { length } = text;
  return {
    some: Uint8Array.from({ length }, (_, part) => (text[part] === HOLDING.none ? 0 : 1)),
    lacking: Uint8Array.from({ length }, (_, part) => (text[part] === HOLDING.all ? 0 : 1)),
  };
}

/** A uuid as the database writes it. */
function targetText(key: string): string {
  return key.replace(/^(.{8})(.{4})(.{4})(.{4})/, '$1-$2-$3-$4-');
}

function intersection(a: PartSet, b: PartSet): PartSet {
  return a.map((one, part) => one & b[part]!);
}

function union(a: PartSet, b: PartSet): PartSet {
  return a.map((one, part) => one | b[part]!);
}

function present(set: PartSet | undefined): readonly PartSet[] {
  return set === undefined ? [] : [set];
}

type Sets = readonly (PartSet | undefined)[];
type Join = (a: PartSet, b: PartSet) => PartSet;

/** Of what is known; undefined where nothing is. */
function any(sets: Sets, join: Join): PartSet | undefined {
  const known = sets.flatMap(present);
  return known.length === 0 ? undefined : known.reduce(join);
}

/** Undefined where one is not known. */
function every(sets: Sets, join: Join): PartSet | undefined {
  const known = sets.flatMap(present);
  return known.length < sets.length || known.length === 0 ? undefined : known.reduce(join);
}
