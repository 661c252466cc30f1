import { assertWholeNumber } from '../../../fhir/whole-number.js';
import type { FhirModel } from '../../../fhir/model/fhir-model.js';
import { changeRetention } from '../../../store/changes.js';
import { resourceBytes, resourceValues } from '../../../store/json-text.js';
import { R4 } from '../../../fhir/r4.js';
import { type Opening, openingOf } from '../../sql/opening.js';
import { type ReindexMode, reindexMode } from '../../sql/reindex.js';

/** How a `PostgresStore` behaves. */
export interface PostgresStoreOptions {
  /** The definitions. Default: FHIR R4 with Medplum's types. */
  readonly model?: FhirModel | undefined;
  /**
   * The base URL of the service, such as `https://clinic.example/fhir/R4`: references below it are local, as
   * `Patient/1` is. A change re-indexes references as a change of `model` does. Default: that of `model`.
   */
  readonly baseUrl?: string | undefined;
  /**
   * Whether this store owns the database: with its first call, it migrates tables of an older version, and has rows of
   * other definitions re-indexed. From then on, stores with the old definitions or version can read, but not write.
   * Default false: calls of a database of an older version are refused, and a store with other definitions than the
   * database reads, and searches by parameters that both define alike. An empty database, and one with the same
   * definitions, need no option.
   */
  readonly takeOver?: boolean | undefined;
  /**
   * Whether the store only reads: it changes nothing in the database, and creates no tables, so a role that may only
   * read is enough. A search by a parameter that other definitions index is
   * `unavailable`. Default false.
   */
  readonly readonly?: boolean | undefined;
  /** Longest wait for a connection of the pool, in milliseconds; then calls reject with `unavailable`. Default 5000. */
  readonly connectionWait?: number | undefined;
  /**
   * How long a statement may take to end after its signal is aborted, in milliseconds; after that, its connection is
   * closed. Default 2000.
   */
  readonly cancelWait?: number | undefined;
  /**
   * Whether connections keep frequent statements prepared: each connection up to 50, or 100,000 characters of them,
   * which take about 15 MB of the server's memory. The server then spends half as much time on them. `false` is for
   * poolers that share connections among sessions without knowing the names of statements, such as PgBouncer before
   * 1.21 in transaction mode. Default true.
   */
  readonly preparedStatements?: boolean | undefined;
  /** How often a commit is tried under concurrent writes before it rejects with `conflict`. Default 20. */
  readonly attempts?: number | undefined;
  /**
   * How long after a commit the reads of its projects go to the writer, in milliseconds; only with readers. Must be
   * longer than replicas lag behind, so that this process reads its own writes. Default 10000.
   */
  readonly readOwnWrites?: number | undefined;
  /**
   * Into how many tables each table is split by project when the database is prepared. Default 0: not split. Permanent;
   * later values are ignored.
   */
  readonly partitions?: number | undefined;
  /**
   * Who re-indexes after other definitions or an older version of the library wrote the database. Default
   * `background`: every store, in batches of 200 resources; for at most 2,000, with its first call.
   * `manual`: the host, by `reindex({ pendingOnly: true })`. Until then, searches by affected parameters reject with
   * `unavailable`.
   */
  readonly reindex?: ReindexMode | undefined;
  /**
   * Largest resource that may be written, in bytes of its JSON text as UTF-8; larger ones are refused with `too-costly`.
   * Default 16 MiB, at most 128 MiB.
   */
  readonly maxResourceBytes?: number | undefined;
  /**
   * Most values of a resource that may be written: objects, lists, texts, numbers and booleans. A text counts one more
   * for each 64 of its first 65,536 characters, unless it is base64. More are refused with `too-costly`. Default 20,000,
   * at most 10,000,000: 50 ms of the event loop for each 20,000.
   */
  readonly maxResourceValues?: number | undefined;
  /**
   * How long `changes` goes back, in milliseconds by the server's clock: older positions are `isReset`, and what they need is
   * removed. Default 604,800,000, which is 7 days.
   */
  readonly changeRetention?: number | undefined;
  /** The clock for `meta.lastUpdated`. Default: the system's clock. */
  readonly clock?: (() => Date) | undefined;
}

/** The options with their defaults filled in. */
export interface PostgresStoreConfig {
  readonly model: FhirModel;
  readonly opening: Opening;
  readonly maxResourceBytes: number;
  readonly maxResourceValues: number;
  readonly connectionWait: number;
  readonly cancelWait: number;
  readonly preparedStatements: boolean;
  readonly attempts: number;
  readonly readOwnWrites: number;
  readonly partitions: number;
  readonly reindex: ReindexMode;
  readonly changeRetention: number;
  readonly clock: () => Date;
}

/** @throws FhirError `invalid` - an option is out of its range. */
export function resolveConfig(options: PostgresStoreOptions): PostgresStoreConfig {
  return {
    model: (options.model ?? R4).withBaseUrl(options.baseUrl),
    opening: openingOf(options),
    maxResourceBytes: resourceBytes(options.maxResourceBytes),
    maxResourceValues: resourceValues(options.maxResourceValues),
    connectionWait: count('connectionWait', options.connectionWait ?? 5_000, 0, 0x7fffffff),
    cancelWait: count('cancelWait', options.cancelWait ?? 2_000, 0, 0x7fffffff),
    preparedStatements: options.preparedStatements ?? true,
    attempts: count('attempts', options.attempts ?? 20, 1, 1_000),
    readOwnWrites: count('readOwnWrites', options.readOwnWrites ?? 10_000, 0, Number.MAX_SAFE_INTEGER),
    partitions: count('partitions', options.partitions ?? 0, 0, 1_024),
    reindex: reindexMode(options.reindex),
    changeRetention: changeRetention(options.changeRetention),
    clock: options.clock ?? (() => new Date()),
  };
}

function count(name: string, value: number, min: number, max: number): number {
  assertWholeNumber(name, value, min, max);
  return value;
}
