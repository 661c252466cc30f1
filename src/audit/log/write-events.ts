import type { AuditEvent } from '@medplum/fhirtypes';
import { FhirError } from '../../fhir/error.js';
import { isInDoubt } from '../../fhir/in-doubt.js';
import { pause } from '../../platform/timers.js';
import type { ResourceKey } from '../../store/resource-key.js';
import type { ResourceStore } from '../../store/store.js';
import { AUDIT_LOG_PROJECT } from './audit-project.js';

/** Attempts of a commit that fails, and the pause before the second one in milliseconds; further ones wait longer. */
export const RETRY = { maxAttempts: 4, pauseMs: 25 };

/**
 * Commits events, all or none. Events that the store has already are left as they are, so that a commit in doubt and a
 * journal can be written again.
 */
export async function writeEvents(store: ResourceStore, events: readonly AuditEvent[]): Promise<void> {
  let left = events;
  await withAttempts(async (attempt) => {
    if (attempt > 1) left = await missing(store, left);
    if (left.length === 0) return;
    await store.commit(
      left.map((event) => ({ kind: 'put', key: keyOf(event), resource: event as never, expect: { version: null } })),
    );
  });
}

/** Repeats work that fails with `unavailable`, or because another attempt was made already. */
export async function withAttempts<Result>(work: (attempt: number) => Promise<Result>): Promise<Result> {
  for (let attempt = 1; ; attempt += 1) {
    try {
      return await work(attempt);
    } catch (error) {
      if (attempt === RETRY.maxAttempts || !mayRepeat(error)) throw error;
    }
    await pause(RETRY.pauseMs * attempt);
  }
}

function mayRepeat(error: unknown): boolean {
  if (!(error instanceof FhirError)) return false;
  return error.code === 'unavailable' || error.code === 'precondition-failed' || isInDoubt(error);
}

async function missing(store: ResourceStore, events: readonly AuditEvent[]): Promise<readonly AuditEvent[]> {
  const found = await store.read(events.map(keyOf));
  return events.filter((_, index) => found[index]?.status !== 'found');
}

function keyOf({ id }: AuditEvent): ResourceKey {
  return { project: AUDIT_LOG_PROJECT, type: 'AuditEvent', id: id! };
}
