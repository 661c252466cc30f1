import { FhirError } from '../../fhir/error.js';
import { isJsonObject } from '../../fhir/resource.js';
import {
  type Concept,
  type Criteria,
  type Expansions,
  expansionsIn,
  needsTerminology,
  withExpansions,
} from '../../search/criteria/criteria.js';
import type { ExpansionRequest } from '../../search/criteria/value-test.js';
import { Pace } from '../../platform/pace.js';
import { tooCostly } from '../../search/parse/parse-context.js';
import { assertNotAborted, callAborted, callTimedOut } from '../../store/guards.js';
import type { CallOptions } from '../../store/call-options.js';
import type { Terminology, TerminologyContext } from '../../store/terminology.js';

/** Most concepts of all expansions in one search, or in the criteria of one policy. */
export const MAX_CONCEPTS = 10_000;
/** Most expansions in one search, or in the criteria of one policy. */
export const MAX_EXPANSIONS = 10;
/** Concepts that take about 3 ms in a search. */
const MANY_CONCEPTS = 1_000;
/** Longest wait for a terminology, in milliseconds. */
const MAX_WAIT_MS = 10_000;

/**
 * The criteria with tests of concepts replaced by tests of their codes.
 *
 * @throws FhirError as {@link expandAll}
 */
export async function withConcepts(
  criteria: Criteria,
  terminology: Terminology | undefined,
  context: Omit<TerminologyContext, 'signal'>,
  options: CallOptions | undefined,
): Promise<Criteria> {
  const requests = expansionsIn(criteria);
  // Nearly all searches.
  if (requests.size === 0) return criteria;
  return withExpansions(criteria, await expandAll(requests, terminology, context, options));
}

/**
 * Requests expansions from a terminology, all at once.
 *
 * @throws FhirError `unsupported` - there is no terminology, or it cannot expand one of them
 * @throws FhirError `unavailable` - it cannot be reached, takes longer than 10 seconds, or answers something else
 * @throws FhirError `too-costly` - more than {@link MAX_CONCEPTS} concepts, or {@link MAX_EXPANSIONS} expansions
 * @throws FhirError `aborted` - by the signal or deadline of the call
 */
export async function expandAll(
  requests: ReadonlyMap<string, ExpansionRequest>,
  terminology: Terminology | undefined,
  context: Omit<TerminologyContext, 'signal'>,
  options: CallOptions | undefined,
): Promise<Expansions> {
  if (terminology === undefined) throw needsTerminology();
  if (requests.size > MAX_EXPANSIONS)
    throw tooCostly('value sets and hierarchies of codes', MAX_EXPANSIONS, requests.size, 'ask in several requests');
  const pace = new Pace();
  const found = await withinTime(options, (signal) =>
    Promise.all(
      [...requests].map(async ([key, request]): Promise<[string, readonly Concept[]]> => [
        key,
        checked(await terminology.expand(request, { ...context, signal })),
      ]),
    ),
  );
  const count = found.reduce((sum, [, concepts]) => sum + concepts.length, 0);
  if (count > MAX_CONCEPTS)
    throw tooCostly('codes of value sets in one search', MAX_CONCEPTS, count, 'name a narrower set');
  // Building criteria from thousands of codes takes as long again.
  if (count > MANY_CONCEPTS && pace.isSpent) await pace.next();
  return new Map(found);
}

/** Asks a terminology. @throws FhirError `unavailable`, `aborted` - as {@link expandAll} */
export async function withinTime<Result>(
  options: CallOptions | undefined,
  work: (signal: AbortSignal) => Promise<Result>,
): Promise<Result> {
  assertNotAborted(options);
  const { signal, deadline = Infinity } = options ?? {};
  const left = deadline - performance.now();
  if (left <= 0) throw callTimedOut();
  const control = new AbortController();
  const { promise: ended, reject } = Promise.withResolvers<never>();
  const end = (): void => reject(left < MAX_WAIT_MS ? callTimedOut() : unavailable('takes too long'));
  const timer = setTimeout(end, Math.min(left, MAX_WAIT_MS));
  const abort = (): void => reject(callAborted(signal));
  signal?.addEventListener('abort', abort);
  try {
    return await Promise.race([ended, work(control.signal)]);
  } catch (error) {
    throw error instanceof FhirError ? error : unavailable('failed', error);
  } finally {
    clearTimeout(timer);
    signal?.removeEventListener('abort', abort);
    control.abort();
  }
}

/** A terminology is code of the host, so that its answers may be anything. */
function checked(concepts: unknown): readonly Concept[] {
  if (!Array.isArray(concepts) || !concepts.every(isConcept))
    throw unavailable('answered something else than concepts');
  return concepts;
}

function isConcept(value: unknown): value is Concept {
  if (!isJsonObject(value)) return false;
  const { system, code } = value;
  return typeof code === 'string' && code !== '' && (system === undefined || typeof system === 'string');
}

function unavailable(reason: string, cause?: unknown): FhirError {
  return new FhirError(
    'unavailable',
    `The terminology ${reason}, so that value sets cannot be searched now; try again`,
    {
      cause,
    },
  );
}
