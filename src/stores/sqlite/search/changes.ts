import { type ChangePage, type ChangesQuery, changesWindowOf, type CommittedChange } from '../../../store/changes.js';
import { versionBefore } from '../../../store/versioned.js';
import { FEED_SECRET, FeedPositions } from '../../sql/feed-position.js';
import type { Statements } from '../database/statements.js';

/**
 * The feed of a file: its table of versions. Keys grow in the order of commits, and each commit begins with an odd key (see
 * versions.ts).
 *
 * A position is the key of a version with its mark, which another version of that key does not have: after a restore, a key
 * that was given is gone or belongs to another.
 */
export class SqliteChanges {
  #known: FeedPositions | undefined;

  constructor(private readonly statements: Statements) {}

  /**
   * A page of the changes of a project, in one state of the file.
   *
   * @param oldest the first instant that the feed goes back to. Milliseconds since 1970.
   */
  page(query: ChangesQuery, oldest: number): ChangePage {
    const { after, types, limit } = changesWindowOf(query);
    const { project } = query;
    const positions = this.#positions();
    const positionOf = (place: Place): string => positions.textOf(BigInt(place[0]), JSON.stringify([project, place]));
    const current = positionOf(this.#placeOf(NEWEST));
    if (after === undefined || after === current) return { changes: [], position: current, isReset: false };
    const start = Number(positions.numberIn(after));
    const isKnown = Number.isSafeInteger(start) && positionOf(this.#placeOf(AT, start)) === after;
    const page = isKnown ? (this.statements.read(FIRST_COMMITS).get(start, limit) as Range | undefined) : undefined;
    if (page === undefined || page[2] < oldest) return { changes: [], position: current, isReset: true };
    const [next, end] = page;
    const rows = this.statements.read(CHANGES).all(next, end, project) as readonly ChangeRow[];
    const changes: CommittedChange[] = [];
    let commit: number | undefined;
    let position = '';
    for (const [number, type, id, isErased, isDeletion, ...place] of rows.toReversed()) {
      if (number !== commit) position = positionOf(place);
      commit = number;
      if (types?.has(type) === false) continue;
      const kind = isDeletion === 0 ? 'put' : isErased === 1 ? 'erase' : 'delete';
      const versionId = String(place[2]);
      changes.push({ kind, key: { project, type, id }, versionId, before: versionBefore(versionId), position });
    }
    return { changes: changes.reverse(), position: positionOf(this.#placeOf(AT, end)), isReset: false };
  }

  /** The file may be another one by now. */
  #positions(): FeedPositions {
    const [secret] = this.statements.read(READ_SECRET).get() as [string];
    if (this.#known?.secret !== secret) this.#known = new FeedPositions(secret);
    return this.#known;
  }

  /** The place of a version, or {@link BEGINNING} where the statement finds no row. */
  #placeOf(statement: string, ...values: readonly number[]): Place {
    return (this.statements.read(statement).get(...values) as Place | undefined) ?? BEGINNING;
  }
}

type Range = readonly [first: number, last: number, updated: number];

type Place = readonly [key: number, resource: number, version: number, updated: number];

const BEGINNING: Place = [0, 0, 0, 0];

type ChangeRow = readonly [commit: number, type: string, id: string, isErased: number, isDeletion: number, ...Place];

const READ_SECRET = `SELECT value FROM meta WHERE name = '${FEED_SECRET}'`;
const PLACES = 'SELECT key, resource, version, updated FROM version';
const NEWEST = `${PLACES} ORDER BY key DESC LIMIT 1`;
const AT = `${PLACES} WHERE key = ?`;

/** The keys of the first and the last version of a page, and when the first was written. */
const FIRST_COMMITS = `WITH page AS MATERIALIZED (SELECT key, updated FROM version WHERE key > ? ORDER BY key LIMIT ?),
  next AS (SELECT key FROM version WHERE key > (SELECT max(key) FROM page) AND key % 2 = 1 ORDER BY key LIMIT 1)
  SELECT key, (SELECT max(key) FROM version WHERE key < coalesce((SELECT key FROM next), 9223372036854775807)), updated
  FROM page ORDER BY key LIMIT 1`;

/** Versions of other projects are only counted. The number of a commit is one within the page. */
const CHANGES = `SELECT v.number, c.type, r.id, r.erased IS NOT NULL, v.deleted, v.key, v.resource, v.version, v.updated
  FROM (SELECT key, resource, version, updated, text IS NULL AS deleted, sum(key % 2) OVER (ORDER BY key) AS number
    FROM version WHERE key BETWEEN ? AND ?) v
  CROSS JOIN resource r ON r.key = v.resource CROSS JOIN collection c ON c.key = r.collection
  WHERE c.project = ? ORDER BY v.key`;
