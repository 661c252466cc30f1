import { expect, test, vi } from 'vitest';
import { assertRulesIndexed } from '../../src/access/sign-in/sign-in.js';
import { MemoryStore } from '../../src/index.js';
import { R4 } from '../../src/store.js';
import { faultOf } from '../repository/harness.js';
import { FEMALE, rule } from './decisions.js';

type Pending = readonly { readonly type: string; readonly parameter: string }[];

/** Sign-in with a rule about Patient.gender, while parameters of a scope are being reindexed. */
function signInWhile(pending: Readonly<Record<string, Pending>> | undefined): {
  readonly done: Promise<void>;
  readonly rulesFor: ReturnType<typeof vi.fn>;
} {
  const pendingParameters = vi.fn((scope: string) => Promise.resolve(pending?.[scope] ?? []));
  const store = Object.assign(new MemoryStore(), pending === undefined ? {} : { pendingParameters });
  const rulesFor = vi.fn((type: string) => (type === 'Patient' ? [rule(FEMALE)] : []));
  return { done: assertRulesIndexed(store, 'clinic', { model: R4, rulesFor }, undefined), rulesFor };
}

test.each([undefined, {}])('no rule is checked if no parameter is being indexed: %j', async (pending) => {
  const { done, rulesFor } = signInWhile(pending);
  await done;
  expect(rulesFor).not.toHaveBeenCalled();
});

test.each(['clinic', ''])('a rule is refused while its parameter is being indexed, in scope "%s"', async (scope) => {
  const pending = [
    { type: 'Patient', parameter: 'birthdate' },
    { type: 'Patient', parameter: 'gender' },
  ];
  expect(await faultOf(signInWhile({ [scope]: pending }).done)).toMatchObject({
    code: 'unavailable',
    message:
      'The access policy of this member uses Patient.gender. The index of this parameter is being rebuilt; sign in again later',
    details: { type: 'Patient', parameter: 'gender' },
  });
});

test('rules about other parameters are not affected', async () => {
  const pending = [
    { type: 'Patient', parameter: 'birthdate' },
    { type: 'Practitioner', parameter: 'gender' },
  ];
  const { done, rulesFor } = signInWhile({ clinic: pending });
  await expect(done).resolves.toBeUndefined();
  expect(rulesFor).toHaveBeenCalledWith('Patient');
});
