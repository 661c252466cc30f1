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

/** Every current resource in the order of keys, a few hundred in memory at a time. */
export function* currentResources(statements: Statements): Iterable<CurrentResource> {
  let last = 0;
  for (;;) {
    const rows = statements.read(NEXT_RESOURCES).all(last) as readonly CurrentRow[];
    if (rows.length === 0) return;
    for (const [key, collection, id, version, updated, project, type, text, sum] of rows) {
      const kept: KeptText = [key, version, updated, text, sum];
      yield { key, collection, id, version, project, type, kept };
      last = key;
    }
  }
}

type CurrentRow = readonly [number, number, string, number, number, string, string, string | null, number | null];

const NEXT_RESOURCES = `SELECT r.key, r.collection, r.id, r.version, r.updated, c.project, c.type, v.text, v.sum
  FROM resource r CROSS JOIN collection c ON c.key = r.collection LEFT JOIN version v ON v.key = r.content
  WHERE r.key > ? AND r.content IS NOT NULL ORDER BY r.key LIMIT 500`;
