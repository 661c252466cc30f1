import { assertWholeNumber } from '../../fhir/whole-number.js';
import { FhirError } from '../../fhir/error.js';
import type { FhirModel } from '../../fhir/model/fhir-model.js';
import { indexNeedsFhirPath } from '../../search/index/prepare-model.js';
import { changeRetention } from '../../store/changes.js';
import { resourceBytes, resourceValues } from '../../store/json-text.js';
import { R4 } from '../../fhir/r4.js';
import { type Opening, openingOf } from '../sql/opening.js';
import { type ReindexMode, reindexMode } from '../sql/reindex.js';

/** How a `SqliteStore` behaves. */
export interface SqliteStoreOptions {
  /** The definitions. Default: FHIR R4 with Medplum's types. */
  readonly model?: FhirModel | undefined;
  /**
   * The base URL of the service, such as `https://clinic.example/fhir/R4`: references below it are local, as
   * `Patient/1` is. A change re-indexes references as a change of `model` does. Default: that of `model`.
   */
  readonly baseUrl?: string | undefined;
  /**
   * Whether this store owns the file: when it opens, it migrates tables of an older version, and has rows of other
   * definitions re-indexed. From then on, stores with the old definitions or version can read, but not write. Default
   * false: a file of an older version is refused, and a store with other definitions than the file reads, and searches
   * by parameters that both define alike. An empty file, and a file with the same definitions, need no option.
   */
  readonly takeOver?: boolean | undefined;
  /**
   * Whether the store only reads: it changes nothing in the file, and creates none. It can read, search, `verify` and
   * `backup` while the store of a service writes. A search that needs an index that the file lacks, or that other
   * definitions made, is `unavailable`. Default false.
   */
  readonly readonly?: boolean | undefined;
  /**
   * How durable a commit is (`PRAGMA synchronous`). Default `full`: a commit that resolved survives a power cut.
   * `normal`: it survives the end of the process, but a power cut may lose the last ones. `off`: a power cut may damage
   * the file. See https://www.sqlite.org/pragma.html#pragma_synchronous.
   */
  readonly synchronous?: 'full' | 'normal' | 'off' | undefined;
  /**
   * Maximum wait for another connection's lock, in milliseconds; the process is blocked during the wait. Default 5000.
   */
  readonly busyTimeout?: number | undefined;
  /**
   * Maximum number of threads that read, each with a connection of its own; 0: no threads at all. Default 2.
   *
   * Short statements run in the event loop. A thread takes over a statement that takes longer than 20 ms, and also
   * verification, rebuilding and large commits (one more thread, which writes). Threads start when they are first
   * needed and do not keep the process alive. If they cannot start, everything runs in the event loop, and a process
   * warning with the code `FHIRGRAPH_THREADS` says so. Stores in memory, and over a database that the host opened, have
   * no threads.
   */
  readonly readers?: number | undefined;
  /** Cache of parsed resources, in bytes of their JSON text. Default 64 MiB. 0: none. */
  readonly cacheBytes?: number | undefined;
  /**
   * Who re-indexes after other definitions or an older version of the library wrote the file. Default
   * `background`: the store itself, in batches of a few milliseconds; for at most 2,000 resources, when
   * it is opened. `manual`: the host, by `reindex({ pendingOnly: true })`. Until then, searches by affected parameters
   * reject with `unavailable`. The same holds for the segments that broad searches read: see docs/internals/index.md.
   * Without them, these searches take longer.
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
   * How long `changes` goes back, in milliseconds: older positions are `isReset`. Default 604,800,000, which is 7 days. The
   * feed is in the history itself, so it takes no space of its own.
   */
  readonly changeRetention?: number | undefined;
  /** The clock for `meta.lastUpdated`. Default: the system's clock. */
  readonly clock?: (() => Date) | undefined;
}

/** The options with their defaults filled in. */
export interface SqliteStoreConfig {
  readonly model: FhirModel;
  /** True if extraction needs the FHIRPath library. */
  readonly needsFhirPath: boolean;
  readonly opening: Opening;
  readonly maxResourceBytes: number;
  readonly maxResourceValues: number;
  readonly synchronous: 'full' | 'normal' | 'off';
  readonly busyTimeout: number;
  readonly readers: number;
  readonly cacheBytes: number;
  readonly reindex: ReindexMode;
  readonly changeRetention: number;
  readonly clock: () => Date;
}

/** @throws FhirError `invalid` - an option is out of its range. */
export function resolveConfig(options: SqliteStoreOptions): SqliteStoreConfig {
  const { model = R4, baseUrl } = options;
  const config = {
    model: model.withBaseUrl(baseUrl),
    // PERF (scale): R4 does not need it, and checking takes some milliseconds.
    needsFhirPath: model !== R4 && indexNeedsFhirPath(model),
    opening: openingOf(options),
    maxResourceBytes: resourceBytes(options.maxResourceBytes),
    maxResourceValues: resourceValues(options.maxResourceValues),
    synchronous: options.synchronous ?? 'full',
    busyTimeout: options.busyTimeout ?? 5000,
    readers: options.readers ?? 2,
    cacheBytes: options.cacheBytes ?? 64 * 1024 * 1024,
    reindex: reindexMode(options.reindex),
    changeRetention: changeRetention(options.changeRetention),
    clock: options.clock ?? (() => new Date()),
  };
  if (!['full', 'normal', 'off'].includes(config.synchronous)) {
    throw new FhirError('invalid', `synchronous must be full, normal or off, not ${String(config.synchronous)}`);
  }
  assertWholeNumber('busyTimeout', config.busyTimeout, 0, 0x7fffffff);
  assertWholeNumber('readers', config.readers, 0, MAX_READERS);
  assertWholeNumber('cacheBytes', config.cacheBytes);
  return config;
}

const MAX_READERS = 64;
