import { randomUUID } from 'node:crypto';
import { FhirError } from '../fhir/error.js';
import { parseReference } from '../fhir/reference.js';
import { keyText, severalMatches } from './condition.js';
import type { GuardedSession } from './interaction-session.js';
import type { GuardedKey, GuardedResult } from '../access/contract.js';
import { planWrites, type PlannedWrite, type WritePlan } from './plan-writes.js';
import { withIndex } from '../access/write-error.js';
import type { WriteOutcome, WriteRequest } from './write-request.js';

/** How often writes are planned anew when what they rest on was changed by another writer meanwhile. */
const ATTEMPTS = 5;

/**
 * Carries out requests in their order, all or none, in one commit: each sees what those before it do.
 *
 * @returns one outcome per request, same order
 * @throws FhirError of the first request that fails, with its position in `details.index`; nothing is written then.
 * `invalid`, `not-found`, `gone`, `forbidden`, `conflict`, `precondition-failed`, `unprocessable`, `too-costly`
 */
export async function carryOutWrites(
  requests: readonly WriteRequest[],
  session: GuardedSession,
): Promise<readonly WriteOutcome[]> {
  const ids = requests.map(() => randomUUID());
  const matched = new Map<number, GuardedKey>();
  for (let attempt = 1; ;) {
    const plan = await planWrites(requests, { ids, matched }, session);
    const { writes } = plan;
    try {
      const results =
        writes.length === 0
          ? []
          : await session.store.commit(
              writes.map(({ write }) => write),
              session.options,
            );
      return outcomesOf(requests, plan, matched, results);
    } catch (error) {
      const failed = plannedWrite(error, writes);
      if (!(error instanceof FhirError) || failed === undefined) throw error;
      const earlier = failed.role === 'first' ? holderAmong(plan, error) : undefined;
      if (earlier !== undefined) {
        matched.set(failed.from, earlier);
        continue;
      }
      if (!isOvertaken(failed, error) || attempt === ATTEMPTS) throw explain(failed, error);
      attempt += 1;
      matched.clear();
    }
  }
}

function plannedWrite(error: unknown, writes: readonly PlannedWrite[]): PlannedWrite | undefined {
  const index = error instanceof FhirError ? error.details?.['index'] : undefined;
  return typeof index === 'number' ? writes[index] : undefined;
}

/** The resource that an earlier request writes and that meets a condition nothing in the store met. */
function holderAmong({ touched }: WritePlan, error: FhirError): GuardedKey | undefined {
  const holder = parseReference(String(error.details?.['holder']));
  return holder?.kind === 'local' && touched.has(keyText(holder)) ? { type: holder.type, id: holder.id } : undefined;
}

/** True where planning again may give another result. */
function isOvertaken({ role }: PlannedWrite, { code }: FhirError): boolean {
  return (role === 'patched' && code === 'precondition-failed') || (role === 'first' && code === 'conflict');
}

function explain({ role, write, from }: PlannedWrite, error: FhirError): FhirError {
  const several = role === 'only' && error.code === 'conflict' && write.kind === 'unmatched';
  return withIndex(several ? severalMatches(write.query.type) : error, from);
}

function outcomesOf(
  requests: readonly WriteRequest[],
  { writes, found }: WritePlan,
  matched: ReadonlyMap<number, GuardedKey>,
  results: readonly GuardedResult[],
): readonly WriteOutcome[] {
  const outcomes: WriteOutcome[] = [];
  const latest = new Map<string, WriteOutcome>();
  const own = new Map(writes.map(({ write, from }, index) => [from, { write, result: results[index]! }]));
  for (const index of requests.keys()) {
    const existing = found.get(index);
    const earlier = matched.get(index);
    if (existing !== undefined) outcomes.push({ status: 'matched', resource: existing });
    else if (earlier !== undefined) outcomes.push(asMatch(latest.get(keyText(earlier))!));
    else {
      // Checks stand before the write itself, which is therefore the last of its request.
      const { write, result } = own.get(index)!;
      if (write.kind === 'unmatched') throw new TypeError('A request that needs a write has one');
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
    case 'unmatched':
      throw new TypeError('A write has the result of a write');
  }
}

function asMatch(outcome: WriteOutcome): WriteOutcome {
  return 'resource' in outcome ? { status: 'matched', resource: outcome.resource } : outcome;
}
