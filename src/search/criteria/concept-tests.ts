import { FhirError } from '../../fhir/error.js';
import { childrenOf, and, not, or, type Criteria } from './criteria.js';
import type { ExpansionRequest } from './value-test.js';

/** A code of a code system. */
export interface Concept {
  readonly system?: string | undefined;
  readonly code: string;
  readonly display?: string | undefined;
}

/** Concepts by {@link expansionKey}. */
export interface Expansions {
  get(key: string): readonly Concept[] | undefined;
}

/** No expansions. */
export const NO_EXPANSIONS: Expansions = new Map();

/** Sample expansions, until the terminology is called: every set has one concept. */
export const SAMPLE_EXPANSIONS: Expansions = { get: () => [{ system: 'urn:sample', code: 'sample' }] };

/** The expansions that criteria need, each once, by a text that is equal for equal ones. */
export function expansionsIn(...criteria: readonly Criteria[]): ReadonlyMap<string, ExpansionRequest> {
  const found = new Map<string, ExpansionRequest>();
  const pending = [...criteria];
  for (let node = pending.pop(); node !== undefined; node = pending.pop()) {
    if (node.kind === 'match' && node.test.kind === 'concept') {
      found.set(expansionKey(node.test.request), node.test.request);
    }
    for (const child of childrenOf(node)) pending.push(child);
  }
  return found;
}

export function expansionKey(request: ExpansionRequest): string {
  return JSON.stringify(request.kind === 'value-set' ? [request.url] : [request.kind, request.system, request.code]);
}

/**
 * Replaces tests of concepts by tests of their codes. An empty expansion matches nothing.
 *
 * @param expansions by {@link expansionKey}
 * @throws FhirError `unsupported` - an expansion is missing
 */
export function withExpansions(criteria: Criteria, expansions: Expansions): Criteria {
  switch (criteria.kind) {
    case 'and':
      return and(criteria.of.map((one) => withExpansions(one, expansions)));
    case 'or':
      return or(criteria.of.map((one) => withExpansions(one, expansions)));
    case 'not':
      return not(withExpansions(criteria.of, expansions));
    case 'chain':
    case 'has':
      return { ...criteria, of: withExpansions(criteria.of, expansions) };
    case 'match': {
      const { test, parameter } = criteria;
      if (test.kind !== 'concept') return criteria;
      const concepts = expansions.get(expansionKey(test.request));
      if (concepts === undefined) throw needsTerminology();
      return or(
        concepts.map(({ system, code }) => ({ kind: 'match', parameter, test: { kind: 'token', system, code } })),
      );
    }
    default:
      return criteria;
  }
}

/** @throws FhirError `unsupported` - some tests of concepts are left */
export function assertExpanded(criteria: Criteria): void {
  if (expansionsIn(criteria).size > 0) throw needsTerminology();
}

/** The error of a search by concepts without a terminology. */
export function needsTerminology(): FhirError {
  return new FhirError(
    'unsupported',
    'A search by value sets or hierarchies of codes (:in, :not-in, :above, :below; in, ni, ss and sb of _filter) needs a terminology, and this service has none',
  );
}
