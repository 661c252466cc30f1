import { expect, test } from 'vitest';
import { decide } from '../../src/access/decide.js';
import { makingCaller } from '../../src/access/sign-in/make-caller.js';
import { inOneGo } from '../../src/platform/pace.js';
import { R4 } from '../../src/store.js';
import type { JsonObject } from '../../src/fhir/resource.js';

const POLICY = { resourceType: 'AccessPolicy', resource: [{ resourceType: 'Patient' }] };

/** An administrator of a project with these settings, under these policies. */
function administrator(settings: JsonObject, policies: readonly JsonObject[]) {
  const making = makingCaller(R4, {
    project: 'clinic',
    settings,
    membership: { resourceType: 'ProjectMembership', id: 'm', admin: true } as never,
    user: 'User/u',
    profile: 'Practitioner/p',
    parameters: new Map(),
    end: Infinity,
    revoked: { until: -Infinity, mark: '' },
    versions: '',
    grants: policies.map((policy) => ({ reference: 'AccessPolicy/x', policy, parameters: new Map() })),
  });
  return inOneGo(making);
}

test.each([
  ['of a super-admin project without policies', true, { superAdmin: true }, []],
  ['of a project under policies', true, {}, [POLICY]],
  ['of a project under policies that is not a super-admin project', true, { superAdmin: false }, [POLICY]],
  ['of a super-admin project under policies', false, { superAdmin: true }, [POLICY]],
])('an administrator %s can write policies: %s', (_, writes, settings, policies) => {
  const caller = administrator(settings, policies);
  expect(decide(caller, 'AccessPolicy', 'read')).toHaveLength(1);
  expect(decide(caller, 'AccessPolicy', 'update') !== null).toBe(writes);
});
