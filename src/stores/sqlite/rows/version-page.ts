import { deletionOf } from '../../../store/removal.js';
import { pageOf } from '../../../store/guards.js';
import type { HistoryEntry, VersionRange } from '../../../store/history.js';
import type { ResourceKey } from '../../../store/resource-key.js';
import type { Statements } from '../database/statements.js';
import type { Contents } from './contents.js';
import type { Dictionaries } from './dictionary.js';
import { assertWhole, textLost } from './kept-text.js';

/** A page of the versions of a resource, newest first, without their texts. */
export interface VersionPage {
  readonly versions: readonly VersionRow[];
  /** Of the whole history. */
  readonly total: number;
  /** The key of the `resource` row. */
  readonly resource: number;
  /** Why the resource was erased; null: it was not. */
  readonly erased: string | null;
}

type VersionRow = readonly [
  key: number,
  version: number,
  /** Milliseconds since 1970. */
  updated: number,
  /** Length of the text; null: a deletion. */
  octets: number | null,
  /** Of a deletion: its checksum. */
  sum: number | null,
];

export function findVersions(
  statements: Statements,
  dictionaries: Dictionaries,
  { project, type, id }: ResourceKey,
  page: VersionRange,
): VersionPage {
  const { offset, limit = 0 } = pageOf(page);
  const collection = dictionaries.collections.find(project, type);
  const row = collection === undefined ? undefined : statements.read(FIND_RESOURCE).get(collection, id);
  if (row === undefined) return NO_VERSIONS;
  const [resource, erased] = row as [number, string | null];
  const [total] = statements.read(COUNT_VERSIONS).get(resource) as [number];
  const versions = statements.read(LIST_VERSIONS).all(resource, limit, offset) as readonly VersionRow[];
  return { versions, total, resource, erased };
}

/**
 * The entries of versions between two positions; fewer if their texts are long. A long text comes alone.
 *
 * @throws FhirError `corrupt` - a version is missing; see {@link textLost}
 */
export function entriesOf(page: VersionPage, contents: Contents, start: number, end: number): HistoryEntry[] {
  const versions = page.versions.slice(start, start + shortTexts(page.versions.slice(start, end)));
  const keys = versions.filter(([, , , octets]) => octets !== null).map(([key]) => key);
  const texts = keys.length === 0 ? [] : contents.textsOf(keys);
  let next = 0;
  return versions.map(([, version, updated, octets, sum]): HistoryEntry => {
    if (octets === null) {
      assertWhole([page.resource, version, updated, null, sum]);
      return { kind: 'delete', ...deletionOf(version, updated, page.erased) };
    }
    const kept = texts[next++];
    if (kept === undefined) throw textLost();
    return { kind: 'put', ...contents.fromText(kept, undefined) };
  });
}

/** How many of the first versions have texts that are not long together; at least one. */
function shortTexts(versions: readonly VersionRow[]): number {
  let octets = 0;
  const end = versions.findIndex(([, , , length]) => (octets += length ?? 0) >= LONG_TOGETHER);
  return end < 0 ? versions.length : Math.max(1, end);
}

/** In bytes: parsing them takes some milliseconds. */
const LONG_TOGETHER = 512 * 1024;

const NO_VERSIONS: VersionPage = { versions: [], total: 0, resource: 0, erased: null };

const FIND_RESOURCE = 'SELECT key, erased FROM resource WHERE collection = ? AND id = ?';
const COUNT_VERSIONS = 'SELECT count(*) FROM version WHERE resource = ?';
/** SQLite knows the length of a text without reading it, but finds the columns after it only by reading it. */
const LIST_VERSIONS = `SELECT key, version, updated, octet_length(text), CASE WHEN text IS NULL THEN sum END
  FROM version WHERE resource = ? ORDER BY version DESC LIMIT ? OFFSET ?`;
