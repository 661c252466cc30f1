import { FhirError } from '../../fhir/error.js';
import type { StoredResource } from '../../store/stored-resource.js';
import { parseElements, parseStored } from '../sql/parse-stored.js';
import { checksum, type VersionContent } from './checksum.js';

/** A row of `version` with its stored checksum. */
export interface KeptText extends VersionContent {
  /** Null if lost. */
  readonly sum: number | null;
}

/**
 * Parses a version's text after verifying its checksum.
 *
 * @param elements those that are needed. Default: all
 * @throws FhirError `corrupt` - it is not what was written
 */
export function parseKept(kept: KeptText, elements?: readonly string[]): StoredResource {
  assertWhole(kept);
  const { text, version, updated } = kept;
  if (text === null) throw textLost();
  return elements === undefined ? parseStored(text) : parseElements(text, elements, version, updated);
}

/** @throws FhirError `corrupt` - the row is not what was written */
export function assertWhole(kept: KeptText): void {
  if (checksum(kept) !== kept.sum) throw new FhirError('corrupt', 'The database holds a version that was damaged');
}

/** The error for a missing version. */
export function textLost(): FhirError {
  const error = new FhirError('corrupt', 'The database has lost the text of a version');
  LOST.add(error);
  return error;
}

/** True for {@link textLost}: a removal between two statements of a call has the same effect. */
export function isTextLost(error: unknown): boolean {
  return LOST.has(error as object);
}

const LOST = new WeakSet<object>();
