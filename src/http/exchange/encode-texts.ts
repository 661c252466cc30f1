import type { Texts } from '../../fhir/json/stringify-in-turns.js';
import { Pace } from '../../platform/pace.js';
import { byteLength } from '../../platform/byte-length.js';
import { cutsCharacter } from '../../platform/surrogates.js';

/** Only tests change it. */
export const SEND_TUNING = {
  /** In UTF-16 code units. Encoding this many takes less than a millisecond. */
  longText: 512 * 1024,
};

/** Whether a body is several texts. */
export function isList(body: unknown): body is readonly string[] {
  return Array.isArray(body);
}

/** Encodes a long body in parts: each call returns the next one, undefined after the last. Other work runs between them. */
export function textEncoder(body: Texts): () => Promise<Uint8Array<ArrayBuffer> | undefined> {
  const pace = new Pace();
  const encoder = new TextEncoder();
  const parts = partsOf(body);
  return async () => {
    if (pace.isSpent) await pace.next();
    const { value } = parts.next();
    return value === undefined ? undefined : encoder.encode(value);
  };
}

/** The number of bytes of a long body. Other work runs between its parts. */
export async function byteLengthInTurns(body: Texts): Promise<number> {
  const pace = new Pace();
  let length = 0;
  for (const part of partsOf(body)) {
    if (pace.isSpent) await pace.next();
    length += byteLength(part);
  }
  return length;
}

/** A long body as a stream, which encodes a part when the client is ready for it. */
export function streamOfTexts(body: Texts): ReadableStream<Uint8Array<ArrayBuffer>> {
  const next = textEncoder(body);
  return new ReadableStream(
    {
      async pull(controller) {
        const part = await next();
        if (part === undefined) controller.close();
        else controller.enqueue(part);
      },
    },
    { highWaterMark: 0 },
  );
}

function* partsOf(body: Texts): Generator<string, undefined> {
  for (const text of typeof body === 'string' ? [body] : body) {
    for (let start = 0; start < text.length;) {
      const end = start + SEND_TUNING.longText;
      // A surrogate pair must be encoded together.
      yield text.slice(start, (start = cutsCharacter(text, end) ? end + 1 : end));
    }
  }
}
