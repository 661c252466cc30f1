import type { CallOptions } from '../../../store/call-options.js';
import type { Connections } from './connections.js';
import type { Reader } from './run.js';

/** Reads of one call, until its signal ends them. */
export function readerOn(connections: Connections, options: CallOptions | undefined): Reader {
  return {
    run: (statement) => connections.run(statement, options?.signal),
    snapshot: (work) => connections.snapshot(work, options),
  };
}
