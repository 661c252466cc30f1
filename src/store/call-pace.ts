import { Pace } from '../platform/pace.js';
import { assertNotAborted } from './guards.js';
import type { CallOptions } from './call-options.js';

/** The pace of a loop in the work of a call, which ends with the call. */
export class CallPace extends Pace {
  readonly #options: CallOptions | undefined;

  constructor(options: CallOptions | undefined) {
    super();
    this.#options = options;
  }

  /** @throws FhirError `aborted` - the signal of the call has fired */
  override async next(): Promise<void> {
    await super.next();
    assertNotAborted(this.#options);
  }
}
