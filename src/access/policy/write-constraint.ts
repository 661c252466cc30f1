import { type FhirModel, perModel } from '../../fhir/model/fhir-model.js';
import { LRUCache } from 'lru-cache';
import type { JsonObject } from '../../fhir/resource.js';
import { ruleElements } from './policy-grant.js';
import { FhirError } from '../../fhir/error.js';
import { assertFhirPath } from '../../fhirpath/compile.js';
import { loadFhirPath } from '../../fhirpath/library.js';
import { rootElements } from '../../fhirpath/root-elements.js';
import { getOrCreate } from '../../platform/collections.js';

/**
 * Rejects a write constraint that cannot be evaluated.
 *
 * @returns the names of the first-level elements it reads: a misspelled one has no values, and
 * `%before.statuss.exists().not()` would always hold
 * @param expression FHIRPath over `%before` and `%after`
 * @throws FhirError `invalid`, `unsupported`, `too-costly` - it does not parse, or uses unknown names
 */
export function assertWriteConstraint(model: FhirModel, expression: string): ReadonlySet<string> {
  const outcomes = OUTCOMES(model);
  const outcome = getOrCreate<string, ReadonlySet<string> | FhirError>(outcomes, expression, () =>
    check(model, expression),
  );
  if (outcome instanceof FhirError) throw outcome;
  return outcome;
}

/** Awaited before the write constraints of policies are checked, as FHIRPath has to be loaded for them. */
export async function loadForPolicies(policies: readonly JsonObject[]): Promise<void> {
  const isConstrained = policies.some((policy) =>
    ruleElements(policy).some((rule) => rule['writeConstraint'] !== undefined),
  );
  if (isConstrained) await loadFhirPath();
}

/** PERF: constraints are checked at each sign-in and parsing takes milliseconds; the results never change. */
const OUTCOMES = perModel(() => new LRUCache<string, ReadonlySet<string> | FhirError>({ max: 500 }));

function check(model: FhirModel, expression: string): ReadonlySet<string> | FhirError {
  try {
    assertFhirPath(model, expression, ['before', 'after']);
    return rootElements(expression, RESOURCES);
  } catch (error) {
    if (error instanceof FhirError && error.code !== 'internal') return error;
    throw error;
  }
}

/** Variables with the resource before or after the write. */
const RESOURCES: ReadonlySet<string> = new Set(['after', 'before', 'context', 'resource', 'rootResource']);
