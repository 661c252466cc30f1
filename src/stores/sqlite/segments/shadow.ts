import type { SearchQuery } from '../../../store/search-query.js';
import type { SegmentPage } from '../../segments/segment-search.js';
import type { Statements } from '../database/statements.js';

/** How many searches were compared, and how many of them segments did not answer. For tests. */
export const SHADOWED = { compared: 0, unanswered: 0 };

/**
 * Asserts that segments answer a search as the tables do.
 *
 * @param found undefined if segments do not answer it
 */
export function assertSame(
  page: { readonly keys: readonly number[]; readonly total?: number },
  found: SegmentPage | undefined,
  query: SearchQuery,
  collection: number | undefined,
  statements: Statements,
): void {
  if (found === undefined) {
    SHADOWED.unanswered++;
    return;
  }
  SHADOWED.compared++;
  const keys = contentsOf(collection ?? 0, found.ids, statements);
  const isSame = keys.length === found.ids.length && JSON.stringify(keys) === JSON.stringify(page.keys);
  if (isSame && found.total === page.total) return;
  throw new Error('Segments and tables answer a search differently', { cause: { query, page, found, keys } });
}

/** The keys of the current versions of resources, in order. */
function contentsOf(collection: number, ids: readonly string[], statements: Statements): readonly number[] {
  const rows = statements.read(READ_CONTENTS).all(JSON.stringify(ids), collection) as readonly [number][];
  return rows.map(([content]) => content);
}

const READ_CONTENTS = `SELECT r.content FROM json_each(?) j CROSS JOIN resource r ON r.collection = ? AND r.id = j.value
  WHERE r.content IS NOT NULL ORDER BY j.key`;
