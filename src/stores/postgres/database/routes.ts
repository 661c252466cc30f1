import { LRUCache } from 'lru-cache';
import type { CallOptions } from '../../../store/call-options.js';
import type { PostgresStoreConfig } from './config.js';
import { Connections } from './connections.js';
import type { PostgresPool } from './driver.js';
import { readerOn } from './reader-on.js';
import type { Reader } from './run.js';

/** The pools of a store: one for writes and for reads of its own recent writes, one for other reads. */
export interface PostgresPools {
  readonly writer: PostgresPool;
  /** A pool over replicas. */
  readonly readers: PostgresPool;
}

/**
 * Chooses the connections of a call. Replicas lag behind: for `readOwnWrites` after this process wrote to a project,
 * it reads that project on the primary.
 */
export class Routes {
  /** Connections to the primary. */
  readonly writer: Connections;
  readonly #readers: Connections;
  /** Projects that this process wrote recently. */
  readonly #written: LRUCache<string, true> | undefined;

  constructor(pools: PostgresPool | PostgresPools, config: PostgresStoreConfig) {
    const { writer, readers } = 'writer' in pools ? pools : { writer: pools, readers: pools };
    this.writer = new Connections(writer, config);
    this.#readers = readers === writer ? this.writer : new Connections(readers, config);
    const ttl = config.readOwnWrites;
    if (this.hasReplicas && ttl > 0) this.#written = new LRUCache({ max: MAX_WRITTEN, ttl });
  }

  get hasReplicas(): boolean {
    return this.#readers !== this.writer;
  }

  /** Notes that this process wrote to a project. */
  wrote(project: string): void {
    this.#written?.set(project, true);
  }

  /** Reads of one call about a project. */
  readerOf(project: string, options: CallOptions | undefined): Reader {
    return readerOn(this.#written?.has(project) === true ? this.writer : this.#readers, options);
  }

  close(): void {
    this.writer.close();
    if (this.hasReplicas) this.#readers.close();
  }
}

/** Maximum projects remembered as recently written; beyond that, the oldest may be read from replicas. */
const MAX_WRITTEN = 100_000;
