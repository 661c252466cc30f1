import type { Way } from '../../sql/pages/way.js';
import type { Finding } from '../scans/range-walk.js';

/** Yields like a {@link Finding}. Returns undefined if the way has not ended. */
export type PartOfWay = AsyncGenerator<number, readonly string[] | undefined>;

/** Continues a way until it has read this many rows. */
export async function* until(rows: number, way: Way<Finding> | undefined): PartOfWay {
  while (way !== undefined && way.looked < rows) {
    const step = await way.finding.next();
    if (step.done === true) return step.value;
    way.looked += step.value;
    yield step.value;
  }
  return undefined;
}
