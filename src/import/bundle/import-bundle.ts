import { type AccessTrace, tracedBy } from '../../access/access-trace.js';
import { failedIndex, type GuardedWrite } from '../../access/contract.js';
import { type InCall, operation, type OperationOptions } from '../../access/operation.js';
import type { AuditFacts } from '../../audit/audit.js';
import { FhirError } from '../../fhir/error.js';
import { copyBundleForHost } from '../../fhir/json/copy-json.js';
import { hasDecimalText } from '../../fhir/json/stringify-json.js';
import { keyText } from '../../fhir/reference.js';
import { Pace } from '../../platform/pace.js';
import { CallPace } from '../../store/guards.js';
import { ATTEMPTS, isConflict, Overtaken, withRetries } from '../../store/with-retries.js';
import { assertNotAborted } from '../../store/guards.js';
import { serviceBaseUrl } from '../../store/store.js';
import type { WriteResult } from '../../store/write.js';
import { type BundleContent, type BundleEntry, readBundle } from '../entries/bundle-entries.js';
import { BundleReads } from '../entries/read-entries.js';
import { EntryFaults, type EntryOutcome, type ImportResult, toImportResult } from '../entries/entry-outcome.js';
import type { Identified } from '../entries/identify.js';
import { type EntryReader, type ImportContext, type ImportSession, openSession } from '../session.js';
import { commitEach, partlyWritten, type WriteGroup } from '../write.js';
import { bundleTargets } from './bundle-targets.js';
import { type EntryPlan, isOptimistic, outcomeOf, planEntries } from './plan-entries.js';

/**
 * Imports a transaction or batch Bundle into the caller's project. See https://hl7.org/fhir/R4/http.html#transaction.
 *
 * - A transaction takes effect as a whole, in one commit, or not at all; the entries of a batch are independent.
 *   Both are processed in the order DELETE, POST, PUT, GET.
 * - **Ids are kept.** A POST stores its resource under its own id, otherwise under the id in its `urn:uuid:` or
 *   `…/Type/id` fullUrl, otherwise under a new UUID. If that id exists, the resource becomes its next version, or
 *   nothing is written if the content is the same. So importing a Bundle twice changes nothing the second time. `ids:
 *   'assigned'` gives every POST a new id instead, as a FHIR server does.
 * - **Links** to entries by fullUrl become `Type/id` as stored: in references, elements of type url, uri, oid and uuid
 *   and in narrative links. In elements of type uri, this applies only to `urn:` fullUrls, because canonical URLs also
 *   have that type. Unresolvable links are unchanged.
 * - **Conditions**: `ifNoneExist`, `PUT Type?…`, `DELETE Type?…` (at most one match), `ifMatch`, `PUT` with
 *   `ifNoneMatch: *`, and conditional references, which must match exactly one resource of the Bundle or the project.
 * - GET entries read, vread and search, and see what the Bundle wrote.
 *
 * @param bundle parsed JSON; it is not changed. Parse JSON text with `parseJson`, which keeps the digits of decimals.
 * @throws FhirError `invalid` - no Bundle, or not of type transaction or batch
 * @throws FhirError `unauthenticated` - no caller
 * @throws FhirError of the first faulty entry of a transaction, with one issue per faulty entry
 * (`Bundle.entry[3].resource`) and their positions in `details.entries`, up to 1,000 entries; a batch reports all of
 * them in its response instead
 * @throws FhirError `aborted`, `unavailable` - of a batch, part may have been imported
 *
 * @example
 * const { created } = await importBundle(parseJson(text), { store, caller: systemCaller('clinic') });
 */
export function importBundle(bundle: object, context: ImportContext): Promise<ImportResult> {
  return importWith(bundle, context, runBundle);
}

/** Imports a Bundle. It receives the context with its limits applied. */
export type RunImport = (
  bundle: object,
  context: InCall<ImportContext>,
  trace: AccessTrace | undefined,
) => Promise<ImportResult>;

/** {@link importBundle}, carried out by the caller. */
export function importWith(
  bundle: object,
  context: ImportContext,
  run: RunImport,
  options?: OperationOptions,
): Promise<ImportResult> {
  const work = async (bounded: InCall<ImportContext>, facts: AuditFacts): Promise<ImportResult> => {
    const trace = tracedBy(context, facts);
    const { model } = context.store;
    const baseUrl = serviceBaseUrl(context);
    if (trace !== undefined) facts.targets = await bundleTargets(model, bundle, undefined, baseUrl);
    const result = await run(bundle, bounded, trace);
    if (trace !== undefined) facts.targets = await bundleTargets(model, bundle, result.bundle, baseUrl);
    facts.results = result.bundle.entry?.length ?? 0;
    return hasDecimalText(result.bundle) ? { ...result, bundle: await copyBundleForHost(result.bundle) } : result;
  };
  return operation(context, 'import', work, options);
}

/** {@link importBundle} within a larger operation. */
export async function runBundle(
  bundle: object,
  context: InCall<ImportContext>,
  trace?: AccessTrace,
  reader?: EntryReader,
): Promise<ImportResult> {
  const session = openSession(context, trace, reader);
  return runContent(await readBundle(context.store.model, bundle, session.baseUrl, session.options), session);
}

export function runContent(content: BundleContent, session: ImportSession): Promise<ImportResult> {
  return content.type === 'transaction' ? runTransaction(content, session) : runBatch(content, session);
}

/**
 * Executes entries independently: a failure affects only its own entry.
 *
 * @throws FhirError `aborted`, `unavailable`, `corrupt` - with `details.unknown` if an entry was already written
 */
async function runBatch(content: BundleContent, session: ImportSession): Promise<ImportResult> {
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

/**
 * All entries or none, in one commit.
 *
 * @throws FhirError with one issue per faulty entry; nothing was changed then
 */
async function runTransaction(content: BundleContent, session: ImportSession): Promise<ImportResult> {
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

/** An instance: see `BundleEntry`. */
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
