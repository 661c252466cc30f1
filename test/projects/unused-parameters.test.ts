import { beforeEach, describe, expect, test } from 'vitest';
import {
  type AccessChoice,
  createBot,
  createClient,
  type FhirError,
  invite,
  type ProjectContext,
  updateMember,
} from '../../src/index.js';
import { openClinic, organization, person, policy, put, rejection, type Clinic } from './harness.js';

const WARD: AccessChoice = {
  policy: { reference: 'AccessPolicy/ward' },
  parameter: [
    { name: 'ward', valueReference: { reference: 'Organization/north' } },
    { name: 'team', valueString: 'a' },
    { name: 'owner', valueReference: { reference: 'Organization/north' } },
    { name: 'city', valueString: 'Bern' },
  ],
};

let clinic: Clinic;
let context: ProjectContext;
/** A member that is changed, because nobody changes the access of its own membership. */
let member: string;

beforeEach(async () => {
  clinic = await openClinic();
  context = { store: clinic.store, caller: clinic.admin };
  const rules = [
    { resourceType: 'Patient', criteria: 'Patient?organization=Organization/%ward.id&identifier=x,%team' },
    { resourceType: 'Observation', compartment: { reference: '%owner' } },
    {
      resourceType: 'Organization',
      criteria: 'Organization?_filter=address-city%20eq%20%city%20and%20name%20eq%20%22%C3%A4%22',
    },
  ];
  await put(clinic.store, clinic.project, policy('ward', rules), policy('plain'), organization('north'));
  member = (await invite(clinic.project, person('Practitioner', 'Eve'), context)).membership.id!;
});

function withParameter(name: string): AccessChoice[] {
  return [{ ...WARD, parameter: [...WARD.parameter!, { name, valueString: 'x' }] }];
}

describe('a parameter that the policy does not use', () => {
  const WRITES: readonly [name: string, path: string, write: (access: AccessChoice[]) => Promise<unknown>][] = [
    [
      'invite',
      'membership.',
      (access) => invite(clinic.project, person('Practitioner', 'Ann', { membership: { access } }), context),
    ],
    [
      'invite, at the top of the body',
      '',
      (access) => invite(clinic.project, person('Practitioner', 'Ann', { access }), context),
    ],
    ['updateMember', '', (access) => updateMember(member, { access }, context)],
    ['createClient', '', (access) => createClient(clinic.project, { name: 'Feed', access }, context)],
    ['createBot', '', (access) => createBot(clinic.project, { name: 'Bot', access }, context)],
  ];

  test.each(WRITES)('is refused by %s, with its location and the intended name', async (_, path, write) => {
    const fault: FhirError = await rejection(write(withParameter('wrad')));
    expect(fault.code).toBe('invalid');
    expect(fault.issues.map(({ expression }) => expression)).toEqual([[`${path}access[0].parameter[4].name`]]);
    expect(fault.message).toContain('AccessPolicy/ward does not use %wrad. Did you mean "ward"?');
  });

  test.each(WRITES)(
    'does not include one that is anywhere in the policy as a whole value: %s',
    async (_, path, write) => {
      expect(await write([WARD])).toBeDefined();
      expect(path).toBeDefined();
    },
  );

  test.each(['C3', 'A4', 'x', 'Ward'])('is also %s, which only looks like one', async (name) => {
    const access = withParameter(name);
    expect((await rejection(updateMember(member, { access }, context))).code).toBe('invalid');
  });

  test('is reported for each policy', async () => {
    const plain: AccessChoice = {
      policy: { reference: 'AccessPolicy/plain' },
      parameter: [{ name: 'a', valueString: 'x' }],
    };
    const fault = await rejection(updateMember(member, { access: [plain, ...withParameter('b')] }, context));
    expect(fault.issues.map(({ expression }) => expression)).toEqual([
      ['access[0].parameter[0].name'],
      ['access[1].parameter[4].name'],
    ]);
  });

  test('can stay if an older version accepted it', async () => {
    await updateMember(member, { access: [WARD] }, context);
    await put(clinic.store, clinic.project, policy('ward'));
    const changed = await updateMember(member, { access: [WARD], userName: 'ada' }, context);
    expect(changed).toMatchObject({ access: [WARD], userName: 'ada' });
  });
});
