import { LRUCache } from 'lru-cache';
import { FhirError } from '../../fhir/error.js';
import { assertFhirPath } from '../../fhirpath/compile.js';

/**
 * Refuses a write constraint that could never be evaluated.
 *
 * @param expression FHIRPath over `%before` and `%after`
 * @throws FhirError `invalid`, `unsupported`, `too-costly` - it does not parse, or uses what is not there
 */
export function assertWriteConstraint(expression: string): void {
  let outcome = OUTCOMES.get(expression);
  if (outcome === undefined) OUTCOMES.set(expression, (outcome = check(expression)));
  if (outcome !== 'good') throw outcome;
}

/** Constraints are checked at each sign-in and parsing takes milliseconds; what comes out never changes. */
const OUTCOMES = new LRUCache<string, 'good' | FhirError>({ max: 500 });

function check(expression: string): 'good' | FhirError {
  try {
    assertFhirPath(expression, ['before', 'after']);
    return 'good';
  } catch (error) {
    if (error instanceof FhirError) return error;
    throw error;
  }
}
