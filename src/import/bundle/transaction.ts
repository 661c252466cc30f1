import { type GuardedWrite, failedIndex } from '../../access/contract.js';
import { FhirError } from '../../fhir/error.js';
import { keyText } from '../../fhir/reference.js';
import { Pace } from '../../platform/pace.js';
import { CallPace } from '../../store/call-pace.js';
import { isConflict } from '../../store/conflicts.js';
import { assertNotAborted } from '../../store/guards.js';
import { ATTEMPTS, Overtaken, withRetries } from '../../store/with-retries.js';
import type { WriteResult } from '../../store/write.js';
import type { BundleContent } from '../entries/bundle-entries.js';
import { BundleReads } from '../entries/bundle-reads.js';
import { EntryFaults } from '../entries/entry-faults.js';
import { type EntryOutcome, type ImportResult, toImportResult } from '../entries/entry-outcome.js';
import type { Identified } from '../entries/identify.js';
import type { ImportSession } from '../session.js';
import { type EntryPlan, isOptimistic, outcomeOf, planEntries } from './plan-entries.js';

/**
 * All entries or none, in one commit.
 *
 * @throws FhirError with one issue per faulty entry; nothing was changed then
 */
export async function runTransaction(content: BundleContent, session: ImportSession): Promise<ImportResult> {
  if (content.faults.size > 0) throw content.faults.toError(content.size);
  assertNotAborted(session.options);
  return withRetries({ attempts: ATTEMPTS.write, signal: session.options.signal }, async ({ number }) => {
    const faults = new EntryFaults();
    const review = (identified: readonly Identified[]): Promise<void> => refuseOverlaps(identified, session, faults);
    const plans = await planEntries(content.entries, session, faults, review, number === 1);
    await foreseeReads(plans, session, faults);
    if (faults.size > 0) throw faults.toError(content.size);

    const planned = toWrites(plans);
    const writes = planned.map(({ write }) => write);
    let results: readonly WriteResult[];
    try {
      results = writes.length === 0 ? [] : await session.store.commit(writes, session.options);
    } catch (error) {
      session.guess?.learnFailure(error, writes);
      const attributed = attribute(error, planned, content.size);
      if (isConflict(error) && plans.some(isOptimistic)) return new Overtaken(attributed);
      throw attributed;
    }
    return toImportResult('transaction', await outcomes(content.size, plans, planned, results, session));
  });
}

/** One entry per resource: otherwise the outcome would depend on the order of entries. */
async function refuseOverlaps(
  identified: readonly Identified[],
  { options }: ImportSession,
  faults: EntryFaults,
): Promise<void> {
  const holders = new Map<string, number>();
  const hold = (name: string, index: number, what: string): void => {
    const holder = holders.get(name);
    if (holder === undefined) holders.set(name, index);
    else faults.add(index, new FhirError('invalid', `The entry has ${what} as entry ${holder}`));
  };
  const pace = new CallPace(options);
  for (const one of identified) {
    if (pace.isSpent) await pace.next();
    if (one.action !== 'put' && one.action !== 'delete') continue;
    const { index, ifNoneExist } = one.entry;
    hold(keyText(one.key), index, `the same resource (${keyText(one.key)})`);
    if (ifNoneExist !== undefined) hold(`${one.key.type}?${ifNoneExist}`, index, 'the same ifNoneExist');
  }
}

/** Reads run after the commit, but a failed read must fail the transaction, so they are checked in advance. */
async function foreseeReads(plans: readonly EntryPlan[], session: ImportSession, faults: EntryFaults): Promise<void> {
  if (!plans.some(({ kind }) => kind === 'read')) return;
  const future = new Map<string, 'put' | 'delete'>();
  for (const { identified } of plans) {
    if (identified.action === 'put' || identified.action === 'delete') {
      future.set(keyText(identified.key), identified.action);
    }
  }
  // No trace here: the answer shows the reads after the commit.
  const reads = new BundleReads({ ...session, trace: undefined });
  const pace = new CallPace(session.options);
  for (const { kind, identified } of plans) {
    if (kind !== 'read') continue;
    if (pace.isSpent) await pace.next();
    const { entry } = identified;
    const { type, id, version, history } = entry.request;
    const fate = id === undefined || version !== undefined ? undefined : future.get(keyText({ type, id }));
    if (fate === 'put') continue;
    await faults.guardAsync(entry.index, async () => {
      if (fate === 'delete' && history !== true)
        throw new FhirError('gone', `${type}/${id} is deleted by the same transaction`);
      await reads.read(entry);
    });
  }
}

/** PERF: an instance: see `BundleEntry`. */
class PlannedWrite {
  constructor(
    readonly index: number,
    readonly write: GuardedWrite,
  ) {}
}

/** Deletions, then checks, then puts: a check must see the deletions but not the put it guards. */
function toWrites(plans: readonly EntryPlan[]): readonly PlannedWrite[] {
  const deletes: PlannedWrite[] = [];
  const checks: PlannedWrite[] = [];
  const puts: PlannedWrite[] = [];
  for (const plan of plans) {
    if (plan.kind !== 'write') continue;
    const { index } = plan.identified.entry;
    if (plan.check !== undefined) checks.push(new PlannedWrite(index, plan.check));
    (plan.write.kind === 'delete' ? deletes : puts).push(new PlannedWrite(index, plan.write));
  }
  return [...deletes, ...checks, ...puts];
}

function attribute(error: unknown, writes: readonly PlannedWrite[], size: number): unknown {
  const position = failedIndex(error);
  const index = position === undefined ? undefined : writes[position]?.index;
  if (index === undefined) return error;
  const faults = new EntryFaults();
  faults.add(index, error);
  return faults.toError(size);
}

async function outcomes(
  size: number,
  plans: readonly EntryPlan[],
  writes: readonly PlannedWrite[],
  results: readonly WriteResult[],
  session: ImportSession,
): Promise<readonly EntryOutcome[]> {
  const byEntry = new Array<EntryOutcome>(size);
  // The answer is built even after an abort, because the writes are committed.
  const pace = new Pace();
  for (const [position, result] of results.entries()) {
    if (pace.isSpent) await pace.next();
    const { index, write } = writes[position]!;
    if (result.kind !== 'assert-no-match') byEntry[index] = outcomeOf(write, result);
  }
  const reads = new BundleReads(session);
  for (const plan of plans) {
    if (pace.isSpent) await pace.next();
    const { index } = plan.identified.entry;
    if (plan.kind === 'done') byEntry[index] = plan.outcome;
    if (plan.kind === 'read') byEntry[index] = await readAfterwards(plan, reads);
  }
  return byEntry;
}

/** A concurrent writer may have changed the resource; the transaction is committed nevertheless. */
async function readAfterwards(plan: EntryPlan, reads: BundleReads): Promise<EntryOutcome> {
  try {
    return await reads.read(plan.identified.entry);
  } catch (error) {
    if (error instanceof FhirError) return { kind: 'failed', error };
    throw error;
  }
}
