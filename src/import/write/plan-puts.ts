import { keyText } from '../../fhir/reference.js';
import type { GuardedKey, GuardedWrite } from '../../access/contract.js';
import type { AnyResource } from '../../fhir/resource.js';
import { mapInTurns } from '../../platform/pace.js';
import { CallPace } from '../../store/call-pace.js';
import type { ReadResult, StoredResource } from '../../store/stored-resource.js';
import type { Expectation } from '../../store/write.js';
import { sameContent } from './same-content.js';
import type { ImportSession } from '../session.js';

/** A resource that is to be stored. */
export interface WantedPut {
  readonly key: GuardedKey;
  readonly resource: AnyResource;
  readonly expect?: Expectation | undefined;
  /** See {@link GuardedWrite}. */
  readonly generatedId?: true | undefined;
}

/** The plan of a {@link WantedPut}: a write, or nothing if the content is unchanged. */
export type PlannedPut =
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

/** PERF: a class instance, like the objects in it: see `BundleEntry`. */
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
