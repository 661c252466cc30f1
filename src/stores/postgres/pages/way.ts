import type { Finding, FoundText } from './range-walk.js';

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
export type PartOfWay = AsyncGenerator<number, readonly FoundText[] | undefined>;

/** Continues until so many rows were read on the way. */
export async function* until(rows: number, way: Way | undefined): PartOfWay {
  while (way !== undefined && way.looked < rows) {
    const step = await way.finding.next();
    if (step.done === true) return step.value;
    way.looked += step.value;
    yield step.value;
  }
  return undefined;
}
