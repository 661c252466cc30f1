import { keyText } from '../../fhir/reference.js';
import type { GuardedWrite } from '../../access/contract.js';
import { mapInTurns } from '../../platform/pace.js';
import { CallPace } from '../../store/guards.js';
import type { WriteResult } from '../../store/write.js';
import type { BundleEntry } from '../entries/bundle-entries.js';
import { type LinkLookup, linksWithin, resolveConditionalReferences, rewriteLinks } from '../links/rewrite-links.js';
import type { EntryFaults, EntryOutcome } from '../entries/entry-outcome.js';
import { identify, type Identified, inProcessingOrder, type PutEntry } from '../entries/identify.js';
import { planPuts } from '../write.js';
import type { ImportSession } from '../session.js';

/** The plan of one entry: checks that precede all puts, then at most one write, or a known outcome. */
export type EntryPlan =
  | WritePlan
  | { readonly kind: 'done'; readonly identified: Identified; readonly outcome: EntryOutcome }
  | { readonly kind: 'read'; readonly identified: Identified };

/** An instance: see {@link BundleEntry}. */
class WritePlan {
  readonly kind = 'write';

  constructor(
    readonly identified: Identified,
    readonly check: GuardedWrite | undefined,
    readonly write: GuardedWrite,
    /** See {@link PutEntry.optimistic}; also true of a guess. */
    readonly optimistic: boolean,
  ) {}
}

/** True if the plan's preconditions depend on a search or a guess. */
export function isOptimistic(plan: EntryPlan): boolean {
  return plan.kind === 'write' && plan.optimistic;
}

/**
 * Turns entries into writes: identities found, links rewritten, conditional references resolved, unchanged resources
 * left out. Reads the store, changes nothing.
 *
 * @param review receives the identities before planning continues; it may add faults
 * @param mayGuess see {@link planPuts}
 * @returns plans in processing order, without the entries that got a fault
 */
export async function planEntries(
  entries: readonly BundleEntry[],
  session: ImportSession,
  faults: EntryFaults,
  review: (identified: readonly Identified[]) => Promise<void> | undefined = () => undefined,
  mayGuess = false,
): Promise<readonly EntryPlan[]> {
  const identified = await identify(inProcessingOrder(entries), session, faults);
  await review(identified);
  const pace = new CallPace(session.options);
  const within = await linksWithin(identified, pace);
  let maybeConditional = false;
  const lookup: LinkLookup = (link, kind) => {
    if (kind === 'reference' && link.includes('?')) maybeConditional = true;
    return within(link, kind);
  };
  const { model } = session.store;
  const linked = await mapInTurns(identified, pace, (one) =>
    one.action === 'put' ? { ...one, resource: rewriteLinks(model, one.resource, lookup) } : one,
  );
  // Most Bundles have no conditional reference, and need no second walk to find them.
  const found = maybeConditional ? await resolveConditionalReferences(linked, session, faults) : linked;
  const resolved = found.filter(({ entry }) => !faults.has(entry.index));

  const puts = resolved.filter((one): one is PutEntry => one.action === 'put');
  const deleted = new Set(resolved.flatMap((one) => (one.action === 'delete' ? [keyText(one.key)] : [])));
  const planned = await planPuts(puts, deleted, session, mayGuess);
  let next = 0;
  return mapInTurns(resolved, pace, (one): EntryPlan => {
    switch (one.action) {
      case 'put': {
        const plan = planned[next++]!;
        if (plan.kind === 'unchanged') return done(one, { kind: 'unchanged', key: one.key, stored: plan.stored });
        const optimistic = one.optimistic || plan.guessed;
        return new WritePlan(one, one.check, plan.write, optimistic);
      }
      case 'delete': {
        const write: GuardedWrite = { kind: 'delete', key: one.key, expect: one.expect };
        return new WritePlan(one, undefined, write, one.optimistic);
      }
      case 'match':
        return done(one, { kind: 'unchanged', key: one.key, stored: one.stored });
      case 'nothing':
        return done(one, { kind: 'deleted', versionId: null });
      case 'read':
        return { kind: 'read', identified: one };
    }
  });
}

/** The outcome of an entry from its write and the result. */
export function outcomeOf(write: GuardedWrite, result: WriteResult): EntryOutcome {
  if (result.kind === 'delete') return { kind: 'deleted', versionId: result.versionId };
  if (result.kind === 'put' && write.kind === 'put')
    return { kind: result.created ? 'created' : 'updated', key: write.key, stored: result };
  throw new TypeError('A check has no outcome');
}

function done(identified: Identified, outcome: EntryOutcome): EntryPlan {
  return { kind: 'done', identified, outcome };
}
