import { FhirError } from '../fhir/error.js';
import { keepDecimalTexts } from '../fhir/json/decimal-texts.js';
import { requireResourceType } from '../search/parse/require-parameter.js';
import { ATTEMPTS, Overtaken, withRetries } from '../store/with-retries.js';
import type { StoredResource } from '../store/stored-resource.js';
import { assertResource } from './assert-resource.js';
import { carryOutWrites } from './carry-out-writes.js';
import { findMatch, parseCondition, severalMatches } from './condition.js';
import type { GuardedSession } from './interaction-session.js';
import type { WriteOutcome, WriteRequest } from './write-request.js';

/** The search that selects the resource of a conditional interaction, and the version that it must have. */
export interface WriteCondition {
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
  const criteria = parseCondition(session.store.model, type, condition, session);
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
