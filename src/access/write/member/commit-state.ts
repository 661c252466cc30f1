import type { FhirError } from '../../../fhir/error.js';
import { referenceTo } from '../../../fhir/reference.js';
import type { AnyResource } from '../../../fhir/resource.js';
import type { Criteria } from '../../../search/criteria/criteria.js';
import { expectationFailed } from '../../../store/conflicts.js';
import type { Expectation } from '../../../store/write.js';
import type { MemberCaller } from '../../caller.js';
import type { GuardedKey, GuardedWrite } from '../../contract.js';
import type { GrantedBefore } from '../../evaluate/granting-rules.js';
import type { WrittenResources } from '../../evaluate/written-resources.js';
import type { WriteValidation } from '../validate-writes.js';

/** The state for deciding a member's write: the stored resources, and the effects of earlier writes. Immutable. */
export interface CommitState {
  readonly caller: MemberCaller;
  readonly validation: WriteValidation;
  /** Whether policies may test concepts. Default false. */
  readonly hasTerminology?: boolean | undefined;
  readonly stored: StoredState;
  readonly written: WrittenResources;
}

/** The data loaded for the writes of a commit, by `Type/id`. */
export interface StoredState {
  /** Deleted resources. */
  readonly deleted: ReadonlySet<string>;
  /** Existing resources, and the rules that grant them. */
  readonly granted: ReadonlyMap<string, GrantedBefore>;
  /** The Users of the project's members; undefined if no rule needs them. */
  readonly memberUsers: Criteria | undefined;
  /** When it was loaded, in milliseconds since 1970. */
  readonly now: number;
  /** The service's own base; undefined if it has none. */
  readonly baseUrl: string | undefined;
}

/** A resource before a write. */
export interface CurrentResource {
  /** Null if it does not exist. */
  readonly resource: AnyResource | null;
  /** The stored version; null if it does not exist, undefined after a write of the same commit. */
  readonly version: string | null | undefined;
}

export function currentResource({ written, stored }: CommitState, { type, id }: GuardedKey): CurrentResource {
  const earlier = written.get(type, id);
  if (earlier !== undefined) return { resource: earlier, version: undefined };
  const row = stored.granted.get(referenceTo(type, id))?.row;
  return { resource: row?.resource ?? null, version: row?.versionId ?? null };
}

/** @param resource null for a deletion */
export function withWritten(state: CommitState, { type, id }: GuardedKey, resource: AnyResource | null): CommitState {
  const replaces = state.stored.granted.has(referenceTo(type, id));
  return { ...state, written: state.written.with(type, id, resource, replaces) };
}

/**
 * The expectation for the store: the caller's own, otherwise that the decided version is still current.
 *
 * @throws FhirError `precondition-failed` - the caller requires another version
 */
export function expectationOf(
  { expect, key }: Exclude<GuardedWrite, { kind: 'assert-no-match' }>,
  from: number,
  { version }: CurrentResource,
): Expectation | undefined {
  if (expect === undefined) return version === undefined ? undefined : { version };
  if (version !== undefined && expect.version !== version) throw unexpected(key, from, expect, version);
  return expect;
}

/** @param current the version that the caller finds; null for none */
export function unexpected(key: GuardedKey, from: number, expect: Expectation, current: string | null): FhirError {
  return expectationFailed(from, key, expect, current);
}
