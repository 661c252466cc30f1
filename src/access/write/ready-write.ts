import type { FhirError } from '../../fhir/error.js';
import type { Write, WriteResult } from '../../store/store.js';
import type { AccessRule } from '../rule.js';

/** A write ready for the store; `from` is the position of the caller's write that it belongs to. */
export interface ReadyWrite {
  readonly write: Write;
  readonly from: number;
  /** The rules through which the caller sees the result; none for what it does not see. */
  readonly rulesForAnswer: readonly AccessRule[];
  /** The caller may write it but not read it. */
  readonly unreadable?: boolean;
  /**
   * For a check that this library added: the error where it fails, made with what it found (`Type/id`); `decide again`
   * where the decision rested on what has changed meanwhile.
   */
  readonly refusal?: 'decide again' | ((holder: string) => FhirError);
  /** The result for the caller, where it is not the store's own. */
  readonly answer?: WriteResult;
}
