import type { KeptText } from './kept-text.js';
import type { Statements } from '../database/statements.js';

/** A current resource, from the tables `resource`, `collection` and `version`. */
export interface CurrentResource {
  /** Key of the `resource` row. */
  readonly key: number;
  readonly collection: number;
  readonly id: string;
  readonly version: number;
  readonly project: string;
  readonly type: string;
  readonly kept: KeptText;
}

/** Every current resource in the order of keys. One text is in memory at a time: a few hundred may be gigabytes. */
export function* currentResources(statements: Statements): Iterable<CurrentResource> {
  let last = 0;
  for (;;) {
    const rows = statements.read(NEXT_RESOURCES).all(last) as readonly CurrentRow[];
    if (rows.length === 0) return;
    for (const [key, collection, id, version, updated, project, type, content] of rows) {
      const kept: KeptText = [key, version, updated, ...textAt(statements, content)];
      yield { key, collection, id, version, project, type, kept };
      last = key;
    }
  }
}

/** The text and the checksum of a version; null if they are lost. */
export function textAt(statements: Statements, version: number): readonly [string | null, number | null] {
  return (statements.read(TEXT_AT).get(version) ?? [null, null]) as [string | null, number | null];
}

type CurrentRow = readonly [number, number, string, number, number, string, string, number];

const NEXT_RESOURCES = `SELECT r.key, r.collection, r.id, r.version, r.updated, c.project, c.type, r.content
  FROM resource r CROSS JOIN collection c ON c.key = r.collection
  WHERE r.key > ? AND r.content IS NOT NULL ORDER BY r.key LIMIT 500`;
const TEXT_AT = 'SELECT text, sum FROM version WHERE key = ?';
