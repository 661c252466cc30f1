import { LRUCache } from 'lru-cache';
import type { JsonObject } from '../fhir/resource.js';
import type { Concept } from '../search/criteria/concept-tests.js';
import type { TerminologyContext } from '../store/terminology.js';
import type { DefinitionType, FindDefinition } from './find-definition.js';
import { getOrCreate } from '../platform/maps.js';

/** Most concepts kept, of all value sets together. */
const MAX_KEPT = 200_000;

/** A definition that an expansion looked for, and the version that it found. */
interface Use {
  readonly type: DefinitionType;
  readonly canonical: string;
  readonly found: JsonObject | undefined;
}

interface Kept {
  readonly concepts: readonly Concept[];
  readonly uses: readonly Use[];
}

/**
 * Caches expansions under the versions of their definitions. Each search finds these definitions again, all at once and
 * with the rights of its caller; the expansion serves if it finds the same versions.
 */
export class KeptExpansions {
  readonly #kept = new LRUCache<string, Kept>({
    maxSize: MAX_KEPT,
    sizeCalculation: ({ concepts, uses }) => concepts.length + uses.length + 1,
  });
  readonly #numbers = new WeakMap<JsonObject, number>();
  #count = 0;

  constructor(private readonly find: FindDefinition) {}

  /**
   * The concepts of a value set.
   *
   * @param expand makes them, with a function that finds definitions and remembers them
   */
  async expand(
    valueSet: JsonObject,
    context: TerminologyContext,
    expand: (find: FindDefinition) => Promise<readonly Concept[]>,
  ): Promise<readonly Concept[]> {
    // A value set of the host is one for all projects, but may refer to definitions of each.
    const key = `${this.#numberOf(valueSet)} ${context.project}${context.forPolicy === true ? ' policy' : ''}`;
    const known = this.#kept.get(key);
    if (known !== undefined && (await this.#isCurrent(known, context))) return known.concepts;
    const uses = new Map<string, Use>();
    const concepts = await expand(async (type, canonical, asked) => {
      const found = await this.find(type, canonical, asked);
      uses.set(`${type} ${canonical}`, { type, canonical, found });
      return found;
    });
    this.#kept.set(key, { concepts, uses: [...uses.values()] });
    return concepts;
  }

  /** Stores return the same object for a version that they have in memory; a masked resource is another object. */
  async #isCurrent({ uses }: Kept, context: TerminologyContext): Promise<boolean> {
    const found = await Promise.all(uses.map(({ type, canonical }) => this.find(type, canonical, context)));
    return uses.every((use, index) => use.found === found[index]);
  }

  #numberOf(valueSet: JsonObject): number {
    return getOrCreate(this.#numbers, valueSet, () => ++this.#count);
  }
}
