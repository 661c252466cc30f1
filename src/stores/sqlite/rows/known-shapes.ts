import { type MarkedEntries, SEVERAL } from '../../sql/extremes.js';

/**
 * Remembers the numbers of shapes by the parameters of index entries, in the order in which extraction gives them.
 *
 * PERF: making the text of a shape takes 2 µs, walking here a fifth of it.
 */
export class KnownShapes {
  readonly #byCollection = new Map<number, Step>();
  #generation = 0;
  #size = 0;

  /**
   * @param generation of the dictionary of shapes; another one than before forgets everything
   * @param make makes the number where it is not known
   */
  find(generation: number, collection: number, { entries, marks }: MarkedEntries, make: () => number): number {
    if (generation !== this.#generation || this.#size > MAX_STEPS) this.#forget(generation);
    let step = this.#first(collection);
    let previous: string | undefined;
    for (let index = 0; index < entries.length; index++) {
      const { parameter, group } = entries[index]!;
      if (group !== 0 || parameter === previous) continue;
      step = this.#next((marks[index]! & SEVERAL) === 0 ? step.single : step.several, parameter);
      previous = parameter;
    }
    return (step.shape ??= make());
  }

  #first(collection: number): Step {
    let step = this.#byCollection.get(collection);
    if (step === undefined) this.#byCollection.set(collection, (step = newStep()));
    return step;
  }

  #next(steps: Map<string, Step>, parameter: string): Step {
    let step = steps.get(parameter);
    if (step === undefined) {
      this.#size += 1;
      steps.set(parameter, (step = newStep()));
    }
    return step;
  }

  #forget(generation: number): void {
    this.#byCollection.clear();
    this.#generation = generation;
    this.#size = 0;
  }
}

/** The entries of a resource up to one of them. */
interface Step {
  /** The number, if this is the last one. */
  shape: number | undefined;
  /** By the next parameter with one value. */
  readonly single: Map<string, Step>;
  /** The same with several values. */
  readonly several: Map<string, Step>;
}

function newStep(): Step {
  return { shape: undefined, single: new Map(), several: new Map() };
}

/** One takes about 300 bytes. */
const MAX_STEPS = 20_000;
