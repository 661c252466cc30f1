import type { FhirModel } from '../../../fhir/model/fhir-model.js';
import { Pace } from '../../../platform/pace.js';
import type { ResourceKey } from '../../../store/resource-key.js';
import type { SearchQuery } from '../../../store/search-query.js';
import { runAwaiting } from '../../ask.js';
import type { SegmentPage } from '../../segments/segment-search.js';
import type { PreparedErasure } from '../../segments/upkeep.js';
import type { SegmentNeeds } from '../../sql/segment-refresh.js';
import { StoreSegments, unlessDamaged } from '../../sql/store-segments.js';
import { type Sql, sql } from '../../sql/sql.js';
import type { Connections } from '../database/connections.js';
import type { Run } from '../database/run.js';
import type { Transaction } from '../database/transaction.js';
import { plainKey, projectKey } from '../rows/keys.js';
import { removeSegments } from '../rows/segment-tables.js';
import { type KnownStates, type PortConnection, PostgresSegmentPort, readOnly } from './segment-port.js';

/** What segments are asked for. */
export interface Wanted {
  readonly page: boolean;
  readonly total: boolean;
}

/** Where a search by segments runs. */
interface SegmentSearch {
  /** Runs statements in one snapshot. */
  readonly run: Run;
  /** Ends a statement, unless it holds. */
  readonly holds: Sql;
  readonly work: SegmentNeeds;
}

/** The segments of a database, as a process sees them. */
export class PostgresSegments extends StoreSegments<KnownStates> {
  constructor(model: FhirModel) {
    super(model, () => new Map());
  }

  port(shard: string, connection: PortConnection): PostgresSegmentPort {
    return new PostgresSegmentPort(this.model, shard, connection);
  }

  /** Whether segments have answered a search of the type. */
  haveAnswered({ project, type }: SearchQuery): boolean {
    return this.of(project).kept.has(type);
  }

  /**
   * Answers a search.
   *
   * @returns undefined if segments do not answer it
   */
  async search(
    query: SearchQuery,
    wanted: Wanted,
    { run, holds, work }: SegmentSearch,
  ): Promise<SegmentPage | undefined> {
    const { project } = query;
    const known = this.of(project).kept;
    const port = new PostgresSegmentPort(this.model, projectKey(project), readOnly(run), { project, holds, known });
    const asked = { ...this.askedOf(query), total: wanted.total, ...(!wanted.page && { limit: 0 }) };
    // Without all lists, another way is shorter than testing each resource that a chain leaves open.
    return runAwaiting(this.answer(project, asked, work, true), port, new Pace());
  }

  /** Makes the segments that {@link erase} puts in place, before its transaction. */
  async prepareErase(run: Run, keys: readonly ResourceKey[]): Promise<PreparedErasures> {
    const prepared = new Map<string, PreparedErasure>();
    for (const { project, type, ids } of byType(keys)) {
      const port = this.port(projectKey(project), readOnly(run));
      const made = await runAwaiting(unlessDamaged(this.upkeep.prepareErase(type, ids)), port, new Pace());
      if (made !== undefined) prepared.set(`${type} ${project}`, made);
    }
    return prepared;
  }

  /**
   * Replaces the segments that hold erased resources, in the transaction that erases them. Its lock on the list keeps other
   * processes from storing what they have read before.
   */
  async erase(transaction: Transaction, keys: readonly ResourceKey[], prepared: PreparedErasures): Promise<void> {
    const run: Run = (statement) => transaction.run(statement);
    for (const { project, type, ids } of byType(keys)) {
      const shard = projectKey(project);
      const [list] = await run(
        sql`SELECT 1 FROM fhirgraph_segment_list WHERE project = ${shard} AND type = ${type} FOR UPDATE`,
      );
      if (list === undefined) continue;
      const port = this.port(shard, { run, transact: (write) => write(transaction), mostWritten: 0 });
      const steps = unlessDamaged(this.upkeep.erase(type, ids, prepared.get(`${type} ${project}`)));
      if ((await runAwaiting(steps, port, new Pace())) !== true) {
        await removeSegments(transaction, shard, type);
      }
    }
    this.forget();
  }

  /** Builds all segments again and compares them. @returns a line for each type of which some segment is wrong */
  async verify(connections: Connections, signal: AbortSignal | undefined): Promise<readonly string[]> {
    const lists = await connections.run(
      sql`SELECT project, type FROM fhirgraph_segment_list ORDER BY project, type`,
      signal,
    );
    const problems: string[] = [];
    for (const [uuid, type] of lists as unknown as readonly (readonly [string, string])[]) {
      const differing = await connections.snapshot(
        (run) => {
          const port = this.port(plainKey(uuid), readOnly(run));
          return runAwaiting(unlessDamaged(this.upkeep.verify(type)), port, new Pace());
        },
        { signal },
      );
      if (differing?.length !== 0) problems.push(`segments: those of ${type} are not what it says`);
    }
    return problems;
  }
}

/** By type and project. */
type PreparedErasures = ReadonlyMap<string, PreparedErasure>;

/** By project and type: all commits use the same order, so that they never deadlock. */
function byType(
  keys: readonly ResourceKey[],
): readonly { readonly project: string; readonly type: string; readonly ids: readonly string[] }[] {
  const groups = [...Map.groupBy(keys, ({ project, type }) => JSON.stringify([project, type]))];
  return groups
    .sort(([one], [other]) => (one < other ? -1 : 1))
    .map(([, all]) => ({ ...all[0]!, ids: all.map(({ id }) => id) }));
}
