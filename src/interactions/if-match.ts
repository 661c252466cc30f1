import { FhirError } from '../fhir/error.js';
import { versionOfEntityTag } from '../fhir/entity-tag.js';
import type { Expectation } from '../store/write.js';

/**
 * The version that must be current: `3`, `"3"` and `W/"3"` all name version 3; with `ifNoneMatch: '*'`, none may be.
 * See https://hl7.org/fhir/R4/http.html#concurrency.
 *
 * @throws FhirError `invalid`
 */
export function expectationOf(ifMatch: unknown, ifNoneMatch?: unknown): Expectation | undefined {
  if (ifNoneMatch !== undefined) return noneExpected(ifMatch, ifNoneMatch);
  if (ifMatch === undefined) return undefined;
  const version = typeof ifMatch === 'string' ? versionOfEntityTag(ifMatch) : undefined;
  if (version !== undefined) return { version };
  throw new FhirError('invalid', 'ifMatch must be a version such as 3, or an entity tag such as W/"3"');
}

function noneExpected(ifMatch: unknown, ifNoneMatch: unknown): Expectation {
  if (ifMatch !== undefined) throw new FhirError('invalid', 'ifMatch and ifNoneMatch contradict each other');
  if (ifNoneMatch === '*') return { version: null };
  throw new FhirError('invalid', 'ifNoneMatch of a write must be *');
}
