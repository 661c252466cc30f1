import type { AnyResource } from '../../../src/index.js';
import type { PostgresStore } from '../../../src/postgres.js';
import { below, keyOf, oneOf } from '../../support/kit.js';
import { skewedResources } from '../../../src/testing/suites/random-searches.js';
import { write } from '../queries.js';

/** The contents of a project, and random changes of them. */
export class World {
  readonly current = new Map<string, AnyResource>();
  readonly #store: PostgresStore;
  readonly #random: () => number;

  constructor(store: PostgresStore, random: () => number) {
    this.#store = store;
    this.#random = random;
  }

  get all(): readonly AnyResource[] {
    return [...this.current.values()];
  }

  async write(resources: readonly AnyResource[]): Promise<void> {
    for (const one of await write(this.#store, resources)) this.current.set(`${one.resourceType}/${one.id}`, one);
  }

  /** Deletes some resources, replaces some and adds some, a few of them far from the values of all others. */
  async change(count: number): Promise<void> {
    const gone = new Set(
      Array.from({ length: Math.ceil(count / 4) }, () => oneOf([...this.current.keys()], this.#random)),
    );
    await this.#store.commit(
      [...gone].map((name) => {
        const { resourceType, id } = this.current.get(name)!;
        return { kind: 'delete', key: keyOf(resourceType, id!) };
      }),
    );
    for (const name of gone) this.current.delete(name);
    const like = skewedResources(2 * count, this.#random);
    const observations = this.all.filter(({ resourceType }) => resourceType === 'Observation');
    const replaced = like.slice(0, count).map((one) => ({ ...one, id: oneOf(observations, this.#random).id }));
    const later = like.slice(count).map((one, index) => ({
      ...one,
      id: `${oneOf(['a', 'o0050', 'z'], this.#random)}${this.current.size}-${index}`,
      ...(below(3, this.#random) === 0 ? { effectiveDateTime: `20${30 + below(9, this.#random)}-01-01` } : {}),
      ...(below(4, this.#random) === 0
        ? { code: { coding: [{ code: oneOf(['a0', 'c00', 'z'], this.#random) }] } }
        : {}),
      ...(below(3, this.#random) === 0
        ? { subject: { reference: `Patient/${oneOf(['a', 'mo', 'zz'], this.#random)}` } }
        : {}),
    }));
    const unique = [...new Map([...replaced, ...later].map((one) => [one.id, one])).values()];
    await this.write(unique);
  }
}
