import { setTimeout as delay } from 'node:timers/promises';
import { FhirError } from '../../fhir/error.js';
import { LongPace } from '../../platform/pace.js';
import { type Ask, runAwaiting } from '../ask.js';
import { FORMAT, type SegmentPort } from '../segments/port.js';
import { type Progress, SEGMENT_TUNING, type SegmentUpkeep } from '../segments/upkeep.js';
import type { StepResult } from '../sql/background-work.js';
import type { DueType, RefreshPort } from '../sql/segment-refresh.js';
import { sql } from '../sql/sql.js';
import type { Connections } from './database/connections.js';
import { isRetryable, rollbackUnless, storeError } from './database/errors.js';
import type { Run } from './database/run.js';
import { inTransaction, type Transaction } from './database/transaction.js';
import type { IndexStatus } from './schema/index-status.js';
import { GENERATION } from './rows/index-port.js';
import { projectKey } from './rows/keys.js';
import { removeSegments } from './rows/segment-tables.js';
import type { PortConnection } from './segments/segment-port.js';
import type { PostgresSegments } from './segments/segments.js';

/**
 * Changes the segments of a database.
 *
 * One process works on a type at a time, as long as its mark in `busy` lasts. Only the comparison of lists keeps segments right.
 *
 * **Which writes a list includes.** A commit notes the resources that it writes in `fhirgraph_segment_written` if its snapshot
 * has a list of their type. Its ROW EXCLUSIVE lock on that table comes before the snapshot and lasts until the commit ends. An
 * empty list is committed first. Each later step on it waits for the end of all transactions that hold such a lock. So a commit
 * either
 *
 * - has ended before the first resource is read, so that the segments include it; or
 * - took its lock after the list was there, so that its snapshot has the list, and it notes its writes.
 *
 * From then on each list replaces another one, so there is no moment without a list. A new list covers only stamps that were
 * read before the resources. A write with such a stamp was committed, so the resources include it; any other write has another
 * stamp, which stays.
 */
export class PostgresRefreshPort implements RefreshPort {
  readonly storeError = storeError;

  constructor(
    private readonly connections: Connections,
    private readonly status: IndexStatus,
    private readonly segments: PostgresSegments,
  ) {}

  get upkeep(): SegmentUpkeep {
    return this.segments.upkeep;
  }

  async progressOf(
    { project, type, least }: DueType,
    mostWritten: number,
    signal: AbortSignal,
  ): Promise<Progress | 'later' | 'done'> {
    if (!this.status.known.isOurs) return 'done';
    const of = sql`project = ${projectKey(project)} AND type = ${type}`;
    const [row] = await this.connections.run(
      sql`SELECT l.id, l.complete AND position(${`"format":${FORMAT},`} in left(l.list, 200)) > 0, l.busy > now(),
        (SELECT count(*) FROM (SELECT 1 FROM fhirgraph_segment_written WHERE ${of} LIMIT ${mostWritten}) w),
        (SELECT count(*) FROM (SELECT 1 FROM resource WHERE ${of} AND content IS NOT NULL LIMIT ${least}) r)
      FROM (SELECT 1) one LEFT JOIN fhirgraph_segment_list l ON ${of}`,
      signal,
    );
    const [id, isComplete, isBusy, written, resources] = row as ProgressRow;
    if (isBusy === true) return 'later';
    return {
      list: id ?? undefined,
      isComplete: isComplete === true,
      written: Number(written),
      resources: Number(resources),
    };
  }

  async run(
    { project, type }: DueType,
    { list, isComplete }: Progress,
    steps: Ask<SegmentPort, StepResult>,
    check: () => void,
    signal: AbortSignal,
  ): Promise<StepResult> {
    const shard = projectKey(project);
    const run: Run = (statement) => this.connections.run(statement, signal);
    const transact = this.#transactUntil(signal);
    const port = this.segments.port(shard, { run, transact, mostWritten: SEGMENT_TUNING.size });
    if (list === undefined) return runAwaiting(steps, port, new LongPace(), check);
    const of = sql`project = ${shard} AND type = ${type}`;
    const marked = await run(sql`UPDATE fhirgraph_segment_list SET busy = now() + ${`${BUSY_MS} ms`}::interval
      WHERE ${of} AND id = ${list} AND (busy IS NULL OR busy < now()) RETURNING busy::text`);
    const [mark] = marked;
    if (mark === undefined) return 'later';
    try {
      if (!isComplete) await untilWritersEnd(run, signal);
      return await runAwaiting(steps, port, new LongPace(), check);
    } finally {
      // A change has removed the mark. Later ones are of other processes.
      await this.connections.run(sql`UPDATE fhirgraph_segment_list SET busy = NULL
        WHERE ${of} AND busy = ${mark[0] as string}::text::timestamp with time zone`);
    }
  }

  async drop({ project, type }: DueType, list: string, signal: AbortSignal): Promise<void> {
    const shard = projectKey(project);
    await this.#transactUntil(signal)(async (transaction) => {
      const [same] = await transaction.run(sql`SELECT 1 FROM fhirgraph_segment_list
        WHERE project = ${shard} AND type = ${type} AND id = ${list} FOR UPDATE`);
      if (same !== undefined) await removeSegments(transaction, shard, type);
    });
  }

  /** Another process has taken the database over, or made the list. */
  async meaningOf(error: unknown): Promise<StepResult | undefined> {
    if (!isRetryable(error)) return undefined;
    await this.status.load();
    return 'more';
  }

  #transactUntil(signal: AbortSignal): PortConnection['transact'] {
    return (write) =>
      inTransaction(
        this.connections,
        { serializable: false, attempts: 1, signal },
        async (transaction: Transaction) => {
          const isOurs = rollbackUnless(sql`${GENERATION} = ${this.status.known.generation}`);
          await transaction.run(sql`SELECT ${isOurs}`);
          return write(transaction);
        },
      );
  }
}

/** Waits for the commits that may not have seen an empty list. Readers have weaker locks. */
async function untilWritersEnd(run: Run, signal: AbortSignal): Promise<void> {
  const holders = async (): Promise<ReadonlySet<string>> => {
    const rows = await run(sql`SELECT DISTINCT l.virtualtransaction FROM pg_locks l
      WHERE l.relation = 'fhirgraph_segment_written'::regclass AND l.mode = 'RowExclusiveLock' AND l.database = (SELECT oid FROM pg_database WHERE datname = current_database())`);
    return new Set(rows.map(([holder]) => holder as string));
  };
  const first = new Set(await holders());
  for (const end = performance.now() + MAX_WAIT_MS; first.size > 0;) {
    const now = await holders();
    for (const one of [...first]) if (!now.has(one)) first.delete(one);
    if (first.size === 0) return;
    if (performance.now() > end) throw new FhirError('unavailable', 'Commits did not end');
    await delay(POLL_MS, undefined, { signal, ref: false });
  }
}

type ProgressRow = readonly [string | null, boolean | null, boolean | null, unknown, unknown];

/** How long a process may work on a list alone. */
const BUSY_MS = 60_000;
/** The longest wait for commits that began before a list. */
const MAX_WAIT_MS = 60_000;
const POLL_MS = 50;
