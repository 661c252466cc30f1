import { FhirError } from '../../fhir/error.js';
import { assertWholeNumber } from '../../fhir/whole-number.js';
import { requireRemoval } from '../../store/store.js';
import { projectOperation } from '../session/project-context.js';
import { openErasure, type RemovalContext, scrubUnless } from './erasure-session.js';

/** The earlier versions to remove. */
export interface HistoryPurge {
  /** Versions that were replaced before this moment: a Date, or an ISO 8601 instant. */
  readonly olderThan: Date | string;
  /** How many of the newest versions of each resource stay whatever their age, the current one included. Default 1. */
  readonly keep?: number | undefined;
  /** Only versions of resources of this type. Default: of all types. */
  readonly type?: string | undefined;
  /** Called after each step with the number of versions removed so far. An error thrown here ends the purge. */
  readonly onProgress?: ((versions: number) => void) | undefined;
}

/**
 * Removes earlier versions of a project's resources for good. Current versions stay, and so does the last version of a
 * deleted resource, its deletion. Ids of versions continue as before.
 *
 * The age of a version counts from the moment it was replaced, not from when it was written: a version that was current
 * until yesterday is one day old. It works in steps of about 10 ms; call it again after an interruption.
 *
 * For trusted code (`systemCaller(project)`, `serverCaller(project)`) and super administrators without access policies.
 *
 * @param context `scrub` is false by default
 * @returns the number of versions removed
 * @throws FhirError `forbidden`, `unsupported`, `invalid`
 *
 * @example
 * await purgeHistory({ olderThan: '2016-01-01T00:00:00Z', keep: 2 }, { store, caller: systemCaller('clinic') });
 */
export function purgeHistory(
  { olderThan, keep = 1, type, onProgress }: HistoryPurge,
  context: RemovalContext,
): Promise<{ readonly versions: number }> {
  return projectOperation(context, 'purge-history', async (facts, bounded) => {
    const session = await openErasure(bounded, 'purge histories');
    const replacedBefore = instantOf(olderThan);
    assertWholeNumber('keep', keep, 1);
    if (type !== undefined && !bounded.store.model.isResourceType(type)) {
      throw new FhirError('invalid', 'Unknown resource type');
    }
    facts.targets = [{ type: type ?? 'Project', ...(type === undefined ? { id: session.project } : {}) }];
    const removal = requireRemoval(session.writes);
    let versions = 0;
    let after: string | undefined;
    do {
      const request = { project: session.project, replacedBefore, keep, type, after };
      const step = await removal.purgeHistory(request, session.options);
      versions += step.versions;
      after = step.next;
      facts.results = versions;
      onProgress?.(versions);
    } while (after !== undefined);
    await scrubUnless(session, bounded.scrub === true);
    return { versions };
  });
}

function instantOf(moment: unknown): string {
  const time = moment instanceof Date ? moment.getTime() : typeof moment === 'string' ? Date.parse(moment) : NaN;
  if (!Number.isNaN(time)) return new Date(time).toISOString();
  throw new FhirError('invalid', 'olderThan must be a Date or an ISO 8601 instant');
}
