import { expect, test } from 'vitest';
import { type Caller, type FhirError, systemCaller } from '../../src/index.js';
import { notInUseAsProfile } from '../../src/access/write/checks.js';
import { refersTo } from '../../src/search/criteria/criteria.js';
import { caller, rule } from './decisions.js';

const doctor = { project: 'clinic', type: 'Practitioner', id: 'd' };

test('the commit that deletes a profile checks that no membership has it', () => {
  expect(notInUseAsProfile(doctor, systemCaller('clinic'), 2)).toEqual([
    {
      role: 'added',
      write: {
        kind: 'assert-no-match',
        query: { project: 'clinic', type: 'ProjectMembership', criteria: refersTo('profile', doctor) },
      },
      from: 2,
      refusal: expect.any(Function) as unknown,
    },
  ]);
  expect(notInUseAsProfile({ ...doctor, type: 'Observation' }, systemCaller('clinic'), 2)).toEqual([]);
});

test('the error names the membership only to callers who can read memberships', () => {
  const administrator = caller({ ProjectMembership: [rule({ kind: 'all' }, 'read')] });
  const searching = caller({ ProjectMembership: [rule({ kind: 'all' }, 'search')] });
  const refusal = (who: Caller): FhirError => {
    const [added] = notInUseAsProfile(doctor, who, 2);
    return (added!.refusal as (holder: string) => FhirError)('ProjectMembership/m');
  };
  for (const who of [administrator, systemCaller('clinic')]) {
    expect(refusal(who)).toMatchObject({
      code: 'conflict',
      message: 'Practitioner/d is the profile of ProjectMembership/m and cannot be deleted; remove the member first',
      details: { membership: 'ProjectMembership/m' },
    });
  }
  for (const who of [searching, caller({})]) {
    const error = refusal(who);
    expect(error.message).toBe(
      'Practitioner/d is the profile of a member and cannot be deleted; remove the member first',
    );
    expect(error.details).toBeUndefined();
  }
});
