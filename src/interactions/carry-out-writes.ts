import { type GuardedKey, type GuardedResult, failedIndex, withIndex } from '../access/contract.js';
import { FhirError } from '../fhir/error.js';
import { keyText, parseReference } from '../fhir/reference.js';
import { randomId } from '../platform/node-crypto.js';
import { Pace } from '../platform/pace.js';
import { ATTEMPTS, Overtaken, withRetries } from '../store/with-retries.js';
import { severalMatches } from './condition.js';
import type { GuardedSession } from './interaction-session.js';
import { planWrites, type PlannedWrite, type Settled, type WritePlan } from './plan-writes.js';
import type { WriteOutcome, WriteRequest } from './write-request.js';

/**
 * Executes requests in order and atomically, in one commit: each sees the effects of those before it.
 *
 * @returns one outcome per request, same order
 * @throws FhirError of the first request that fails, with its position in `details.index`; nothing is written then.
 * `invalid`, `not-found`, `gone`, `forbidden`, `conflict`, `precondition-failed`, `unprocessable`, `too-costly`
 */
export async function carryOutWrites(
  requests: readonly WriteRequest[],
  session: GuardedSession,
): Promise<readonly WriteOutcome[]> {
  const settled: Settled = { ids: requests.map(generatedId), matched: new Map() };
  return withRetries({ attempts: ATTEMPTS.write, signal: session.options.signal }, () =>
    attemptWrites(requests, settled, session),
  );
}

function generatedId(request: WriteRequest): string {
  return (request.interaction === 'create' ? request.generatedId : undefined) ?? randomId();
}

async function attemptWrites(
  requests: readonly WriteRequest[],
  settled: Settled,
  session: GuardedSession,
): Promise<readonly WriteOutcome[] | Overtaken> {
  const plan = await planWrites(requests, settled, session);
  try {
    const writes = plan.writes.map(({ write }) => write);
    const results = writes.length === 0 ? [] : await session.store.commit(writes, session.options);
    return await outcomesOf(requests, plan, settled.matched, results);
  } catch (error) {
    const failed = plannedWrite(error, plan.writes);
    if (!(error instanceof FhirError) || failed === undefined) throw error;
    const earlier = failed.role === 'no-match-expected' ? holderAmong(plan, error) : undefined;
    if (earlier === undefined) {
      const explained = explain(failed, error);
      if (isOvertaken(failed, error)) return new Overtaken(explained);
      throw explained;
    }
    // Only the commit detects that an earlier request's write meets a condition. Each request learns this at most once.
    const matched = new Map([...settled.matched, [failed.from, earlier]]);
    return attemptWrites(requests, { ...settled, matched }, session);
  }
}

function plannedWrite(error: unknown, writes: readonly PlannedWrite[]): PlannedWrite | undefined {
  const index = failedIndex(error);
  return index === undefined ? undefined : writes[index];
}

/** The resource written by an earlier request that meets a condition unmatched in the store. */
function holderAmong({ touched }: WritePlan, error: FhirError): GuardedKey | undefined {
  const holder = parseReference(String(error.details?.['holder']));
  return holder?.kind === 'local' && touched.has(keyText(holder)) ? { type: holder.type, id: holder.id } : undefined;
}

/** True if a new plan may succeed. */
function isOvertaken({ role }: PlannedWrite, { code }: FhirError): boolean {
  return (
    (role === 'patched' && code === 'precondition-failed') || (role === 'no-match-expected' && code === 'conflict')
  );
}

function explain({ role, write, from }: PlannedWrite, error: FhirError): FhirError {
  const several = role === 'unique-match' && error.code === 'conflict' && write.kind === 'assert-no-match';
  return withIndex(several ? severalMatches(write.query.type) : error, from);
}

/** Results create their resources on demand, which takes time. The writes are already committed. */
async function outcomesOf(
  requests: readonly WriteRequest[],
  { writes, found }: WritePlan,
  matched: ReadonlyMap<number, GuardedKey>,
  results: readonly GuardedResult[],
): Promise<readonly WriteOutcome[]> {
  const pace = new Pace();
  const outcomes: WriteOutcome[] = [];
  const latest = new Map<string, WriteOutcome>();
  const own = new Map(writes.map(({ write, from }, index) => [from, { write, result: results[index]! }]));
  for (const index of requests.keys()) {
    const existing = found.get(index);
    const earlier = matched.get(index);
    if (existing !== undefined) outcomes.push({ status: 'matched', resource: existing });
    else if (earlier !== undefined) outcomes.push(asMatch(latest.get(keyText(earlier))!));
    else {
      // Checks precede the write itself, so the write is the last of its request.
      const { write, result } = own.get(index)!;
      if (write.kind === 'assert-no-match') throw new TypeError('A request that needs a write has one');
      if (pace.isSpent) await pace.next();
      const outcome = outcomeOf(write.key, result);
      latest.set(keyText(write.key), outcome);
      outcomes.push(outcome);
    }
  }
  return outcomes;
}

function outcomeOf(key: GuardedKey, result: GuardedResult): WriteOutcome {
  switch (result.kind) {
    case 'put': {
      const { created, resource, unreadable } = result;
      return { status: created ? 'created' : 'updated', resource, ...(unreadable === true ? { unreadable } : {}) };
    }
    case 'delete':
      return { status: 'deleted', key, versionId: result.versionId };
    case 'erase':
    case 'assert-no-match':
      throw new TypeError('A write has the result of a write');
  }
}

function asMatch(outcome: WriteOutcome): WriteOutcome {
  return 'resource' in outcome ? { status: 'matched', resource: outcome.resource } : outcome;
}
