import type { FhirError } from '../../fhir/error.js';
import type { ResourceKey } from '../../store/resource-key.js';
import type { Write } from '../../store/write.js';
import type { GuardedResult } from '../contract.js';
import type { AccessRule } from '../rule.js';

/**
 * A step of a decided commit. Each write of the caller's becomes one {@link OwnWrite} or {@link Unchanged}, with any number
 * of {@link AddedWrite}s before and after it.
 */
export type ReadyWrite = OwnWrite | AddedWrite | Unchanged;

interface Step {
  /** Position of the caller's write that it belongs to. */
  readonly from: number;
}

/** The caller's own write as sent to the store. */
export interface OwnWrite extends Step {
  readonly role: 'own';
  readonly write: Write;
  /** The rules for masking the result; empty if the result has no resource. */
  readonly readRules: readonly AccessRule[];
  /** The caller may write the resource but not read it. */
  readonly unreadable?: boolean | undefined;
}

/** A check or write that accompanies the caller's write. */
export interface AddedWrite extends Step {
  readonly role: 'added';
  readonly write: Write;
  /**
   * The error if the check fails, created from the resource found (`Type/id`). `decide again`: the decision is
   * outdated. Default: the store's own error.
   */
  readonly refusal?: 'decide again' | ((holder: string) => FhirError) | undefined;
}

/** The caller's write has nothing to change. */
interface Unchanged extends Step {
  readonly role: 'unchanged';
  readonly answer: GuardedResult;
}

/** The key of the resource that a step writes or deletes; undefined for checks. */
export function writtenKey(ready: ReadyWrite): ResourceKey | undefined {
  return ready.role === 'unchanged' || ready.write.kind === 'assert-no-match' ? undefined : ready.write.key;
}

/** A write, decided. */
export interface DecidedWrite<State> {
  readonly ready: readonly ReadyWrite[];
  /** The state for the next write. */
  readonly state: State;
}
