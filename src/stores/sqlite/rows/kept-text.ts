import { FhirError } from '../../../fhir/error.js';
import type { StoredResource } from '../../../store/stored-resource.js';
import { parseElements, parseStored } from '../../sql/parse-stored.js';
import { checksum } from './checksum.js';

/**
 * The columns of a row of `version` that its checksum covers, and the stored checksum.
 *
 * PERF (import-rate): a row as SQLite returns it, followed by any further columns of its statement. An object for each row takes
 * longer, and V8 may keep it and its text until a full collection: see `LoadedResource`.
 */
export type KeptText = readonly [
  /** Key of the `resource` row. */
  resource: number,
  version: number,
  /** Milliseconds since 1970. */
  updated: number,
  /** Null: a deletion, or lost. */
  text: string | null,
  /** Null if lost. */
  sum: number | null,
  ...others: unknown[],
];

/**
 * Parses a version's text after verifying its checksum.
 *
 * @param elements the needed elements. Default: all
 * @throws FhirError `corrupt` - the text is not the one that was written
 */
export function parseKept(kept: KeptText, elements?: readonly string[]): StoredResource {
  const [, version, updated, text] = kept;
  assertWhole(kept);
  if (text === null) throw textLost();
  return elements === undefined ? parseStored(text) : parseElements(text, elements, version, updated);
}

/** @throws FhirError `corrupt` - the row is not the one that was written */
export function assertWhole([resource, version, updated, text, sum]: KeptText): void {
  if (checksum(resource, version, updated, text) === sum) return;
  throw new FhirError('corrupt', 'The database holds a version that was damaged');
}

/** The error for a missing version. */
export function textLost(): FhirError {
  return new TextLost('corrupt', 'The database has lost the text of a version');
}

/** True for errors of {@link textLost}, which a removal between two statements of a call also causes. */
export function isTextLost(error: unknown): boolean {
  return error instanceof TextLost;
}

class TextLost extends FhirError {}
