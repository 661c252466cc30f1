import { keyText } from '../../fhir/reference.js';
import type { GuardedKey, GuardedWrite } from '../../access/contract.js';
import type { AnyResource } from '../../fhir/resource.js';
import type { Expectation, StoredResource } from '../../store/store.js';
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
  | { readonly kind: 'write'; readonly write: GuardedWrite }
  | { readonly kind: 'unchanged'; readonly stored: StoredResource };

/**
 * Compares resources with the stored ones, in one call, so that importing the same content again makes no new versions.
 *
 * @param changing {@link keyText}s of resources that change before these are written, so that their stored content is
 * outdated
 * @returns one plan per put, same order
 */
export async function planPuts(
  puts: readonly WantedPut[],
  changing: ReadonlySet<string>,
  session: ImportSession,
): Promise<readonly PlannedPut[]> {
  const current = await session.store.read(
    puts.map(({ key }) => key),
    session.options,
  );
  const touched = new Set(changing);
  return puts.map(({ key, resource, expect, generatedId }, index) => {
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
    return { kind: 'write', write: { kind: 'put', key, resource: kept, expect, keepSecrets: true, generatedId } };
  });
}

/** The id in its usual place, right after the type. */
function withId(resource: AnyResource, id: string): AnyResource {
  const { resourceType, ...elements } = resource;
  return { resourceType, ...elements, id };
}
