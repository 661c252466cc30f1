import type { ResourceKey } from '../../../store/resource-key.js';
import type { CallTexts } from '../../../store/text-budget.js';
import type { SizedResult } from './reads.js';
import { CallGroups } from '../database/call-groups.js';

type Keys = readonly ResourceKey[];

/** Runs a read in statements of its own. */
type Read = (keys: Keys, signal: AbortSignal | undefined, texts?: CallTexts) => Promise<readonly SizedResult[]>;

/** Runs small reads that arrive at the same time as one read. */
export class SmallReads {
  readonly #groups: CallGroups<Keys, readonly SizedResult[]>;

  constructor(private readonly read: Read) {
    this.#groups = new CallGroups({
      alone: read,
      together: (lists) => this.#together(lists),
      fitting: () => () => true,
      ended: (error) => error,
    });
  }

  /** @param texts bounds what a large read brings; small ones are counted by their results */
  run(keys: Keys, signal: AbortSignal | undefined, texts: CallTexts): Promise<readonly SizedResult[]> {
    return keys.length <= MAX_KEYS ? this.#groups.run(keys, signal) : this.read(keys, signal, texts);
  }

  async #together(lists: readonly Keys[]): Promise<readonly (readonly SizedResult[])[]> {
    const results = await this.read(lists.flat(), undefined);
    let start = 0;
    return lists.map((keys) => results.slice(start, (start += keys.length)));
  }
}

/** Other reads should not wait for the resources of a large read. */
const MAX_KEYS = 4;
