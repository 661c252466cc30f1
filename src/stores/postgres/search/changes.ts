import { type ChangePage, type ChangesQuery, changesWindowOf, type CommittedChange } from '../../../store/changes.js';
import { versionBefore } from '../../../store/versioned.js';
import { FEED_SECRET, FeedPositions } from '../../sql/feed-position.js';
import { type Sql, sql } from '../../sql/sql.js';
import { NOW, settled } from '../rows/feed.js';
import type { Run } from '../database/run.js';
import { prepared } from '../database/statements.js';
import { byKey } from '../rows/by-key.js';
import { projectKey } from '../rows/keys.js';

/** Reads the feed, always on the primary: replicas would know of different commits. */
export class PostgresChanges {
  /** Every database has its own, for good. */
  #positions: FeedPositions | undefined;

  /**
   * @param retention how long the feed goes back, in milliseconds
   * @param onWait called if commits have to wait for one before them that is not visible yet
   */
  async page(query: ChangesQuery, retention: number, run: Run, onWait: () => void): Promise<ChangePage> {
    const { after, types, limit } = changesWindowOf(query);
    const { project } = query;
    const shard = projectKey(project);
    const positions = (this.#positions ??= new FeedPositions(await readSecret(run)));
    const positionOf = ([number, at]: Place): string =>
      positions.textOf(BigInt(number), JSON.stringify([shard, number, String(at)]));
    const start = after === undefined ? undefined : positions.numberIn(after);
    const [row] = await run(ofPage(shard, (start ?? 0n).toString(), limit, retention));
    const [number, at, startAt, isForgotten, isOld, endNumber, endAt, waits] = row as unknown as PageRow;
    if (waits === true) onWait();
    const current = positionOf(number === null ? BEGINNING : [number, at!]);
    if (after === undefined || after === current) return { changes: [], position: current, isReset: false };
    // Where nothing was written yet, all that came since must still be there.
    const isKnown = start === 0n ? isForgotten === false : startAt !== null;
    const isGiven = isKnown && positionOf([String(start), startAt ?? 0]) === after;
    if (!isGiven || isOld !== false) return { changes: [], position: current, isReset: true };
    const rows = await run(ofCommits(shard, start!.toString(), String(endNumber)));
    const changes: CommittedChange[] = [];
    for (const [commit, time, type, id, version, isDeletion, isErased] of rows as unknown as readonly ChangeRow[]) {
      if (types?.has(type) === false) continue;
      const kind = !isDeletion ? 'put' : isErased ? 'erase' : 'delete';
      const versionId = String(version);
      const position = positionOf([commit, time]);
      changes.push({ kind, key: { project, type, id }, versionId, before: versionBefore(versionId), position });
    }
    return { changes, position: positionOf([endNumber!, endAt!]), isReset: false };
  }
}

async function readSecret(run: Run): Promise<string> {
  const [row] = await run(sql`SELECT value FROM fhirgraph_meta WHERE name = ${FEED_SECRET}`);
  return row![0] as string;
}

/**
 * The last commit before which all are visible, the one at the start, whether anything was forgotten or is old after it, the
 * end of the page, and whether commits must wait for others.
 */
function ofPage(shard: string, start: string, limit: number, retention: number): Sql {
  const ofProject = sql`FROM fhirgraph_change WHERE project = ${shard}`;
  return prepared(sql`SELECT c.number::text, c.at, s.at, f.version = 0, f.at < ${NOW} - ${retention}::bigint, e.number::text, e.at,
      n.number > h.number
    FROM (SELECT 1) AS one
    LEFT JOIN LATERAL (SELECT number ${ofProject} ORDER BY number DESC LIMIT 1) n ON TRUE
    LEFT JOIN LATERAL (SELECT CASE WHEN n.number = ${start}::bigint THEN n.number ELSE ${settled(shard, sql`n.number`)} END
      AS number OFFSET 0) h ON TRUE
    LEFT JOIN LATERAL (SELECT number, at ${ofProject} AND number <= h.number ORDER BY number DESC LIMIT 1) c ON TRUE
    LEFT JOIN LATERAL (SELECT at ${ofProject} AND number = ${start}::bigint LIMIT 1) s ON TRUE
    LEFT JOIN LATERAL (SELECT at, version ${ofProject} AND number > ${start}::bigint ORDER BY number LIMIT 1) f ON TRUE
    LEFT JOIN LATERAL (SELECT number, at FROM (SELECT number, at ${ofProject} AND number > ${start}::bigint AND number <= h.number
      ORDER BY number LIMIT ${limit}::int) AS p ORDER BY number DESC LIMIT 1) e ON TRUE`);
}

/** The changes of whole commits, without those whose versions were removed. */
function ofCommits(shard: string, start: string, end: string): Sql {
  return prepared(sql`SELECT c.number::text, c.at, r.type, r.id, c.version,
      CASE WHEN c.version = r.version THEN r.content IS NULL ELSE v.deleted END, r.erased IS NOT NULL
    FROM (SELECT * FROM fhirgraph_change WHERE project = ${shard} AND number > ${start}::bigint AND number <= ${end}::bigint
      ORDER BY number OFFSET 0) c
    CROSS JOIN LATERAL (${byKey(shard, sql`c.resource`)}) r
    LEFT JOIN LATERAL (SELECT y.content IS NULL AS deleted FROM version y
      WHERE y.project = ${shard} AND y.resource = c.resource AND y.version = c.version OFFSET 0) v ON TRUE
    WHERE c.version = r.version OR v.deleted IS NOT NULL
    ORDER BY c.number, c.resource, c.version`);
}

/** Numbers have more bits than those of JavaScript. */
type Place = readonly [number: string, at: string | number];

/** Before the first commit. */
const BEGINNING: Place = ['0', 0];

type PageRow = readonly [
  number: string | null,
  at: string | number | null,
  startAt: string | number | null,
  isForgotten: boolean | null,
  isOld: boolean | null,
  endNumber: string | null,
  endAt: string | number | null,
  waits: boolean | null,
];

type ChangeRow = readonly [
  commit: string,
  at: string | number,
  type: string,
  id: string,
  version: number,
  isDeletion: boolean,
  isErased: boolean,
];
