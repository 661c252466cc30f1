import { LOOP_TURN } from '../../platform/loop-turn.js';
import type { Pace } from '../../platform/pace.js';
import type { Clock } from './clock.js';

/** How long a request works before another one that waits continues, in milliseconds. */
const YIELD_AFTER_MS = 5;

/** A request that has worked for so long since it last waited does not wait behind those that have not, in milliseconds. */
const BEGUN_AFTER_MS = 0.5;

/**
 * Lets other work run if a request has kept the event loop for long. Over a synchronous store, no other work runs
 * otherwise, because its answers never wait.
 */
export class RequestPace implements Pick<Pace, 'isSpent' | 'next'> {
  #yielded: number;

  /** @param check throws if the request has ended while it waited */
  constructor(
    private readonly clock: Clock,
    private readonly check: () => void,
  ) {
    this.#yielded = clock.now();
  }

  get isSpent(): boolean {
    return this.clock.now() - this.#yielded >= YIELD_AFTER_MS || this.clock.isTurnSpent;
  }

  /** @throws as `Deadline.check` */
  async next(): Promise<void> {
    const hasBegun = this.clock.now() - this.#yielded >= BEGUN_AFTER_MS;
    await (hasBegun ? LOOP_TURN.nextOfBegun() : LOOP_TURN.next());
    this.#yielded = this.clock.now();
    this.check();
  }
}
