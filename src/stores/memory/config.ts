import type { FhirModel } from '../../fhir/model/fhir-model.js';

/** How a {@link MemoryStore} behaves. */
export interface MemoryStoreOptions {
  /** The definitions. Default: FHIR R4 with Medplum's types. */
  readonly model?: FhirModel | undefined;
  /** What time it is, for `meta.lastUpdated`. Default: the system's clock. */
  readonly clock?: (() => Date) | undefined;
}
