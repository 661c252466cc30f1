import { FhirError } from '../../fhir/error.js';
import { type CallOptions } from '../../store/call-options.js';
import { untilCallEnds } from '../../store/guards.js';
import type { CallRunner } from './call-runner.js';
import type { Connection } from './connection.js';

/** Creates the indexes by value for the first call that needs them. */
export class IndexesOnDemand {
  #creation: Promise<unknown> | undefined;

  constructor(
    private readonly connection: Connection,
    private readonly calls: CallRunner,
  ) {}

  /**
   * Settles as soon as the file has the indexes. All calls share one creation, which the deadline of one call does not
   * end.
   *
   * @returns undefined if the file is known to have the indexes
   */
  ready(options: CallOptions | undefined): Promise<void> | undefined {
    return this.connection.valueIndexes.areKnown ? undefined : this.#ready(options);
  }

  /** Creates the indexes for loaded resources before the store closes. If that fails, the next search creates them. */
  async finish(): Promise<void> {
    try {
      if (this.calls.run(undefined, () => this.#hasResources())) await this.#ready(undefined);
    } catch {
      // The file is locked or lost.
    }
  }

  async #ready(options: CallOptions | undefined): Promise<void> {
    if (this.calls.run(options, () => this.connection.valueIndexes.exist())) return;
    if (this.calls.isReadonly) throw notCreated();
    this.#creation ??= this.#create();
    await untilCallEnds(this.#creation, options);
  }

  #create(): Promise<unknown> {
    const creation = this.calls.call('create-indexes', []);
    // All waiting calls may end before the creation does.
    creation.catch(() => undefined).finally(() => (this.#creation = undefined));
    return creation;
  }

  #hasResources(): boolean {
    return this.connection.statements.read('SELECT 1 FROM version LIMIT 1').get() !== undefined;
  }
}

function notCreated(): FhirError {
  return new FhirError(
    'unavailable',
    'The file has no indexes for searches yet, and this store was opened with readonly: true. The store that loaded the file creates them with its first search, or when it closes',
  );
}
