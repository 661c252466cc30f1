import { type FhirError, maskError } from '../fhir/error.js';
import type { LiveBatch } from './live-feed.js';
import type { LiveStream } from './live-stream.js';

/** The doors' own part of a stream. */
interface LiveItems<Item> {
  /** What the reader gets for the events of a batch, in their order, each with its position. */
  show(batch: LiveBatch): Promise<readonly Item[]>;
  /** The last item, for a reader that gets the reason of the end as an item. Default: the reader gets the error. */
  last?(error: FhirError): Item;
}

/**
 * The items of a stream, one by one. The stream ends with the reader's loop, and also if the loop never began.
 *
 * `next()` may be called again before the one before has settled.
 */
export function liveItems<Item>(
  stream: LiveStream,
  { show, last }: LiveItems<Item>,
): AsyncGenerator<Item, undefined, undefined> {
  let left: readonly Item[] = [];
  let batch: LiveBatch | undefined;
  let shown = 0;
  let isOver = false;
  const end = (): void => {
    isOver = true;
    stream.end();
  };
  const fill = async (): Promise<void> => {
    // Who lost its rights gets nothing more, and who takes its time gets the newest version of the rest.
    const isOld = stream.isEnded || performance.now() - shown > FRESH_MS;
    if (left.length > 0 && !isOld) return;
    batch = left.length > 0 && !stream.isEnded ? await stream.refresh(batch!, left.length) : await stream.next();
    left = batch === undefined ? [] : await show(batch);
    shown = performance.now();
    isOver ||= batch === undefined;
  };
  const step = async (): Promise<IteratorResult<Item, undefined>> => {
    try {
      do if (!isOver) await fill();
      while (left.length === 0 && !isOver);
    } catch (error) {
      end();
      const known = maskError(error);
      // By the reader's own signal.
      if (known.code === 'aborted') return OVER;
      if (last === undefined) throw known;
      return { done: false, value: last(known) };
    }
    if (isOver) return OVER;
    const [value] = left;
    left = left.slice(1);
    return { done: false, value: value! };
  };
  let before: Promise<unknown> = Promise.resolve();
  const generator: AsyncGenerator<Item, undefined, undefined> = {
    next() {
      const result = before.then(step);
      before = result.catch(() => undefined);
      return result;
    },
    return() {
      end();
      return Promise.resolve(OVER);
    },
    throw(error: Error) {
      end();
      return Promise.reject(error);
    },
    [Symbol.asyncIterator]: () => generator,
    [Symbol.asyncDispose]() {
      end();
      return Promise.resolve();
    },
  };
  return generator;
}

/** The position to continue after each item of a batch: only after the last one, nothing of the page is left. */
export function positionsOf<Item>(items: readonly Item[], { from, position }: LiveBatch): readonly string[] {
  return items.map((_, index) => (index === items.length - 1 ? position : from));
}

const OVER = { done: true, value: undefined } as const;

/** Items that have waited longer for their reader are read again, in milliseconds. */
const FRESH_MS = 5_000;
