import { getOrCreate } from '../platform/collections.js';
import type { Criteria } from '../search/criteria/criteria.js';
import { textOfValue, textsOfTest } from '../search/evaluate/match.js';
import type { SearchSubject } from '../search/evaluate/search-subject.js';

/** A value that a resource must have: the text of an entry of a parameter. */
interface Probe {
  readonly parameter: string;
  readonly text: string;
}

/** Values of which a resource that fits has at least one. */
interface Probes {
  /** How few resources have one of them: 0 an id, 1 a reference, 2 a code, 3 other texts. */
  readonly rank: number;
  readonly of: readonly Probe[];
}

/** What is kept in the index. */
interface Indexed {
  readonly type: string;
  readonly criteria: Criteria;
}

/**
 * Finds the criteria that a resource may fit, by the most selective equality of each: its id, its subject, its code.
 *
 * A change costs one look-up for each value of the resource, however many criteria there are. Criteria without an
 * equality fit every resource of their type, so each change tests them all.
 */
export class SubscriptionIndex<Kept extends Indexed> {
  readonly #types = new Map<string, TypeIndex<Kept>>();

  add(one: Kept): void {
    this.#of(one.type).add(one);
  }

  delete(one: Kept): void {
    const index = this.#of(one.type);
    index.delete(one);
    if (index.size === 0) this.#types.delete(one.type);
  }

  /** The types of all criteria. */
  get types(): Iterable<string> {
    return this.#types.keys();
  }

  /** How many criteria every change of their type must test: see {@link isBroad}. */
  get broad(): number {
    return [...this.#types.values()].reduce((sum, { broad }) => sum + broad, 0);
  }

  /** Those that the resource may fit. */
  find({ type, id, entries }: SearchSubject, found: Set<Kept>): void {
    this.#types.get(type)?.find(id, entries, found);
  }

  #of(type: string): TypeIndex<Kept> {
    return getOrCreate(this.#types, type, () => new TypeIndex<Kept>());
  }
}

class TypeIndex<Kept extends Indexed> {
  readonly #byText = new Map<string, Map<string, Set<Kept>>>();
  readonly #others = new Set<Kept>();
  size = 0;

  add(one: Kept): void {
    this.size += 1;
    const probes = probesOf(one.criteria);
    if (probes === undefined) this.#others.add(one);
    for (const { parameter, text } of probes?.of ?? []) {
      const texts = getOrCreate(this.#byText, parameter, () => new Map<string, Set<Kept>>());
      getOrCreate(texts, text, () => new Set<Kept>()).add(one);
    }
  }

  delete(one: Kept): void {
    this.size -= 1;
    this.#others.delete(one);
    for (const { parameter, text } of probesOf(one.criteria)?.of ?? []) {
      const texts = this.#byText.get(parameter);
      const kept = texts?.get(text);
      kept?.delete(one);
      if (kept?.size === 0) texts!.delete(text);
      if (texts?.size === 0) this.#byText.delete(parameter);
    }
  }

  get broad(): number {
    return this.#others.size;
  }

  find(id: string, entries: SearchSubject['entries'], found: Set<Kept>): void {
    for (const one of this.#others) found.add(one);
    for (const [parameter, texts] of this.#byText) {
      if (parameter === ID) addAll(texts.get(id), found);
      for (const { value } of entries.get(parameter) ?? []) {
        const text = textOfValue(value);
        if (text !== undefined) addAll(texts.get(text), found);
      }
    }
  }
}

function addAll<Kept>(kept: ReadonlySet<Kept> | undefined, found: Set<Kept>): void {
  if (kept !== undefined) for (const one of kept) found.add(one);
}

/** Whether each change of its type tests the criteria. */
export function isBroad(criteria: Criteria): boolean {
  return probesOf(criteria) === undefined;
}

/** Values of which every match has one, the most selective; undefined: a match needs no certain value. */
function probesOf(criteria: Criteria): Probes | undefined {
  switch (criteria.kind) {
    case 'none':
      return { rank: 0, of: [] };
    case 'id':
      return { rank: 0, of: criteria.ids.map((text) => ({ parameter: ID, text })) };
    case 'match': {
      const { parameter, test } = criteria;
      const texts = textsOfTest(test);
      if (texts.length === 0) return undefined;
      const rank = test.kind === 'reference' ? 1 : parameter === 'code' || parameter === 'identifier' ? 2 : 3;
      return { rank, of: texts.map((text) => ({ parameter, text })) };
    }
    case 'and':
      return criteria.of
        .flatMap((one) => probesOf(one) ?? [])
        .reduce<Probes | undefined>((best, one) => (best === undefined || isBetter(one, best) ? one : best), undefined);
    case 'or': {
      const all = criteria.of.map(probesOf);
      if (all.includes(undefined)) return undefined;
      const of = all.flatMap((one) => one!.of);
      return of.length > MOST_PROBES ? undefined : { rank: Math.max(...all.map((one) => one!.rank)), of };
    }
    default:
      return undefined;
  }
}

function isBetter(one: Probes, other: Probes): boolean {
  return one.rank === other.rank ? one.of.length < other.of.length : one.rank < other.rank;
}

/** A parameter that has no entries. */
const ID = '_id';

/** A disjunction of more values is tested as a whole. */
const MOST_PROBES = 1_000;
