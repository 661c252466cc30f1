import { deletionOf } from '../../../store/removal.js';
import { timeWindowOf } from '../../../store/guards.js';
import type { TypeHistoryEntry, TypeHistoryQuery } from '../../../store/history.js';
import type { Contents } from '../rows/contents.js';
import type { Dictionaries } from '../rows/dictionary.js';
import { assertWhole, type KeptText, textLost } from '../rows/kept-text.js';
import type { Statements } from '../database/statements.js';

/** The keys of a page of the versions of a type, newest first: by instant, then by the order in which they were written. */
export function typeHistoryKeys(
  statements: Statements,
  dictionaries: Dictionaries,
  query: TypeHistoryQuery,
): readonly number[] {
  const { project, type, ids, past = false } = query;
  const { since, until, limit } = timeWindowOf(query);
  const collection = dictionaries.collections.find(project, type);
  if (collection === undefined) return [];
  const last = keyOfPosition(statements, collection, until, query);
  const range = [collection, since, until, last, limit];
  const keys =
    ids !== undefined
      ? statements.read(past ? PAST_OF_RESOURCES : OF_RESOURCES).all(JSON.stringify([...new Set(ids)]), ...range)
      : past
        ? statements.read(PAST_OF_TYPE).all(...range)
        : statements.read(OF_TYPE).all(...range, ...range, limit);
  return (keys as readonly [number][]).map(([key]) => key);
}

/** @throws FhirError `corrupt` - a version is missing; see {@link textLost} */
export function versionsOf(
  statements: Statements,
  contents: Contents,
  keys: readonly number[],
): readonly TypeHistoryEntry[] {
  const rows = statements.read(VERSIONS).all(JSON.stringify(keys)) as readonly VersionRow[];
  if (rows.length < keys.length) throw textLost();
  return rows.map((row) => toEntry(row, contents));
}

/** The key of the version after which the page begins; 0 if it is unknown, so that the page begins with that instant. */
function keyOfPosition(
  statements: Statements,
  collection: number,
  until: number,
  { ids, after }: TypeHistoryQuery,
): number {
  if (after === undefined || ids?.includes(after.id) === false) return 0;
  const row = statements.read(POSITION).get(collection, after.id, after.versionId, until) as [number] | undefined;
  return row?.[0] ?? 0;
}

function toEntry(
  [id, created, resource, version, updated, text, sum, erased]: VersionRow,
  contents: Contents,
): TypeHistoryEntry {
  const kept: KeptText = [resource, version, updated, text, sum];
  if (text !== null) return { kind: 'put', id, created: created === 1, ...contents.fromText(kept, undefined) };
  assertWhole(kept);
  return { kind: 'delete', id, ...deletionOf(version, updated, erased) };
}

type VersionRow = readonly [
  id: string,
  created: number,
  resource: number,
  version: number,
  updated: number,
  text: string | null,
  sum: number | null,
  erased: string | null,
];

const POSITION = `SELECT v.key FROM resource r CROSS JOIN version v ON v.resource = r.key
  WHERE r.collection = ? AND r.id = ? AND CAST(v.version AS TEXT) = ? AND v.updated = ?`;

/** Both parts are ranges of an index that end with the page. */
export const OF_TYPE = `SELECT key FROM (
  SELECT * FROM (SELECT updated, content AS key FROM resource
    WHERE collection = ? AND content IS NOT NULL AND updated >= ? AND (updated, content) < (?, ?)
    ORDER BY updated DESC, content DESC LIMIT ?)
  UNION ALL
  SELECT * FROM (SELECT updated, version AS key FROM past
    WHERE collection = ? AND updated >= ? AND (updated, version) < (?, ?)
    ORDER BY updated DESC, version DESC LIMIT ?))
  ORDER BY updated DESC, key DESC LIMIT ?`;

/** A range of the table of versions that are not current. */
const PAST_OF_TYPE = `SELECT version FROM past
  WHERE collection = ? AND updated >= ? AND (updated, version) < (?, ?) ORDER BY updated DESC, version DESC LIMIT ?`;

const ofResources = (
  condition: string,
): string => `SELECT v.key FROM json_each(?) j CROSS JOIN resource r CROSS JOIN version v
  WHERE r.collection = ? AND r.id = j.value AND v.resource = r.key AND v.updated >= ? AND (v.updated, v.key) < (?, ?)${condition}
  ORDER BY v.updated DESC, v.key DESC LIMIT ?`;
const OF_RESOURCES = ofResources('');
const PAST_OF_RESOURCES = ofResources(' AND v.key IS NOT r.content');

/** If the version before is a deletion, this one created the resource again. The version before may also be purged. */
const VERSIONS = `SELECT r.id, v.version = 1 OR (b.key IS NOT NULL AND b.text IS NULL), v.resource, v.version, v.updated,
    v.text, v.sum, r.erased
  FROM json_each(?) j CROSS JOIN version v ON v.key = j.value CROSS JOIN resource r ON r.key = v.resource
  LEFT JOIN version b ON b.resource = v.resource AND b.version = v.version - 1 ORDER BY j.key`;
