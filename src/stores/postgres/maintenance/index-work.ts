import { LOOP_TURN, Pace } from '../../../platform/pace.js';
import type { FhirError } from '../../../fhir/error.js';
import type { FhirModel } from '../../../fhir/model/fhir-model.js';
import { indexEntries } from '../../../search/index/index-resource.js';
import { indexTakenOver } from '../../../store/index-state.js';
import { runAwaiting } from '../../ask.js';
import { type Codes, EVERY, isMadeAgain, isWhole, REMAKE } from '../../sql/index-changes.js';
import { TABLE_NAMES } from '../../sql/index-tables.js';
import { parseStored } from '../../sql/parse-stored.js';
import { addWork } from '../../sql/index-takeover.js';
import {
  type Batch,
  type BatchPort,
  type BatchResult,
  countWork,
  nextBatch,
  type ReindexPort,
  type TypeWork,
} from '../../sql/reindex.js';
import { Sql, sql } from '../../sql/sql.js';
import { arrayText } from '../rows/array.js';
import type { Connections } from '../database/connections.js';
import { boundedBatch } from '../rows/bounded-texts.js';
import { ALL_INDEX_TABLES, IndexRows } from '../rows/index-rows.js';
import type { IndexStatus } from '../schema/index-status.js';
import { GENERATION, indexPortOf, onIndexOf } from '../rows/index-port.js';
import { parameterKey, plainKey, projectKey } from '../rows/keys.js';
import { removeSegments } from '../rows/segment-tables.js';
import { inTransaction, type Transaction } from '../database/transaction.js';

/**
 * Re-indexes rows made with other definitions, in batches.
 *
 * A batch locks its work item and the resources it reads, and writes their rows and its position in one transaction. So
 * nothing is lost when a process ends, and several processes can work on different types and projects concurrently.
 */
export class IndexWork implements ReindexPort {
  constructor(
    private readonly connections: Connections,
    private readonly status: IndexStatus,
    private readonly model: FhirModel,
    private readonly attempts: number,
  ) {}

  countUpTo(limit: number): Promise<number> {
    return onIndexOf(this.connections, countWork(limit));
  }

  /** Queues all rows of one or all projects for re-indexing. They stay complete throughout. */
  async askAgain(project: string | undefined, signal: AbortSignal | undefined): Promise<void> {
    await this.#inTransaction(signal, async (transaction) => {
      await this.#assertOurs(transaction);
      await onIndexOf(transaction, addWork({ [EVERY]: [REMAKE] }, project));
    });
  }

  /**
   * Does the next batch.
   *
   * @param failed as of {@link nextBatch}
   * @throws FhirError `unavailable` - another process has taken the database over
   * @throws FhirError `corrupt` - the text of a resource is damaged
   */
  async step(failed: FhirError[], signal?: AbortSignal, project?: string): Promise<BatchResult> {
    return this.#inTransaction(signal, async (transaction) => {
      await this.#assertOurs(transaction);
      const port: BatchPort = {
        ...indexPortOf(transaction),
        removeSegments: (one) => removeSegments(transaction, one.project, one.type),
        indexNext: (work) => this.#indexNext(transaction, work),
      };
      return runAwaiting(nextBatch(project, failed), port, LOOP_TURN);
    });
  }

  async #indexNext(transaction: Transaction, { project, type, codes, cursor }: TypeWork): Promise<Batch> {
    const shard = plainKey(project);
    const { resources, isLast } = await readBatch(transaction, shard, type, cursor);
    const held = await transaction.run(
      sql`SELECT 1 FROM fhirgraph_inside WHERE project = ${shard} AND type = ${type} LIMIT 1`,
    );
    // The rows of contained resources depend on each other, and the keys of their parameters cannot be mapped back.
    const scope: Codes = held.length > 0 ? [EVERY] : codes;
    return {
      resources: await this.#replaceRows(transaction, shard, type, scope, resources),
      cursor: isLast ? undefined : resources.at(-1)!.id,
      project: nameOf(shard, resources),
    };
  }

  async #replaceRows(
    transaction: Transaction,
    shard: string,
    type: string,
    codes: Codes,
    resources: readonly BatchResource[],
  ): Promise<number> {
    if (resources.length === 0) return 0;
    const rows = new IndexRows(shard);
    let count = 0;
    const parameters = new Set<number>();
    const pace = new Pace();
    for (const { key, content } of resources) {
      if (pace.isSpent) await pace.next();
      if (content === null) continue;
      const all = indexEntries(this.model, parseStored(content).resource);
      const entries = all.filter(({ parameter }) => isMadeAgain(codes, parameter));
      count += 1;
      for (const { parameter } of entries) parameters.add(parameterKey(type, parameter));
      rows.add(key, type, entries);
    }
    const all = arrayText(resources.map(({ key }) => key));
    const ofCodes = isWhole(codes)
      ? sql`TRUE`
      : sql`parameter = ANY (${arrayText([...new Set([...parameters, ...formsOf(type, codes)])])})`;
    const parts = [
      ...ALL_INDEX_TABLES.map(
        (table) =>
          sql`DELETE FROM ${TABLE_NAMES[table]} WHERE project = ${shard} AND resource = ANY (${all}) AND ${ofCodes}`,
      ),
      ...rows.inserts(),
    ];
    const withParts = parts.map((part, index) => sql`${new Sql(`w${index}`, [])} AS (${part})`);
    const joined = withParts.reduce((before, part) => sql`${before}, ${part}`);
    await transaction.run(sql`WITH ${joined} SELECT 1`);
    return count;
  }

  async #assertOurs(transaction: Transaction): Promise<void> {
    const [row] = await transaction.run(sql`SELECT ${GENERATION}`);
    if (Number(row?.[0]) !== this.status.known.generation) await this.status.load(transaction);
    this.status.assertOurs();
    if (Number(row?.[0]) !== this.status.known.generation) throw indexTakenOver();
  }

  async #inTransaction<Result>(
    signal: AbortSignal | undefined,
    action: (transaction: Transaction) => Promise<Result>,
  ): Promise<Result> {
    return inTransaction(this.connections, { serializable: false, attempts: this.attempts, signal }, action);
  }
}

interface BatchResource {
  readonly key: string;
  readonly id: string;
  /** Null: deleted. */
  readonly content: string | null;
}

/** Reads the next resources by id and locks them in the order of keys, like commits. */
async function readBatch(
  transaction: Transaction,
  shard: string,
  type: string,
  after: string,
): Promise<{ readonly resources: readonly BatchResource[]; readonly isLast: boolean }> {
  const next = boundedBatch(sql`SELECT n.key, n.id AS place, n.content FROM resource n
    WHERE n.project = ${shard} AND n.type = ${type} AND n.content IS NOT NULL AND n.id > ${after} ORDER BY n.id LIMIT ${BATCH}`);
  const rows = await transaction.run(sql`WITH next AS MATERIALIZED (${next})
    SELECT r.key, r.id, r.content, (SELECT max(ahead) FROM next) FROM resource r
    WHERE r.project = ${shard} AND r.key IN (SELECT key FROM next) ORDER BY r.key FOR UPDATE OF r`);
  const resources = rows
    .map((row) => {
      const [key, id, content] = row as readonly [string, string, string | null];
      return { key: plainKey(key), id, content };
    })
    .sort((one, other) => Buffer.compare(Buffer.from(one.id), Buffer.from(other.id)));
  return { resources, isLast: rows.length < BATCH && Number(rows[0]?.[3] ?? 0) === rows.length };
}

/** Keys of every form in which older definitions may have indexed these parameters. See index-entry.ts. */
function formsOf(type: string, codes: Codes): readonly number[] {
  return codes
    .filter((code) => !code.startsWith('#'))
    .flatMap((code) => [code, ...SUFFIXES.map((suffix) => `${code}${suffix}`)])
    .map((code) => parameterKey(type, code));
}

const SUFFIXES = [
  ...[':identifier', ':labels', ':of-type', ':present', ':words'],
  // Components of composites.
  ...Array.from({ length: 10 }, (_, index) => `$${index}`),
];

/** The name of the project, read from one of its resources. */
function nameOf(shard: string, resources: readonly BatchResource[]): string | undefined {
  if (projectKey('') === shard) return '';
  for (const { content } of resources) {
    const meta = content === null ? undefined : parseStored(content).resource.meta;
    const project = meta && (meta as { readonly project?: unknown }).project;
    if (typeof project === 'string') return projectKey(project) === shard ? project : undefined;
  }
  return undefined;
}

const BATCH = 200;
