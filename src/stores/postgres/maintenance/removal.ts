import { purgeBoundsOf, type PurgeRequest, type PurgeStep, type RemovalStep } from '../../../store/removal.js';
import { endWorkOn } from '../../sql/index-takeover.js';
import { TABLE_NAMES } from '../../sql/index-tables.js';
import { Sql, sql } from '../../sql/sql.js';
import { nextAccessEpoch } from '../rows/access-epoch.js';
import type { Connections } from '../database/connections.js';
import { ALL_INDEX_TABLES } from '../rows/index-rows.js';
import { onIndexOf } from '../rows/index-port.js';
import { plainKey, projectKey } from '../rows/keys.js';
import { removeSegments } from '../rows/segment-tables.js';
import { GROWING_TABLES } from '../rows/table-names.js';
import { inTransaction } from '../database/transaction.js';

/**
 * Purges the versions of the next resources, in the order of their keys.
 *
 * The rows of the resources are locked in the order in which commits lock them. A version is replaced only once, so a
 * replaced version stays replaced.
 */
export async function purgeHistory(
  connections: Connections,
  request: PurgeRequest,
  signal: AbortSignal | undefined,
): Promise<PurgeStep> {
  const { replacedBefore, keep } = purgeBoundsOf(request);
  const shard = projectKey(request.project);
  const ofType = request.type === undefined ? sql`` : sql`AND r.type = ${request.type}`;
  const successors = sql`SELECT v.version, v.updated FROM version v WHERE v.project = ${shard} AND v.resource = p.key
    UNION ALL SELECT p.version, p.updated`;
  const row = await inTransaction(
    connections,
    { serializable: false, attempts: ATTEMPTS, signal },
    async (transaction) => {
      const [step] =
        await transaction.run(sql`WITH page AS MATERIALIZED (SELECT r.key, r.version, r.updated, r.purged FROM resource r
        WHERE r.project = ${shard} AND r.key > ${request.after ?? NOWHERE} ${ofType} ORDER BY r.key LIMIT ${RESOURCES} FOR UPDATE),
      ends AS MATERIALIZED (SELECT p.key, e.last FROM page p CROSS JOIN LATERAL (SELECT max(s.version) - 1 AS last
        FROM (${successors}) AS s WHERE s.version <= p.version - ${keep}::int + 1 AND s.updated < ${replacedBefore}::bigint) AS e
        WHERE p.version - p.purged > ${keep}::int AND e.last > p.purged),
      removed AS (DELETE FROM version v USING ends e
        WHERE v.project = ${shard} AND v.resource = e.key AND v.version <= e.last RETURNING 1),
      noted AS (UPDATE resource r SET purged = e.last FROM ends e WHERE r.project = ${shard} AND r.key = e.key RETURNING 1)
      SELECT (SELECT count(*)::int FROM removed), (SELECT count(*)::int FROM page), (SELECT max(key::text) FROM page),
        (SELECT count(*) FROM noted)`);
      // Segments may hold values of versions that were current when they were built.
      if (Number(step![0]) > 0) await removeSegments(transaction, shard, request.type);
      return step;
    },
  );
  const [versions, resources, last] = row as readonly [number, number, string | null];
  return resources < RESOURCES ? { versions } : { versions, next: plainKey(last) };
}

/** Removes the next resources of a project. */
export async function removeProject(
  connections: Connections,
  project: string,
  signal: AbortSignal | undefined,
): Promise<RemovalStep> {
  const shard = projectKey(project);
  const ofPage = sql`x.project = ${shard} AND x.resource = p.key`;
  const parts = [...ALL_INDEX_TABLES.map((table) => TABLE_NAMES[table]), sql`unique_key`].map(
    (table, index) => sql`${new Sql(`d${index}`, [])} AS (DELETE FROM ${table} x USING page p WHERE ${ofPage}), `,
  );
  const rows = await inTransaction(
    connections,
    { serializable: false, attempts: ATTEMPTS, signal },
    async (transaction) => {
      await removeSegments(transaction, shard);
      return transaction.run(sql`WITH page AS MATERIALIZED (SELECT key FROM resource WHERE project = ${shard}
        ORDER BY key LIMIT ${RESOURCES} FOR UPDATE),
      ${parts.reduce((all, part) => sql`${all}${part}`, sql``)}
      epoch AS (${nextAccessEpoch()}),
      versions AS (DELETE FROM version x USING page p WHERE ${ofPage} RETURNING 1)
      DELETE FROM resource r USING page p WHERE r.project = ${shard} AND r.key = p.key
      RETURNING (SELECT count(*)::int FROM versions)`);
    },
  );
  // Current versions are in `resource`.
  const versions = rows.length + Number(rows[0]?.[0] ?? 0);
  const done = rows.length < RESOURCES;
  if (done) {
    await inTransaction(connections, { serializable: false, attempts: ATTEMPTS, signal }, async (transaction) => {
      for (const table of OF_PROJECT) await transaction.run(sql`DELETE FROM ${table} WHERE project = ${shard}`);
      await onIndexOf(transaction, endWorkOn(project));
    });
  }
  return { resources: rows.length, versions, done };
}

/**
 * Vacuums all tables, one by one, then the statistics, because those that ANALYZE has replaced hold frequent values.
 * PostgreSQL skips the catalog, with a warning, for users who do not own the database.
 *
 * @param full rewrites the tables, which locks each of them
 */
export async function vacuum(connections: Connections, full: boolean, signal: AbortSignal | undefined): Promise<void> {
  const options = full ? sql`(FULL, ANALYZE)` : sql`(ANALYZE)`;
  for (const table of GROWING_TABLES) await connections.run(sql`VACUUM ${options} ${table}`, signal);
  await connections.run(
    full ? sql`VACUUM (FULL) pg_catalog.pg_statistic` : sql`VACUUM pg_catalog.pg_statistic`,
    signal,
  );
}

/** Tables with rows of a project that belong to no resource. */
const OF_PROJECT = [sql`fhirgraph_change`, sql`fhirgraph_inside`];

const NOWHERE = '00000000-0000-0000-0000-000000000000';
/** Maximum resources of a step. */
const RESOURCES = 300;
/** How often a step is tried under concurrent writes. */
const ATTEMPTS = 20;
