import type { FhirModel } from '../../../fhir/model/fhir-model.js';
import type { TypeParameter } from '../../../search/criteria/parameters-of.js';
import { indexFingerprint, parameterFingerprints } from '../../../search/index/parameter-fingerprints.js';
import { indexChanging, indexForeign, indexIncomplete, indexTakenOver } from '../../../store/index-state.js';
import { ATTEMPTS, Overtaken, withRetries } from '../../../store/with-retries.js';
import { includesCode, readCodes } from '../../sql/index-changes.js';
import {
  type IndexState,
  indexState,
  isComplete,
  isForeign,
  isOfThisVersion,
  mayBePending,
  searchableParameters,
} from '../../sql/index-state.js';
import { sql } from '../../sql/sql.js';
import { arrayText } from '../rows/array.js';
import type { Connections } from '../database/connections.js';
import { isRolledBack } from '../database/errors.js';
import { projectKey } from '../rows/keys.js';
import { readMeta, type Runner } from '../rows/meta.js';
import type { Reader } from '../database/run.js';
import type { Validity } from '../search/search.js';

/** The index state with the generation that this process writes with. */
interface PostgresIndexState extends IndexState {
  /** The value in `fhirgraph_writer` until another process takes the database over. */
  readonly generation: number;
}

/**
 * Tracks which parameters can be searched: their index rows are complete and made with the definitions of this process.
 *
 * Other processes may change that at any time. So every search statement fails if the epoch has changed, and every
 * write statement if the generation has changed: neither check costs a round trip.
 */
export class IndexStatus {
  readonly #writer: Connections;
  readonly #model: FhirModel;
  #known: PostgresIndexState | undefined;

  constructor(writer: Connections, model: FhirModel) {
    this.#writer = writer;
    this.#model = model;
  }

  /** The last loaded state. Only after {@link load}. */
  get known(): PostgresIndexState {
    return this.#known!;
  }

  /** Reads the state of the index. */
  async load(connection: Runner = this.#writer): Promise<PostgresIndexState> {
    const meta = await readMeta(connection, [
      ...['index_epoch', 'index_version', 'index_definitions', 'index_pending', 'index_generation'],
    ]);
    const version = meta.get('index_version');
    const definitions = indexFingerprint(this.#model);
    const isSame = isOfThisVersion(version) && meta.get('index_definitions') === definitions;
    const parameters = isSame ? undefined : (await readMeta(connection, ['index_parameters'])).get('index_parameters');
    const state = indexState(
      {
        epoch: meta.get('index_epoch') ?? '',
        version,
        definitions: meta.get('index_definitions') ?? '',
        pending: meta.get('index_pending') ?? '{}',
        parameters: () => parameters,
      },
      { definitions, parameters: () => parameterFingerprints(this.#model) },
    );
    return (this.#known = { ...state, generation: Number(meta.get('index_generation') ?? 0) });
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
    search: (index: Reader & Validity) => Promise<Result>,
  ): Promise<Result> {
    let chosen = reader;
    await this.refresh();
    return withRetries({ attempts: ATTEMPTS.search }, async () => {
      const state = this.known;
      if (!isComplete(state) && (await this.#assertSearchable(state, project, parameters(), writer))) chosen = writer;
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
   * Asserts that a transaction may search, in the known epoch.
   *
   * @throws FhirError `unavailable` - a parameter is not searchable
   */
  async assertSearchable(project: string, parameters: readonly TypeParameter[], transaction: Runner): Promise<void> {
    if (!isComplete(this.known)) await this.#assertSearchable(this.known, project, parameters, transaction);
  }

  /** The parameters that are not searchable in a project, to the knowledge of this process. */
  async pendingIn(project: string): Promise<readonly TypeParameter[]> {
    const state = this.known;
    if (isComplete(state)) return [];
    const work = await this.#workIn(project, Object.keys(state.pending));
    return searchableParameters(this.#model, state).filter(
      (one) => isForeign(state, one) || includesCode(work.get(one.type)?.codes ?? [], one.parameter),
    );
  }

  /** @returns true if only the remaining work showed that the parameters are searchable */
  async #assertSearchable(
    state: IndexState,
    project: string,
    parameters: readonly TypeParameter[],
    runner: Runner = this.#writer,
  ): Promise<boolean> {
    const foreign = parameters.find((one) => isForeign(state, one));
    if (foreign !== undefined) throw indexForeign(foreign);
    const doubtful = parameters.filter((one) => mayBePending(state, one));
    if (doubtful.length === 0) return false;
    const types = doubtful.map(({ type }) => type);
    const work = await this.#workIn(project, types, runner);
    for (const one of doubtful) {
      const found = work.get(one.type);
      if (found !== undefined && includesCode(found.codes, one.parameter)) throw indexIncomplete(one, found);
    }
    return true;
  }

  async #workIn(
    project: string,
    types: readonly string[],
    runner: Runner = this.#writer,
  ): Promise<ReadonlyMap<string, Work>> {
    const rows = await runner.run(sql`SELECT type, parameters, done, coalesce(total, 0) FROM fhirgraph_index_work
      WHERE project = ${projectKey(project)} AND type = ANY (${arrayText(types)})`);
    return new Map(
      rows.map(([type, codes, done, total]) => [
        type as string,
        { codes: readCodes(codes as string), done: Number(done), total: Number(total) },
      ]),
    );
  }
}

interface Work {
  readonly codes: readonly string[];
  readonly done: number;
  readonly total: number;
}
