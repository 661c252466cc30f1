import { byteLength } from '../../../platform/bytes.js';
import type { CallTexts } from '../../../store/text-budget.js';
import { type Sql, sql } from '../../sql/sql.js';

/** What the server sends in place of a text that its call may not read. */
export const OMITTED = ' ';

/** Statements with as many texts at most send all of them. */
const FEW = 4;

/**
 * A text of a statement, as long as it and the texts of the rows before it fit in what the call may read; otherwise
 * {@link OMITTED}. The server knows the length of a text without reading it.
 *
 * @param rows maximum number of rows of the statement
 */
export function boundedText(content: Sql, texts: CallTexts | undefined, rows: number): Sql {
  if (texts?.isBounded !== true || rows <= FEW) return content;
  const sum = sql`sum(octet_length(${content})) OVER (ROWS UNBOUNDED PRECEDING)`;
  // The first text may exceed the room; the call counts it.
  const isFirst = sql`(${texts.isEmpty ? 1 : 0}::int = 1 AND ${sum} = octet_length(${content}))`;
  return sql`CASE WHEN ${content} IS NULL OR ${sum} <= ${Math.max(0, texts.room)}::bigint OR ${isFirst} THEN ${content} ELSE ${OMITTED} END`;
}

/** Counts a text that a statement has sent. @returns false if the page ends before it @throws FhirError `too-costly` */
export function takesText(content: string | null, texts: CallTexts | undefined): boolean {
  if (content === null || texts?.isBounded !== true) return true;
  return texts.takes(sizeOf(content));
}

/** In bytes; Infinity for a text that the server omitted. */
export function sizeOf(content: string | null): number {
  return content === null ? 0 : content === OMITTED ? Infinity : byteLength(content);
}

/** How much text a batch of maintenance reads after its first text, in bytes. */
export const BATCH_TEXTS = { bytes: 16 * 1024 * 1024 };

/**
 * The keys of a batch: the first rows in an order, as long as their texts fit in {@link BATCH_TEXTS}.
 *
 * @param rows `key`, `place` and `content`, in the order of `place`, at most as many as a batch has
 * @returns statement of `key`, and of how many rows there were before the cut, in the order of `place`
 */
export function boundedBatch(rows: Sql): Sql {
  return sql`SELECT key, ahead FROM (SELECT key, place, count(*) OVER ()::int AS ahead,
      sum(size) OVER (ORDER BY place ROWS UNBOUNDED PRECEDING) - size AS before
    FROM (SELECT key, place, coalesce(octet_length(content), 0) AS size FROM (${rows}) AS one) AS sized) AS summed
    WHERE before <= ${BATCH_TEXTS.bytes}::bigint ORDER BY place`;
}
