import { FhirError } from '../../fhir/error.js';
import { Pace } from '../../platform/pace.js';
import { isConflict } from '../../store/conflicts.js';
import { assertNotAborted } from '../../store/guards.js';
import { ATTEMPTS, Overtaken, withRetries } from '../../store/with-retries.js';
import type { BundleContent, BundleEntry } from '../entries/bundle-entries.js';
import { BundleReads } from '../entries/bundle-reads.js';
import { commitEach, partlyWritten, type WriteGroup } from '../write/commit-each.js';
import { type EntryOutcome, type ImportResult, toImportResult } from '../entries/entry-outcome.js';
import { type EntryPlan, isOptimistic, outcomeOf, planEntries } from './plan-entries.js';
import type { ImportSession } from '../session.js';

/**
 * Executes entries independently: a failure affects only its own entry.
 *
 * @throws FhirError `aborted`, `unavailable`, `corrupt` - with `details.unknown` if an entry was already written
 */
export async function runBatch(content: BundleContent, session: ImportSession): Promise<ImportResult> {
  assertNotAborted(session.options);
  const outcomes = new Array<EntryOutcome>(content.size);
  try {
    await runEntries(content, outcomes, session);
  } catch (error) {
    throw outcomes.some(isWritten) ? partlyWritten(error) : error;
  }
  return toImportResult('batch', outcomes);
}

async function runEntries(content: BundleContent, outcomes: EntryOutcome[], session: ImportSession): Promise<void> {
  const { faults } = content;
  let plans = await planEntries(content.entries, session, faults);
  const reads = plans.filter(({ kind }) => kind === 'read');
  await withRetries({ attempts: ATTEMPTS.write, signal: session.options.signal }, async ({ isLast }) => {
    const overtaken = await runPlans(plans, outcomes, session);
    if (overtaken.length === 0 || isLast) return;
    plans = await planEntries(overtaken, session, faults);
    return new Overtaken();
  });
  const answers = new BundleReads(session);
  const pace = new Pace();
  for (const { identified } of reads) {
    if (pace.isSpent) await pace.next();
    await faults.guardAsync(identified.entry.index, async () => {
      outcomes[identified.entry.index] = await answers.read(identified.entry);
    });
  }
  for (let index = 0; index < content.size; index++) {
    if (pace.isSpent) await pace.next();
    const error = faults.get(index);
    if (error !== undefined) outcomes[index] = { kind: 'failed', error };
  }
}

function isWritten({ kind }: EntryOutcome): boolean {
  return kind === 'created' || kind === 'updated' || kind === 'deleted';
}

/** @returns the entries to plan again, each with its failure as the outcome so far */
async function runPlans(
  plans: readonly EntryPlan[],
  outcomes: EntryOutcome[],
  session: ImportSession,
): Promise<readonly BundleEntry[]> {
  const groups: WriteGroup[] = [];
  const written: (EntryPlan & { kind: 'write' })[] = [];
  for (const plan of plans) {
    if (plan.kind === 'done') outcomes[plan.identified.entry.index] = plan.outcome;
    if (plan.kind !== 'write') continue;
    groups.push(plan.check === undefined ? [plan.write] : [plan.check, plan.write]);
    written.push(plan);
  }
  const overtaken: BundleEntry[] = [];
  (await commitEach(groups, session)).forEach((result, position) => {
    const plan = written[position]!;
    const { entry } = plan.identified;
    if (result instanceof FhirError) {
      outcomes[entry.index] = { kind: 'failed', error: result };
      if (isOptimistic(plan) && isConflict(result)) overtaken.push(entry);
    } else {
      outcomes[entry.index] = outcomeOf(plan.write, result.at(-1)!);
    }
  });
  return overtaken;
}
