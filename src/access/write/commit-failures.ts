import { FhirError } from '../../fhir/error.js';
import { referenceTo } from '../../fhir/reference.js';
import type { Caller } from '../caller.js';
import { type GuardedWrite, failedIndex, withIndex } from '../contract.js';
import type { AddedWrite, OwnWrite } from './ready-write.js';

/** The reason why a store rejected a commit. */
export interface CommitFailure {
  readonly error: FhirError;
  /** The rejected step. */
  readonly step: OwnWrite | AddedWrite;
  /** The caller's write of that step. */
  readonly asked: GuardedWrite;
}

/** @returns undefined for an error without a step */
export function commitFailure(
  error: unknown,
  steps: readonly (OwnWrite | AddedWrite)[],
  writes: readonly GuardedWrite[],
): CommitFailure | undefined {
  const step = steps[failedIndex(error) ?? -1];
  return step && { error: error as FhirError, step, asked: writes[step.from]! };
}

/** True if the decision was based on outdated data, and the caller itself required no version. */
export function isOvertaken({ error, step, asked }: CommitFailure): boolean {
  if (step.role === 'added' && step.refusal === 'decide again') return true;
  return (
    error.code === 'precondition-failed' &&
    step.write.kind !== 'assert-no-match' &&
    asked.kind !== 'assert-no-match' &&
    asked.expect === undefined
  );
}

/** Translates the store's error to the caller's write. */
export function explainFailure({ error, step, asked }: CommitFailure, caller: Caller): FhirError {
  const { from } = step;
  const refusal = step.role === 'added' ? step.refusal : undefined;
  if (refusal === 'decide again') {
    const name = asked.kind === 'assert-no-match' ? asked.query.type : referenceTo(asked.key.type, asked.key.id);
    return new FhirError('conflict', `The resources that decide access to ${name} keep changing; try again`, {
      details: { index: from },
      cause: error,
    });
  }
  if (refusal !== undefined) return withIndex(refusal(String(error.details!['holder'])), from);
  if (error.code === 'conflict' && step.write.kind === 'put' && caller.kind === 'member') {
    // The unique key may be held in another project.
    const { type, id } = step.write.key;
    return new FhirError('conflict', `${referenceTo(type, id)} must be unique, but another resource has the same key`, {
      details: { index: from },
      cause: error,
    });
  }
  return withIndex(error, from);
}
