import { FhirError } from '../fhir/error.js';
import { type FhirModel } from '../fhir/model/fhir-model.js';
import { keyText } from '../fhir/reference.js';
import { type Criteria } from '../search/criteria/criteria.js';
import { parseSearch } from '../search/parse/parse-search.js';
import { searchPairs } from '../search/parse/search-pairs.js';
import { type StoredResource } from '../store/stored-resource.js';
import { type GuardedSession } from './interaction-session.js';

/**
 * Reads the search text of a conditional interaction or reference. Some senders begin it with `Type?` or `?`.
 *
 * @throws FhirError `invalid`, `unsupported` - the text is not a search, or has no parameter and so would match every
 * resource of the type
 */
export function parseCondition(model: FhirModel, type: string, text: unknown): Criteria {
  if (typeof text !== 'string') {
    throw new FhirError('invalid', `The condition of a request on ${type} must be the text of a search`);
  }
  const query = text.startsWith(`${type}?`) ? text.slice(type.length + 1) : text;
  // A search may ignore a parameter without a value. A condition never acts on the other ones alone.
  if (searchPairs(query).some(([, value]) => value === '')) {
    throw new FhirError('invalid', `A search parameter in the condition of a request on ${type} has no value`);
  }
  const { criteria } = parseSearch(model, type, query);
  if (criteria.kind !== 'all') return criteria;
  throw new FhirError('invalid', `A conditional request on ${type} needs at least one search parameter`);
}

/**
 * Finds the stored match of a condition. See {@link findMatches}.
 *
 * @returns undefined without a match
 * @throws FhirError `precondition-failed` - several resources match
 */
export async function findMatch(...search: Parameters<typeof findMatches>): Promise<StoredResource | undefined> {
  const [match, ...others] = await findMatches(...search);
  if (others.length > 0) throw severalMatches(search[0]);
  return match;
}

/**
 * The first two stored matches: none, the one, or too many.
 *
 * @param excluded {@link keyText}s of resources that count as absent
 */
export async function findMatches(
  type: string,
  criteria: Criteria,
  excluded: Pick<ReadonlySet<string>, 'has'>,
  session: GuardedSession,
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

/** The error of a condition with several matches. */
export function severalMatches(type: string): FhirError {
  return new FhirError(
    'precondition-failed',
    `Several ${type} resources match the condition; it must match at most one`,
  );
}
