import type { GuardedKey, GuardedWrite } from '../access/contract.js';
import { FhirError, inDoubt, maskError } from '../fhir/error.js';
import { sameJsonText } from '../fhir/json/copy-json.js';
import { keyText } from '../fhir/reference.js';
import type { AnyResource, JsonObject } from '../fhir/resource.js';
import { mapInTurns } from '../platform/pace.js';
import { CallPace } from '../store/guards.js';
import { assertNotAborted } from '../store/guards.js';
import type { ReadResult, StoredResource } from '../store/stored-resource.js';
import type { Expectation, WriteResult } from '../store/write.js';
import { concernsAll } from './entries/entry-outcome.js';
import type { ImportSession } from './session.js';

/** A resource that is to be stored. */
export interface WantedPut {
  readonly key: GuardedKey;
  readonly resource: AnyResource;
  readonly expect?: Expectation | undefined;
  /** See {@link GuardedWrite}. */
  readonly generatedId?: true | undefined;
}

/** The plan of a {@link WantedPut}: a write, or nothing if the content is unchanged. */
type PlannedPut =
  | {
      readonly kind: 'write';
      readonly write: GuardedWrite;
      /** True if it was not read, because it is expected to be new; see {@link CreateGuess}. */
      readonly guessed: boolean;
    }
  | { readonly kind: 'unchanged'; readonly stored: StoredResource };

/**
 * Compares resources with the stored ones, in one call, so that importing the same content again makes no new versions.
 *
 * @param changing {@link keyText}s of resources that change before these are written, so that their stored content is
 * outdated
 * @param mayGuess whether resources that are expected to be new are left unread; the commit fails if they exist
 * @returns one plan per put, same order
 */
export async function planPuts(
  puts: readonly WantedPut[],
  changing: ReadonlySet<string>,
  session: ImportSession,
  mayGuess = false,
): Promise<readonly PlannedPut[]> {
  const guess = mayGuess ? session.guess : undefined;
  const guessed = puts.map(({ key, expect }) => expect === undefined && guess?.expectsNew(key.type) === true);
  const current = await readCurrent(puts, guessed, session);
  const touched = new Set(changing);
  return mapInTurns(puts, new CallPace(session.options), ({ key, resource, expect, generatedId }, index) => {
    const text = keyText(key);
    const found = current[index];
    const kept = resource.id === key.id ? resource : withId(resource, key.id);
    if (
      found?.status === 'found' &&
      !touched.has(text) &&
      (expect === undefined || expect.version === found.versionId) &&
      sameContent(found.resource, kept)
    ) {
      return { kind: 'unchanged', stored: found };
    }
    touched.add(text);
    const isGuessed = guessed[index]!;
    const expected = isGuessed ? { version: null } : expect;
    return new PlannedWrite(new GuardedPut(key, kept, expected, generatedId), isGuessed);
  });
}

/** @returns one result per put, undefined for those that are guessed */
async function readCurrent(
  puts: readonly WantedPut[],
  guessed: readonly boolean[],
  session: ImportSession,
): Promise<readonly (ReadResult | undefined)[]> {
  const keys = puts.flatMap(({ key }, index) => (guessed[index] === true ? [] : [key]));
  if (keys.length === 0) return [];
  const stored = await session.store.read(keys, session.options);
  session.guess?.learn(keys, stored);
  if (keys.length === puts.length) return stored;
  let next = 0;
  return guessed.map((isGuessed) => (isGuessed ? undefined : stored[next++]));
}

/** A class instance, like the objects in it: see `BundleEntry`. */
class PlannedWrite {
  readonly kind = 'write';

  constructor(
    readonly write: GuardedWrite,
    readonly guessed: boolean,
  ) {}
}

class GuardedPut {
  readonly kind = 'put';
  readonly keepSecrets = true;

  constructor(
    readonly key: GuardedKey,
    readonly resource: AnyResource,
    readonly expect: Expectation | undefined,
    readonly generatedId: true | undefined,
  ) {}
}

/** The id in its usual place, right after the type. */
function withId(resource: AnyResource, id: string): AnyResource {
  const { resourceType, ...elements } = resource;
  return { resourceType, ...elements, id };
}

/**
 * True if two resources are equal apart from version, time, author and project in `meta`. Key order is ignored, but not
 * the digits of decimals: importing `1.00` over `1` creates a version.
 */
function sameContent(a: AnyResource, b: AnyResource): boolean {
  return sameJsonText(withoutStamps(a), withoutStamps(b));
}

/** Written into `meta` by the store and the guard. */
const STAMPED: ReadonlySet<string> = new Set(['versionId', 'lastUpdated', 'author', 'project']);

/** Removes {@link STAMPED} members, and a `meta` without others. */
function withoutStamps(resource: AnyResource): JsonObject {
  const { meta, ...elements } = resource as AnyResource & JsonObject;
  const rest = Object.entries(meta ?? {}).filter(([name]) => !STAMPED.has(name));
  return rest.length === 0 ? elements : { ...elements, meta: Object.fromEntries(rest) };
}

/**
 * Commits puts of which some are guessed, all at once.
 *
 * @returns undefined if nothing was written: a guess was wrong, or a resource cannot be stored
 * @throws FhirError `aborted`, `unavailable`, `corrupt`
 */
export async function commitGuessed(
  plans: readonly PlannedPut[],
  session: ImportSession,
): Promise<readonly (readonly WriteResult[])[] | undefined> {
  const writes = groupsOf(plans).flat();
  try {
    return (await session.store.commit(writes, session.options)).map((result) => [result]);
  } catch (error) {
    if (concernsAll(error)) throw error;
    session.guess?.learnFailure(error, writes);
    return undefined;
  }
}

/** The writes of puts, each on its own. */
export function groupsOf(plans: readonly PlannedPut[]): readonly WriteGroup[] {
  return plans.flatMap((plan) => (plan.kind === 'write' ? [[plan.write]] : []));
}

/** Writes that belong together: a check and the write that it guards, or a single write. */
export type WriteGroup = readonly GuardedWrite[];

/**
 * Commits independent groups, in order, with as few commits as possible: all at once, and on failure in halves, so that
 * only faulty groups are left out.
 *
 * @param stopAtFirst ends at the first faulty group; the groups after it are not committed, and not in the result
 * @returns per group its results, or why it was left out
 * @throws FhirError `aborted`, `unavailable`, `corrupt` - with `details.unknown` if an earlier group was committed
 */
export async function commitEach(
  groups: readonly WriteGroup[],
  session: ImportSession,
  stopAtFirst = false,
): Promise<readonly (readonly WriteResult[] | FhirError)[]> {
  if (groups.length === 0) return [];
  assertNotAborted(session.options);
  try {
    const results = await session.store.commit(groups.flat(), session.options);
    let start = 0;
    return groups.map((group) => results.slice(start, (start += group.length)));
  } catch (error) {
    if (concernsAll(error)) throw error;
    if (groups.length === 1) return [maskError(error)];
  }
  const half = groups.length >> 1;
  const first = await commitEach(groups.slice(0, half), session, stopAtFirst);
  if (stopAtFirst && first.at(-1) instanceof FhirError) return first;
  try {
    return [...first, ...(await commitEach(groups.slice(half), session, stopAtFirst))];
  } catch (error) {
    throw first.every((result) => result instanceof FhirError) ? error : partlyWritten(error);
  }
}

/** Marks the error of an import that had already written something. */
export function partlyWritten(error: unknown): FhirError {
  return inDoubt(maskError(error), 'a part of it may have been written');
}
