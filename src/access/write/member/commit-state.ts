import type { FhirError } from '../../../fhir/error.js';
import { referenceTo } from '../../../fhir/reference.js';
import type { AnyResource } from '../../../fhir/resource.js';
import type { Criteria } from '../../../search/criteria/criteria.js';
import { expectationFailed } from '../../../store/conflicts.js';
import { SERVER_SCOPE, type Expectation } from '../../../store/store.js';
import type { MemberCaller } from '../../caller.js';
import type { GuardedKey, GuardedWrite } from '../../contract.js';
import type { GrantedBefore } from '../../evaluate/granted-before.js';
import type { WrittenResources } from '../../evaluate/written-resources.js';
import type { Strictness } from '../validate-writes.js';

/** What a write of a member is decided on: what is stored, and what the writes before it make of that. Immutable. */
export interface CommitState {
  readonly caller: MemberCaller;
  readonly strictness: Strictness;
  readonly stored: StoredState;
  readonly written: WrittenResources;
}

/** What was loaded for the writes of a commit, by `Type/id`. */
export interface StoredState {
  /** Resources that do not exist any more. */
  readonly deleted: ReadonlySet<string>;
  /** Resources that exist, and the rules that grant them. */
  readonly granted: ReadonlyMap<string, GrantedBefore>;
  /** The Users who are members of the project; undefined where no rule asks for them. */
  readonly memberUsers: Criteria | undefined;
  /** When it was loaded, in milliseconds since 1970. */
  readonly now: number;
  /** The service's own base; undefined where it has none. */
  readonly baseUrl: string | undefined;
}

/** A resource as a write finds it. */
export interface CurrentResource {
  /** Null where there is none. */
  readonly resource: AnyResource | null;
  /** The stored version; null where there is none, undefined after a write of the same commit. */
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
 * What must still hold when the store commits: the caller's own demand, else that the version decided on is current.
 *
 * @throws FhirError `precondition-failed` - the caller demands another version than the one decided on
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
  return expectationFailed(from, { ...key, project: SERVER_SCOPE }, expect, current);
}
