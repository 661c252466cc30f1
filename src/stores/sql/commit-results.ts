import { expectationFailed } from '../../store/with-retries.js';
import { parseJsonText } from '../../store/json-text.js';
import { type Change, type Expectation, putResultOf, type WriteResult } from '../../store/write.js';
import type { ResourceKey } from '../../store/resource-key.js';

/** The effects of a commit. */
export interface Committed {
  readonly results: readonly WriteResult[];
  readonly changes: readonly Change[];
}

/** The effects of a commit that may be long: its results may take several turns of the event loop to make. */
export interface LongCommitted {
  readonly results: readonly WriteResult[] | Promise<readonly WriteResult[]>;
  readonly changes: readonly Change[];
}

/** A version that this commit wrote. */
export interface WrittenVersion {
  readonly versionId: string;
  /** ISO 8601 instant, UTC. */
  readonly lastUpdated: string;
  /** The resource as stored; null for a deletion. */
  readonly text: string | null;
}

/** @throws FhirError `precondition-failed` */
export function assertExpected(
  key: ResourceKey,
  expect: Expectation | undefined,
  { version, exists }: { readonly version: number; readonly exists: boolean },
  index: number,
): void {
  if (expect === undefined) return;
  const current = exists ? String(version) : null;
  if (current !== expect.version) throw expectationFailed(index, key, expect, current);
}

/** The change that listeners receive. */
export function changeOf(
  kind: Change['kind'],
  { project, type, id }: ResourceKey,
  { versionId }: Pick<WrittenVersion, 'versionId'>,
): Change {
  return { kind, key: { project, type, id }, versionId };
}

/** The result of a put, with a copy of the resource for the caller. */
export function putResult(created: boolean, { versionId, lastUpdated, text }: WrittenVersion): WriteResult {
  return putResultOf({ created, versionId, lastUpdated }, () => parseJsonText(text!));
}
