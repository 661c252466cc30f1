import { failedIndex, type GuardedKey, type GuardedResult, withIndex } from '../access/contract.js';
import { FhirError } from '../fhir/error.js';
import { keepDecimalTexts } from '../fhir/json/decimal-texts.js';
import { keyText, parseReference } from '../fhir/reference.js';
import { randomId } from '../platform/crypto.js';
import { Pace } from '../platform/pace.js';
import { requireResourceType } from '../search/parse/parse-context.js';
import type { StoredResource } from '../store/stored-resource.js';
import { ATTEMPTS, Overtaken, withRetries } from '../store/with-retries.js';
import { findMatch, parseCondition, severalMatches } from './condition.js';
import type { GuardedSession } from './interaction-session.js';
import { type PlannedWrite, planWrites, type Settled, type WritePlan } from './plan-writes.js';
import { assertResource, type WriteOutcome, type WriteRequest } from './write-request.js';

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

/** The search that selects the resource of a conditional interaction, and the version that it must have. */
interface WriteCondition {
  readonly type: string;
  /** `identifier=http://x|1`. */
  readonly condition: string;
  readonly ifMatch?: string | undefined;
}

/**
 * Updates the one resource that matches, or creates it if nothing matches. See
 * https://hl7.org/fhir/R4/http.html#cond-update.
 *
 * @throws FhirError `precondition-failed` - several resources match, or the match has another version than `ifMatch`
 * @throws FhirError `invalid` - the resource has an id, and the match another one
 */
export async function updateMatch(
  resource: unknown,
  condition: Omit<WriteCondition, 'type'>,
  session: GuardedSession,
): Promise<WriteOutcome> {
  assertResource(session.store.model, resource);
  const { resourceType: type, id } = resource;
  const outcome = await writeMatch({ ...condition, type }, session, (match) => {
    if (match !== undefined && id !== undefined && id !== match.resource.id) {
      throw new FhirError('invalid', `The ${type} that matches the condition has another id than the resource`);
    }
    if (match !== undefined)
      return { interaction: 'update', resource: keepDecimalTexts(resource, { ...resource, id: match.resource.id }) };
    if (condition.ifMatch !== undefined) {
      throw new FhirError('precondition-failed', `No ${type} matches the condition, so ifMatch cannot hold`);
    }
    if (id === undefined) return { interaction: 'create', resource, ifNoneExist: condition.condition };
    return { interaction: 'update', resource, ifNoneMatch: '*', ifNoneExist: condition.condition };
  });
  return outcome!;
}

/** Patches the one resource that matches. @throws FhirError `not-found`, `precondition-failed` - several match */
export async function patchMatch(
  condition: WriteCondition,
  operations: unknown,
  session: GuardedSession,
): Promise<WriteOutcome> {
  const outcome = await writeMatch(condition, session, (match) => {
    if (match === undefined) throw new FhirError('not-found', `No ${condition.type} matches the condition`);
    return { interaction: 'patch', key: { type: condition.type, id: match.resource.id! }, operations };
  });
  return outcome!;
}

/**
 * Deletes the one resource that matches. If nothing matches, nothing happens.
 *
 * @returns undefined if nothing matched
 * @throws FhirError `precondition-failed` - several match
 */
export function deleteMatch(condition: WriteCondition, session: GuardedSession): Promise<WriteOutcome | undefined> {
  return writeMatch(condition, session, (match) =>
    match === undefined ? undefined : { interaction: 'delete', key: { type: condition.type, id: match.resource.id! } },
  );
}

/**
 * Finds the match and writes it, on condition that it is unchanged; if another writer changed it in between, the search
 * is repeated.
 *
 * @param plan the write; undefined for none
 */
async function writeMatch(
  { type, condition, ifMatch }: WriteCondition,
  session: GuardedSession,
  plan: (match: StoredResource | undefined) => WriteRequest | undefined,
): Promise<WriteOutcome | undefined> {
  requireResourceType(session.store.model, type);
  const criteria = parseCondition(session.store.model, type, condition);
  return withRetries({ attempts: ATTEMPTS.write, signal: session.options.signal }, async () => {
    const match = await findMatch(type, criteria, NOTHING_EXCLUDED, session);
    const request = plan(match);
    if (request === undefined) return undefined;
    const expected = match === undefined ? {} : { ifMatch: ifMatch ?? match.versionId };
    try {
      const [outcome] = await carryOutWrites([{ ...request, ...expected }], session);
      return match === undefined && outcome!.status === 'matched' ? new Overtaken(severalMatches(type)) : outcome!;
    } catch (error) {
      if (ifMatch === undefined && error instanceof FhirError && error.code === 'precondition-failed') {
        return new Overtaken(error);
      }
      throw error;
    }
  });
}

const NOTHING_EXCLUDED: ReadonlySet<string> = new Set();
