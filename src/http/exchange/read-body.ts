import { parseConcurrency } from '../../access/limits/concurrency.js';
import { assertRoomInLine } from '../../access/turns/in-turn.js';
import { readBoundedBody } from '../read-bounded-body.js';
import type { Exchange } from './exchange.js';

/**
 * The body of the request. If the queue of its project is full, the request is refused before its body is read, and
 * again before the body is parsed, because parsing a long body takes as long as many short requests.
 *
 * @throws FhirError `throttled` - too many requests wait
 * @throws HttpRequestError 413, 415
 */
export async function readBody({ request, settings, caller, time }: Exchange): Promise<Uint8Array> {
  const { store, limits, maxBodyBytes } = settings;
  const turn = { store, caller, concurrency: parseConcurrency(limits?.concurrency) };
  assertRoomInLine(turn);
  const body = await readBoundedBody(request, maxBodyBytes);
  assertRoomInLine(turn);
  // The time limit begins here: from now on the service works, not the sender.
  time.began = performance.now();
  return body;
}
