import type { ErrorCode, FhirError } from '../../fhir/error.js';
import type { ImportResult } from '../entries/entry-outcome.js';
import type { ImportContext } from '../import-context.js';

/** Bundles as parsed JSON, one after the other. */
export type BundleSource = Iterable<object> | AsyncIterable<object>;

/** The context of an import of many Bundles. */
export interface BundlesContext extends ImportContext {
  /**
   * Called for each Bundle, in order, with its result or with the error why nothing of it was imported. An error thrown
   * here ends the import.
   *
   * @param position of the Bundle in the source, from 0
   */
  readonly onResult?: ((result: ImportResult | FhirError, position: number) => void) | undefined;
  /** Ends at the first Bundle that fails; earlier ones are kept, later ones are not imported. Default false. */
  readonly stopOnError?: boolean | undefined;
  /** Maximum number of failed Bundles described in the result; all are counted. Default 1000. */
  readonly maxErrors?: number | undefined;
}

/** A refused Bundle: nothing of it was imported. */
export interface BadBundle {
  /** Its position in the source, from 0. */
  readonly bundle: number;
  readonly reason: { readonly code: ErrorCode; readonly message: string };
}

/** The result of an import of many Bundles. */
export interface BundlesResult {
  /** Bundles read, failed ones included. */
  readonly bundles: number;
  readonly created: number;
  /** Resources with a new version. */
  readonly updated: number;
  readonly deleted: number;
  /** Resources with unchanged content, and conditional creates with a match. */
  readonly unchanged: number;
  /** Entries of batches that could not be processed; `onResult` has their outcome. */
  readonly failed: number;
  /** Refused Bundles: nothing of them was imported. */
  readonly refused: number;
  /** The first refused Bundles, in order. */
  readonly errors: readonly BadBundle[];
  /** True when a failed Bundle ended the import (`stopOnError`). */
  readonly stopped: boolean;
}
