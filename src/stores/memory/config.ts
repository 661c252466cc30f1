import type { FhirModel } from '../../fhir/model/fhir-model.js';

/** How a {@link MemoryStore} behaves. */
export interface MemoryStoreOptions {
  /** The definitions. Default: FHIR R4 with Medplum's types. */
  readonly model?: FhirModel | undefined;
  /**
   * The base URL of the service, such as `https://clinic.example/fhir/R4`: references below it are local, as
   * `Patient/1` is. Default: that of `model`.
   */
  readonly baseUrl?: string | undefined;
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
   * How long `changes` goes back, in milliseconds: older positions are `isReset`. Default 604,800,000, which is 7 days.
   */
  readonly changeRetention?: number | undefined;
  /** What time it is, for `meta.lastUpdated`. Default: the system's clock. */
  readonly clock?: (() => Date) | undefined;
}
