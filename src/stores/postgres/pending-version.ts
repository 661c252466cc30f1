import { type Sql, sql } from '../sql/sql.js';
import { arrayText } from './array.js';
import { copyInto } from './copy-text.js';
import type { PostgresScriptStatement } from './driver.js';

/** A version that a commit has made and not written yet. */
export interface PendingVersion {
  readonly key: string;
  readonly type: string;
  readonly id: string;
  readonly version: number;
  readonly updated: number;
  readonly text: string | null;
  /** Null: a deletion. */
  readonly shape: string | null;
  /** The previous version has rows in the index tables. */
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
  const column = (name: 'key' | 'type' | 'id' | 'version' | 'updated' | 'text' | 'shape' | 'erased'): string =>
    arrayText(sorted.map((version) => version[name]));
  return sql`INSERT INTO resource AS r (project, key, type, id, version, updated, content, shape, erased) SELECT ${shard}::uuid, u.*
    FROM unnest(${column('key')}::uuid[], ${column('type')}::text[], ${column('id')}::text[], ${column('version')}::int[],
      ${column('updated')}::bigint[], ${column('text')}::text[], ${column('shape')}::uuid[], ${column('erased')}::text[]) AS u
    ON CONFLICT (project, key) DO UPDATE SET version = excluded.version, updated = excluded.updated, content = excluded.content,
      shape = excluded.shape, erased = excluded.erased,
      purged = CASE WHEN excluded.erased IS NULL THEN r.purged ELSE r.version END
    WHERE r.version = excluded.version - 1 RETURNING 1`;
}

/** COPY of resources that are new, in the order of keys. */
export function copyOf(shard: string, versions: readonly PendingVersion[]): PostgresScriptStatement {
  const rows = inOrderOfKeys(versions).map(({ key, type, id, version, updated, text, shape }) => [
    ...[key, type, id, version, updated, text, shape],
  ]);
  return copyInto(sql`resource`, sql`project, key, type, id, version, updated, content, shape`, shard, rows);
}

function inOrderOfKeys(versions: readonly PendingVersion[]): readonly PendingVersion[] {
  return versions.toSorted((a, b) => (a.key < b.key ? -1 : 1));
}
