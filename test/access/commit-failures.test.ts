import { describe, expect, test } from 'vitest';
import { type Caller, FhirError, systemCaller } from '../../src/index.js';
import type { Write } from '../../src/store.js';
import type { GuardedWrite } from '../../src/access/contract.js';
import { commitFailure, explainFailure, isOvertaken } from '../../src/access/write/commit-guarded.js';
import type { AddedWrite, OwnWrite } from '../../src/access/write/ready-write.js';
import { ALL } from '../../src/search/criteria/criteria.js';

const key = { type: 'Patient', id: 'p' };
const PUT: Write = { kind: 'put', key: { ...key, project: 'clinic' }, resource: { resourceType: 'Patient', id: 'p' } };
const CHECK: Write = { kind: 'assert-no-match', query: { project: 'clinic', type: 'Patient', criteria: ALL } };
const own = (write: Write): OwnWrite => ({ role: 'own', write, from: 3, readRules: [] });
const added = (refusal?: AddedWrite['refusal']): AddedWrite => ({ role: 'added', write: CHECK, from: 3, refusal });

const asked: GuardedWrite = { kind: 'delete', key };
const askedToFindNone: GuardedWrite = { kind: 'assert-no-match', query: { type: 'Patient', criteria: ALL } };
const STALE = new FhirError('precondition-failed', 'Another version', { details: { index: 7 } });
const TAKEN = new FhirError('conflict', 'Held in Project/other', { details: { index: 7, holder: 'Patient/q' } });
const member = { kind: 'member', project: 'clinic' } as Caller;

type CommitFailure = NonNullable<ReturnType<typeof commitFailure>>;

const failure = (error: FhirError, step: CommitFailure['step'], write: GuardedWrite = asked): CommitFailure => ({
  error,
  step,
  asked: write,
});

describe('an error of the store about a step of a commit', () => {
  test('is reported for the write of the caller that the step belongs to', () => {
    const steps = [added(), own(PUT)];
    const error = new FhirError('conflict', 'x', { details: { index: 1 } });
    const writes = [askedToFindNone, askedToFindNone, askedToFindNone, asked];
    expect(commitFailure(error, steps, writes)).toEqual({ error, step: steps[1], asked });
    expect(commitFailure(STALE, steps, writes)).toBeUndefined();
    expect(commitFailure(new FhirError('unavailable', 'x'), steps, writes)).toBeUndefined();
    expect(commitFailure(new Error('x'), steps, writes)).toBeUndefined();
  });

  test.each<[string, boolean, CommitFailure]>([
    ['a check that the decision rests on', true, failure(TAKEN, added('decide again'))],
    ['a version that the caller did not name', true, failure(STALE, own(PUT))],
    ['a version that the caller named', false, failure(STALE, own(PUT), { ...asked, expect: { version: '1' } })],
    [
      'a resource that the caller says is none',
      false,
      failure(STALE, own(PUT), { ...asked, expect: { version: null } }),
    ],
    ['a unique text', false, failure(TAKEN, own(PUT))],
    [
      'a check with an error of its own',
      false,
      failure(
        STALE,
        added(() => TAKEN),
      ),
    ],
    ['a check of the store', false, failure(STALE, added())],
    ['a check of the caller', false, failure(STALE, own(CHECK), askedToFindNone)],
  ])('%s is decided again: %s', (_, again, one) => {
    expect(isOvertaken(one)).toBe(again);
  });

  test('is a conflict if the deciding resources keep changing', () => {
    expect(explainFailure(failure(STALE, added('decide again')), member)).toMatchObject({
      code: 'conflict',
      message: 'The resources that decide access to Patient/p keep changing; try again',
      details: { index: 3 },
      cause: STALE,
    });
    expect(explainFailure(failure(STALE, added('decide again'), askedToFindNone), member).message).toBe(
      'The resources that decide access to Patient keep changing; try again',
    );
  });

  test('is the error of the check, which receives the match', () => {
    const refusal = (holder: string): FhirError => new FhirError('forbidden', `Held by ${holder}`);
    expect(explainFailure(failure(TAKEN, added(refusal)), member)).toMatchObject({
      code: 'forbidden',
      message: 'Held by Patient/q',
      details: { index: 3 },
    });
  });

  test('reports to a member that another resource has the key, and never which', () => {
    const told = explainFailure(failure(TAKEN, own(PUT)), member);
    expect(told).toMatchObject({
      code: 'conflict',
      message: 'Patient/p must be unique, but another resource has the same key',
      cause: TAKEN,
    });
    expect(told.details).toEqual({ index: 3 });
    expect(explainFailure(failure(TAKEN, own(PUT)), systemCaller('clinic'))).toMatchObject({
      message: TAKEN.message,
      details: { index: 3, holder: 'Patient/q' },
    });
    expect(explainFailure(failure(TAKEN, own(CHECK)), member).message).toBe(TAKEN.message);
    expect(explainFailure(failure(STALE, own(PUT)), member)).toMatchObject({
      message: STALE.message,
      details: { index: 3 },
    });
  });
});
