import { parseConcurrency } from '../../access/limits/concurrency.js';
import { assertRoomInLine } from '../../access/turns/in-turn.js';
import { readBoundedBody } from '../read-bounded-body.js';
import type { Exchange } from './exchange.js';

/**
 * The body of the request. A request that finds no place in the line of its project is refused before its body is read,
 * and again before it is parsed: parsing a long one takes as long as many short requests.
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
  // From here on it takes the time of the service, not that of the sender.
  time.began = performance.now();
  return body;
}
