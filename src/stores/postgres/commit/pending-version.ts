import { type Sql, sql } from '../../sql/sql.js';
import { arrayText, plainArrayText } from '../rows/array.js';
import { copyInto } from '../database/copy-text.js';
import type { PostgresScriptStatement } from '../database/driver.js';

/** A version that a commit has made and not written yet. */
export interface PendingVersion {
  readonly key: string;
  readonly type: string;
  readonly id: string;
  readonly version: number;
  readonly updated: number;
  readonly text: string | null;
  /** True if the previous version has rows in the index tables. */
  readonly wasIndexed: boolean;
  /** Why it was erased; null: it was not. */
  readonly erased: string | null;
}

/**
 * Returns a row for each version that follows the one in the database, and none for a resource changed concurrently.
 * Writes in the order of keys, so that commits never deadlock.
 */
export function upsert(shard: string, versions: readonly PendingVersion[]): Sql {
  const sorted = inOrderOfKeys(versions);
  const column = (name: 'type' | 'id' | 'erased'): string => arrayText(sorted.map((version) => version[name]));
  const plain = (name: 'key' | 'version' | 'updated'): string => plainArrayText(sorted.map((version) => version[name]));
  const texts = arrayText(sorted.map((version) => (isLong(version) ? null : version.text)));
  return sql`INSERT INTO resource AS r (project, key, type, id, version, updated, content, erased)
    SELECT ${shard}::uuid, u.key, u.type, u.id, u.version, u.updated, ${content(sorted.filter(isLong))}, u.erased
    FROM unnest(${plain('key')}::uuid[], ${column('type')}::text[], ${column('id')}::text[], ${plain('version')}::int[],
      ${plain('updated')}::bigint[], ${texts}::text[], ${column('erased')}::text[])
      AS u(key, type, id, version, updated, content, erased)
    ON CONFLICT (project, key) DO UPDATE SET version = excluded.version, updated = excluded.updated, content = excluded.content,
      erased = excluded.erased,
      purged = CASE WHEN excluded.erased IS NULL THEN r.purged ELSE r.version END
    WHERE r.version = excluded.version - 1 RETURNING 1`;
}

/** Length of the text of a version, in UTF-16 units, from which it stays out of the array. Only tests change it. */
export const LONG_TEXT = { units: 128 * 1024 };

function isLong({ text }: PendingVersion): boolean {
  return text !== null && text.length >= LONG_TEXT.units;
}

/**
 * The texts of versions, long ones from values of their own.
 *
 * PERF (import-rate): in an array, all quotation marks are escaped, which takes 40 ms for 5 MB; sending it takes another 15 ms.
 */
function content(long: readonly PendingVersion[]): Sql {
  if (long.length === 0) return sql`u.content`;
  const cases = long.reduce((all, { key, text }) => sql`${all} WHEN ${key}::uuid THEN ${text}::text`, sql``);
  return sql`coalesce(u.content, CASE u.key${cases} END)`;
}

/** COPY of resources that are new, in the order of keys. */
export function copyOf(shard: string, versions: readonly PendingVersion[]): PostgresScriptStatement {
  const rows = inOrderOfKeys(versions).map(({ key, type, id, version, updated, text }) => [
    ...[key, type, id, version, updated, text],
  ]);
  return copyInto(sql`resource`, sql`project, key, type, id, version, updated, content`, shard, rows);
}

function inOrderOfKeys(versions: readonly PendingVersion[]): readonly PendingVersion[] {
  return versions.toSorted((a, b) => (a.key < b.key ? -1 : 1));
}
