import { type Dialect, executeFhirGraphql, type FhirGraphqlResult, type ResourceStore } from '../../../src/index.js';
import { caller } from '../harness.js';
import type { HostileDocument, HostileRequest, Outcome } from './hostile-document.js';

/** Sends one attack. */
export function send(
  { query, variables, context }: HostileRequest,
  dialect: Dialect,
  store: ResourceStore,
): Promise<FhirGraphqlResult> {
  // The attack must end by its expected limit, however slow the machine is.
  return executeFhirGraphql(query, { store, caller, dialect, variables, limits: { timeout: Infinity }, ...context });
}

/** The outcome of an attack. */
export function outcomeOf({ errors }: FhirGraphqlResult): Outcome {
  return (errors?.[0]?.extensions.code ?? 'answered') as Outcome;
}

export function expectedOutcome({ outcome, hl7 }: HostileDocument, dialect: Dialect): Outcome {
  return dialect === 'hl7' ? (hl7 ?? outcome) : outcome;
}
