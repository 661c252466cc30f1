import { afterEach, beforeEach } from 'vitest';
import { PACE } from '../../src/platform/pace.js';

/**
 * Lets the work of the tests of a file go on without pauses. A test that holds something back, and looks what the rest
 * has done after some turns of the event loop, would otherwise look too early on a busy machine.
 */
export function neverPause(): void {
  const { turnMs } = PACE;
  beforeEach(() => void (PACE.turnMs = 1e9));
  afterEach(() => void (PACE.turnMs = turnMs));
}
