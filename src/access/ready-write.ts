import type { Write } from '../store/store.js';
import type { AccessRule } from './policy/rule.js';

/** A write ready for the store; `from` is the position of the caller's write that it belongs to. */
export interface ReadyWrite {
  readonly write: Write;
  readonly from: number;
  /** The rule that granted it, whose hidden fields stay hidden in the result. */
  readonly rule: AccessRule | undefined;
}
