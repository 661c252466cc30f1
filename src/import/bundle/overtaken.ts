import { FhirError } from '../../fhir/error.js';
import type { EntryPlan } from './plan-entries.js';

/** How often a plan that rests on searches is made, when other writers (or entries before it) keep being faster. */
export const ATTEMPTS = 3;

/** True for a plan whose preconditions rest on a search. */
export function isOptimistic(plan: EntryPlan): boolean {
  return plan.kind === 'write' && plan.optimistic;
}

/** True when a precondition failed: for one that rests on a search, searching again may give another answer. */
export function isOvertaken(error: unknown): boolean {
  return error instanceof FhirError && (error.code === 'conflict' || error.code === 'precondition-failed');
}
