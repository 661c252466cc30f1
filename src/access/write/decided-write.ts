import type { CommitState } from './member/commit-state.js';
import type { ReadyWrite } from './ready-write.js';

/** A write, decided. */
export interface DecidedWrite<State = CommitState> {
  readonly ready: readonly ReadyWrite[];
  /** The state for the next write. */
  readonly state: State;
}
