import type { GuardedKey } from '../access/guarded-store.js';
import { FhirError } from '../fhir/error.js';
import type { Criteria } from '../search/criteria.js';
import { parseSearch } from '../search/parse-search.js';
import type { StoredResource } from '../store/store.js';
import type { ImportSession } from './session.js';

/**
 * Reads the search text of a conditional interaction or reference.
 *
 * @throws FhirError `invalid`, `unsupported` - the text is no search, or one that names no parameter and so means
 * every resource of the type
 */
export function parseCondition(type: string, query: string, session: ImportSession): Criteria {
  const { criteria } = parseSearch(type, query, session.baseUrl === undefined ? {} : { baseUrl: session.baseUrl });
  if (criteria.kind !== 'all') return criteria;
  throw new FhirError('invalid', `A conditional request on ${type} needs at least one search parameter`);
}

/** `Type/id`, to hold keys in sets and maps. */
export function keyText({ type, id }: GuardedKey): string {
  return `${type}/${id}`;
}

/**
 * The first two stored matches: none, the one, or too many.
 *
 * @param excluded {@link keyText}s of resources that count as absent
 */
export async function findMatches(
  type: string,
  criteria: Criteria,
  excluded: ReadonlySet<string>,
  session: ImportSession,
): Promise<readonly StoredResource[]> {
  const found: StoredResource[] = [];
  for (let offset = 0; ; offset += PAGE) {
    const { matches } = await session.store.search({ type, criteria, offset, limit: PAGE }, session.options);
    for (const match of matches) {
      if (excluded.has(keyText({ type, id: match.resource.id! }))) continue;
      if (found.push(match) === 2) return found;
    }
    if (matches.length < PAGE) return found;
  }
}

const PAGE = 10;
