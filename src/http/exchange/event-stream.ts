import { stringifyResult } from '../../fhir/json/stringify-json.js';
import type { FhirGraphqlResult } from '../../graphql/execute-fhir-graphql.js';
import type { Answer } from './answer.js';

/** The media type of server-sent events. */
export const EVENT_STREAM = 'text/event-stream';

/** A comment is sent so often, in milliseconds, so that proxies keep the connection open. */
const HEARTBEAT_MS = 15_000;

/**
 * Answers GraphQL over SSE, with a connection for each operation: an event `next` for each result, with its position as id,
 * and `complete`. See https://github.com/enisdenjo/graphql-sse/blob/master/PROTOCOL.md#distinct-connections-mode.
 *
 * Results are read as fast as the client reads; comments keep the connection open. If the client goes away, the results end.
 */
export function eventStreamAnswer(results: AsyncIterable<FhirGraphqlResult>): Answer {
  const encoder = new TextEncoder();
  const reader = results[Symbol.asyncIterator]();
  let timer: ReturnType<typeof setInterval> | undefined;
  let isAsked = false;
  const stream = new ReadableStream<Uint8Array<ArrayBuffer>>(
    {
      start(controller) {
        // The head arrives with it.
        controller.enqueue(encoder.encode(':\n\n'));
        timer = setInterval(() => {
          // A client that does not read gets no comments either.
          if (isAsked) controller.enqueue(encoder.encode(':\n\n'));
        }, HEARTBEAT_MS);
      },
      async pull(controller) {
        isAsked = true;
        const { done, value } = await reader.next();
        isAsked = false;
        controller.enqueue(encoder.encode(done === true ? COMPLETE : eventOf(value)));
        if (done !== true) return;
        clearInterval(timer);
        controller.close();
      },
      async cancel() {
        clearInterval(timer);
        await reader.return?.();
      },
    },
    { highWaterMark: 0 },
  );
  // Proxies that buffer answers would hold events back.
  const headers = { 'content-type': `${EVENT_STREAM}; charset=utf-8`, 'x-accel-buffering': 'no' };
  return { status: 200, headers, stream };
}

const COMPLETE = 'event: complete\ndata:\n\n';

function eventOf(result: FhirGraphqlResult): string {
  const position = result.extensions?.position;
  return `event: next\n${position === undefined ? '' : `id: ${position}\n`}data: ${stringifyResult(result)}\n\n`;
}
