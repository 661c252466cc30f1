import type { FhirModel } from '../../../fhir/model/fhir-model.js';
import type { TypeParameter } from '../../../search/criteria/parameters-of.js';
import { indexChanging, indexTakenOver } from '../../../store/index-state.js';
import { ATTEMPTS, Overtaken, withRetries } from '../../../store/with-retries.js';
import { assertSearchable, type IndexState, isComplete, pendingIn, readIndexState } from '../../sql/index-state.js';
import type { Connections } from '../database/connections.js';
import { isRolledBack } from '../database/errors.js';
import { onIndexOf } from '../rows/index-port.js';
import type { Reader, Runner } from '../database/run.js';

/**
 * Tracks which parameters can be searched: their index rows are complete and made with the definitions of this process.
 *
 * Other processes may change that at any time. So every search statement fails if the epoch has changed, and every
 * write statement if the generation has changed: neither check costs a round trip.
 */
export class IndexStatus {
  #known: IndexState | undefined;

  constructor(
    private readonly writer: Connections,
    private readonly model: FhirModel,
  ) {}

  /** The last loaded state. Only after {@link load}. */
  get known(): IndexState {
    return this.#known!;
  }

  /** Reads the state of the index. */
  async load(connection: Runner = this.writer): Promise<IndexState> {
    return (this.#known = await onIndexOf(connection, readIndexState(this.model)));
  }

  /** Reloads the state if another process had taken the database over; this process may have taken it back since. */
  async refresh(): Promise<void> {
    if (!this.known.isOurs) await this.load();
  }

  /** @throws FhirError `unavailable` - the rows of the database are of other definitions, and this process would write other rows */
  assertOurs(): void {
    if (!this.known.isOurs) throw indexTakenOver();
  }

  /**
   * Runs a search during which its parameters stay searchable.
   *
   * Replicas may lag behind: parameters that became searchable a moment ago are searched on the primary.
   *
   * @param readers where to search: `reader` is a replica if there are any, `writer` the primary
   * @throws FhirError `unavailable` - a parameter is not searchable
   */
  async whileSearchable<Result>(
    project: string,
    parameters: () => readonly TypeParameter[],
    { reader, writer }: { readonly reader: Reader; readonly writer: Reader },
    search: (index: Reader & Pick<IndexState, 'epoch'>) => Promise<Result>,
  ): Promise<Result> {
    let chosen = reader;
    await this.refresh();
    return withRetries({ attempts: ATTEMPTS.search }, async () => {
      const state = this.known;
      if (await this.assertSearchable(project, parameters, writer)) chosen = writer;
      try {
        return await search({ epoch: state.epoch, ...chosen });
      } catch (error) {
        if (!isRolledBack(error)) throw error;
        await this.load();
        if (this.known.epoch === state.epoch) chosen = writer;
        return new Overtaken(indexChanging());
      }
    });
  }

  /**
   * Asserts that a search may run in the known epoch.
   *
   * @returns true if only the remaining work showed that the parameters are searchable
   * @throws FhirError `unavailable` - a parameter is not searchable
   */
  async assertSearchable(
    project: string,
    parameters: () => readonly TypeParameter[],
    runner: Runner,
  ): Promise<boolean> {
    return !isComplete(this.known) && onIndexOf(runner, assertSearchable(this.known, project, parameters()));
  }

  /** The parameters that are not searchable in a project, to the knowledge of this process. */
  pendingIn(project: string): Promise<readonly TypeParameter[]> {
    return onIndexOf(this.writer, pendingIn(this.known, project, this.model));
  }
}
