import type { FoundRow } from '../../sql/pages/found-row.js';
import type { Finding } from './finding.js';

/** A way to a page, which is gone a part at a time. */
export interface Way {
  readonly finding: Finding;
  /** Rows that were read on it. */
  looked: number;
}

export function wayOf(finding: Finding | undefined): Way | undefined {
  return finding && { finding, looked: 0 };
}

/** Yields like a {@link Finding}. Returns undefined where the way has not ended. */
export type PartOfWay = Generator<number, readonly FoundRow[] | undefined>;

/** Continues until so many rows were read on the way. */
export function* until(rows: number, way: Way | undefined): PartOfWay {
  while (way !== undefined && way.looked < rows) {
    const step = way.finding.next();
    if (step.done === true) return step.value;
    way.looked += step.value;
    yield step.value;
  }
  return undefined;
}
