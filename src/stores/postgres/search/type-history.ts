import { deletionOf } from '../../../store/removal.js';
import { Pace } from '../../../platform/pace.js';
import { timeWindowOf } from '../../../store/guards.js';
import type { TypeHistoryEntry, TypeHistoryQuery } from '../../../store/history.js';
import { parseStored } from '../../sql/parse-stored.js';
import { type Sql, sql } from '../../sql/sql.js';
import { arrayText } from '../rows/array.js';
import type { CallTexts } from '../../../store/text-budget.js';
import { boundedText, takesText } from '../rows/bounded-texts.js';
import { projectKey, resourceKey } from '../rows/keys.js';
import type { Run } from '../database/run.js';

/** A page of the versions of a type, newest first: by instant, then by the key of the resource and the version. */
export async function typeHistory(
  query: TypeHistoryQuery,
  run: Run,
  texts: CallTexts,
): Promise<readonly TypeHistoryEntry[]> {
  const { limit } = timeWindowOf(query);
  const shard = projectKey(query.project);
  const versions = query.ids === undefined ? ofType(query, shard) : ofResources(query, query.ids, shard);
  // If the version before is a deletion, this one created the resource again. The version before may also be purged.
  const rows =
    await run(sql`SELECT r.id, h.version = 1 OR (b.version IS NOT NULL AND b.content IS NULL), h.version, h.updated,
      h.content, r.erased
    FROM (SELECT p.key, p.version, p.updated, ${boundedText(sql`p.content`, texts, limit)} AS content
      FROM (SELECT * FROM (${versions}) AS parts ORDER BY updated DESC, key DESC, version DESC LIMIT ${limit}::int) p) AS h
    JOIN resource r ON r.project = ${shard} AND r.key = h.key
    LEFT JOIN version b ON b.project = ${shard} AND b.resource = h.key AND b.version = h.version - 1
    ORDER BY h.updated DESC, h.key DESC, h.version DESC`);
  const entries: TypeHistoryEntry[] = [];
  const pace = new Pace();
  for (const row of rows) {
    if (pace.isSpent) await pace.next();
    if (!takesText((row as unknown as VersionRow)[4], texts)) break;
    entries.push(toEntry(row as unknown as VersionRow));
  }
  return entries;
}

/** Each part is a range of an index that ends with the page. */
function ofType(query: TypeHistoryQuery, shard: string): Sql {
  const { since, limit } = timeWindowOf(query);
  const before = positionOf(query);
  const current = sql`(SELECT key, version, updated, content FROM resource
      WHERE project = ${shard} AND type = ${query.type} AND content IS NOT NULL AND updated >= ${since}::bigint
        AND (updated, key, version) < (${before})
      ORDER BY updated DESC, key DESC, version DESC LIMIT ${limit}::int)
    UNION ALL `;
  return sql`${query.past === true ? sql`` : current}(SELECT key, version, updated, content FROM resource
      WHERE project = ${shard} AND type = ${query.type} AND content IS NULL AND updated >= ${since}::bigint
        AND (updated, key, version) < (${before})
      ORDER BY updated DESC, key DESC, version DESC LIMIT ${limit}::int)
    UNION ALL (SELECT resource, version, updated, content FROM version
      WHERE project = ${shard} AND type = ${query.type} AND updated >= ${since}::bigint
        AND (updated, resource, version) < (${before})
      ORDER BY updated DESC, resource DESC, version DESC LIMIT ${limit}::int)`;
}

function ofResources(query: TypeHistoryQuery, ids: readonly string[], shard: string): Sql {
  const { since } = timeWindowOf(query);
  const before = positionOf(query);
  const keys = arrayText([...new Set(ids)].map((id) => resourceKey(query.project, query.type, id)));
  const isListed = query.past === true ? sql`content IS NULL` : sql`TRUE`;
  return sql`SELECT key, version, updated, content FROM resource
      WHERE project = ${shard} AND key = ANY (${keys}::uuid[]) AND updated >= ${since}::bigint
        AND (updated, key, version) < (${before}) AND ${isListed}
    UNION ALL SELECT resource, version, updated, content FROM version
      WHERE project = ${shard} AND resource = ANY (${keys}::uuid[]) AND updated >= ${since}::bigint
        AND (updated, resource, version) < (${before})`;
}

/** The columns of the version after which the page begins. Impossible versions come before all of their instant. */
function positionOf(query: TypeHistoryQuery): Sql {
  const { project, type, after } = query;
  const { until } = timeWindowOf(query);
  const version = /^[1-9]\d{0,8}$/.test(after?.versionId ?? '') ? Number(after!.versionId) : 0;
  const key = resourceKey(project, type, after?.id ?? '');
  return sql`${until}::bigint, ${key}::uuid, ${version}::int`;
}

function toEntry([id, created, version, updated, content, erased]: VersionRow): TypeHistoryEntry {
  if (content !== null) return { kind: 'put', id, created, ...parseStored(content) };
  return { kind: 'delete', id, ...deletionOf(version, updated, erased) };
}

type VersionRow = readonly [
  id: string,
  created: boolean,
  version: number,
  updated: string | number,
  content: string | null,
  erased: string | null,
];
