import { describe, expect, test } from 'vitest';
import { plausibleEmail, parseInviteBody, type InviteRequest } from '../../src/projects/body/invite-body.js';
import { policiesOf, readMembershipSettings, withSettings } from '../../src/projects/body/membership-settings.js';
import { BodyReader } from '../../src/projects/body/body-reader.js';
import { FhirError } from '../../src/index.js';
import { R4 } from '../../src/store.js';

const ANN = { resourceType: 'Practitioner', firstName: 'Ann', lastName: 'Lee', email: 'Ann@Example.org' };
const read = (more: object = {}): InviteRequest => parseInviteBody(R4, { ...ANN, ...more });

/** Each fault as `code path: text`. */
function faults(input: unknown): readonly string[] {
  try {
    parseInviteBody(R4, input);
  } catch (error) {
    if (!(error instanceof FhirError)) throw error;
    expect(error.code).toBe('invalid');
    if (typeof input === 'string') return [error.message];
    expect(error.message).toContain(`The invite cannot be carried out: ${error.issues[0]!.diagnostics}`);
    return error.issues.map(({ code, diagnostics, expression }) => `${code} ${expression?.join()}: ${diagnostics}`);
  }
  return [];
}
const faultsWith = (more: object): readonly string[] => faults({ ...ANN, ...more });

describe('the body of an invite', () => {
  test('has defaults', () => {
    expect(read()).toStrictEqual({
      resourceType: 'Practitioner',
      firstName: 'Ann',
      lastName: 'Lee',
      email: 'ann@example.org',
      externalId: undefined,
      sendEmail: true,
      settings: {},
      policyPath: 'membership',
      profile: undefined,
      patient: undefined,
      scope: 'server',
      mode: 'new',
      newProfile: false,
      dryRun: false,
      mfaRequired: false,
    });
    expect(read({ resourceType: 'Patient' })).toMatchObject({ resourceType: 'Patient', scope: 'project' });
    expect(read({ resourceType: 'RelatedPerson' })).toMatchObject({ resourceType: 'RelatedPerson', scope: 'server' });
  });

  test.each<[object, Partial<InviteRequest>]>([
    [{ sendEmail: true }, { sendEmail: true }],
    [{ sendEmail: 'true' }, { sendEmail: true }],
    [{ sendEmail: false }, { sendEmail: false }],
    [{ sendEmail: 'false' }, { sendEmail: false }],
    [{ scope: 'project' }, { scope: 'project' }],
    [{ scope: 'server', resourceType: 'Patient' }, { scope: 'server' }],
    [{ externalId: 'x' }, { externalId: 'x', scope: 'project', settings: { externalId: 'x' } }],
    [{ externalId: 'x', email: undefined }, { email: undefined }],
    [{ upsert: true }, { mode: 'upsert' }],
    [{ forceNewMembership: true }, { mode: 'another' }],
    [{ upsert: false, forceNewMembership: false }, { mode: 'new' }],
    [{ newProfile: true }, { newProfile: true }],
    [{ dryRun: true }, { dryRun: true }],
    [{ mfaRequired: true }, { mfaRequired: true }],
    [{ membership: { profile: 'Practitioner/p' } }, { profile: 'Practitioner/p' }],
    [{ membership: { resourceType: 'ProjectMembership', admin: true } }, { settings: { admin: true } }],
    [{ admin: true, membership: { admin: true } }, { settings: { admin: true } }],
    [{ admin: null, membership: { userName: null, access: [] } }, { settings: {} }],
    [{ resourceType: 'RelatedPerson', patient: { reference: 'Patient/p' } }, { patient: 'Patient/p' }],
    [
      { accessPolicy: 'AccessPolicy/a' },
      { settings: { accessPolicy: { reference: 'AccessPolicy/a' } }, policyPath: '' },
    ],
    [
      { access: [{ policy: 'AccessPolicy/a' }] },
      { settings: { access: [{ policy: { reference: 'AccessPolicy/a' } }] }, policyPath: '' },
    ],
  ])('%j', (more, expected) => {
    const request = read(more);
    expect(Object.fromEntries(Object.keys(expected).map((name) => [name, request[name as keyof InviteRequest]]))).toStrictEqual(expected); // prettier-ignore
  });

  test.each<[object, readonly string[]]>([
    [
      { resourceType: undefined },
      ['required resourceType: resourceType must be Patient, Practitioner or RelatedPerson'],
    ],
    [{ resourceType: 'Group' }, ['invalid resourceType: resourceType must be Patient, Practitioner or RelatedPerson']],
    [{ email: undefined }, ['required email: email is required, or else externalId']],
    [{ email: 'no' }, ['invalid email: email must be one e-mail address, such as name@example.org']],
    [{ email: 1 }, ['invalid email: email must be one e-mail address, such as name@example.org']],
    [{ sendEmail: 'yes' }, ['invalid sendEmail: sendEmail must be true or false']],
    [{ mfaRequired: 1 }, ['invalid mfaRequired: mfaRequired must be true or false']],
    [{ dryRun: 'x' }, ['invalid dryRun: dryRun must be true or false']],
    [{ forceNewMembership: 1 }, ['invalid forceNewMembership: forceNewMembership must be true or false']],
    [{ upsert: 1 }, ['invalid upsert: upsert must be true or false']],
    [{ newProfile: 1 }, ['invalid newProfile: newProfile must be true or false']],
    [
      { upsert: true, forceNewMembership: true },
      ['business-rule forceNewMembership: forceNewMembership and upsert exclude each other'],
    ],
    [
      { newProfile: true, membership: { profile: 'Practitioner/p' } },
      ['business-rule newProfile: newProfile and membership.profile exclude each other'],
    ],
    [{ membership: 1 }, ['invalid membership: membership must be an object']],
    [
      { membership: { resourceType: 'Patient' } },
      ['invalid membership.resourceType: membership.resourceType must be ProjectMembership'],
    ],
    [
      { membership: { profile: 'Patient/p' } },
      ['invalid membership.profile: membership.profile must be a reference to Practitioner, as Type/id'],
    ],
    [
      { admin: true, membership: { admin: false } },
      ['business-rule admin: admin contradicts membership.admin; leave one of them out'],
    ],
    [{ patient: 'Patient/p' }, ['invalid patient: patient is for a RelatedPerson only']],
    [
      { resourceType: 'RelatedPerson', patient: 'Group/p' },
      ['invalid patient: patient must be a reference to Patient, as Type/id'],
    ],
    [{ scope: 'all' }, ['invalid scope: scope must be project or server']],
    [{ scope: 'server', externalId: 'x' }, ['business-rule scope: scope cannot be server together with externalId']],
    [{ firstName: undefined, lastName: ' ' }, ['required firstName: firstName is required', 'invalid lastName: lastName must not be empty']], // prettier-ignore
    [{ firstName: 1, lastName: 'a\u0007b' }, ['invalid firstName: firstName must be a string', 'invalid lastName: lastName must not hold control characters']], // prettier-ignore
    [{ firstName: 'x'.repeat(257) }, ['invalid firstName: firstName may be 256 characters long, not 257']],
  ])('%j is refused', (more, expected) => {
    expect(faultsWith(more)).toEqual(expected);
  });

  test('is an object of known fields', () => {
    expect(faults('text')).toEqual(['An invite needs a body: a JSON object']);
    const [unknown] = faultsWith({ [`x${'y'.repeat(100)}`]: 1 });
    expect(unknown).toMatch(/^structure xy{63}: xy{63} is not known here; known are resourceType, firstName, /);
    expect(faultsWith({ membership: { nothing: 1 } })[0]).toMatch(
      /^structure membership.nothing: membership.nothing is not known here; known are resourceType, profile, admin, active, /,
    );
    expect(faultsWith({ firstName: 'x'.repeat(256) })).toEqual([]);
  });
});

describe('the settings of a membership', () => {
  const settingsOf = (body: object, removable = false): unknown => {
    const reader = new BodyReader(R4);
    const settings = readMembershipSettings(reader, body as never, 'at', removable);
    if (reader.issues.length === 0) return settings;
    return reader.issues.map(({ code, diagnostics, expression }) => `${code} ${expression?.join()}: ${diagnostics}`);
  };
  const policy = { reference: 'AccessPolicy/a', display: 'A' };
  const parameter = [
    { name: 'ward', valueReference: { reference: 'Location/w' } },
    { name: 'code', valueString: 'x' },
  ];

  test('are used unchanged', () => {
    const whole = {
      admin: true,
      active: false,
      externalId: 'x',
      userName: 'ann',
      accessPolicy: policy,
      access: [{ policy, parameter }, { policy }],
      identifier: [{ use: 'official', system: 's', value: 'v' }, { value: 'w' }],
      userConfiguration: { reference: 'UserConfiguration/c' },
    };
    expect(settingsOf(whole)).toStrictEqual(whole);
    expect(settingsOf({})).toStrictEqual({});
    expect(settingsOf({ access: [], identifier: [], accessPolicy: null, userName: null })).toStrictEqual({});
    expect(settingsOf({ access: [{ policy, parameter: [] }] })).toStrictEqual({ access: [{ policy }] });
  });

  test('are removed by null and by empty lists if they are optional', () => {
    expect(settingsOf({ access: [], identifier: null, accessPolicy: null, userName: null }, true)).toStrictEqual({
      access: null,
      identifier: null,
      accessPolicy: null,
      userName: null,
    });
    expect(settingsOf({ admin: null, active: null }, true)).toEqual([
      'invalid at.admin: at.admin must be true or false',
      'invalid at.active: at.active must be true or false',
    ]);
    expect(withSettings({ id: 'm', userName: 'ann', admin: false }, { userName: null, admin: true })).toStrictEqual({
      id: 'm',
      admin: true,
    });
  });

  const PARAMETER = 'must be the name of a policy parameter, without the % sign';
  test.each<[object, readonly string[]]>([
    [{ active: 1 }, ['invalid at.active: at.active must be true or false']],
    [{ userName: 1 }, ['invalid at.userName: at.userName must be a string']],
    [
      { accessPolicy: 'Patient/a' },
      ['invalid at.accessPolicy: at.accessPolicy must be a reference to AccessPolicy, as Type/id'],
    ],
    [
      { userConfiguration: 'Patient/a' },
      ['invalid at.userConfiguration: at.userConfiguration must be a reference to UserConfiguration, as Type/id'],
    ],
    [{ access: 1 }, ['invalid at.access: at.access must be a list']],
    [
      { access: Array.from({ length: 101 }, () => ({ policy })) },
      ['too-long at.access: at.access may have 100 items, not 101'],
    ],
    [{ access: [1] }, ['invalid at.access[0]: at.access[0] must be an object with a policy']],
    [
      { access: [{ policy: 'Patient/a' }] },
      ['invalid at.access[0].policy: at.access[0].policy must be a reference to AccessPolicy, as Type/id'],
    ],
    [
      { access: [{ policy, other: 1 }] },
      ['structure at.access[0].other: at.access[0].other is not known here; known are policy, parameter'],
    ],
    [{ identifier: [1] }, ['invalid at.identifier[0]: at.identifier[0] must be an Identifier']],
    [
      { identifier: [{ type: 1 }] },
      ['structure at.identifier[0].type: at.identifier[0].type is not known here; known are use, system, value'],
    ],
  ])('%j is refused', (body, expected) => {
    expect(settingsOf(body)).toEqual(expected);
  });

  test.each<[unknown, string]>([
    [1, ': at.access[0].parameter[0] must be an object with a name and a value'],
    [{ valueString: 'x' }, `.name: at.access[0].parameter[0].name ${PARAMETER}`],
    [{ name: ['ward'], valueString: 'x' }, `.name: at.access[0].parameter[0].name ${PARAMETER}`],
    [{ name: '%ward', valueString: 'x' }, `.name: at.access[0].parameter[0].name ${PARAMETER}`],
    [{ name: 'ward!', valueString: 'x' }, `.name: at.access[0].parameter[0].name ${PARAMETER}`],
    [{ name: 'w'.repeat(65), valueString: 'x' }, `.name: at.access[0].parameter[0].name ${PARAMETER}`],
    [{ name: 'ward' }, ': at.access[0].parameter[0] must have either valueReference or valueString'],
    [
      { name: 'ward', valueString: 'x', valueReference: 'Location/w' },
      ': at.access[0].parameter[0] must have either valueReference or valueString',
    ],
    [{ name: 'ward', valueString: 1 }, '.valueString: at.access[0].parameter[0].valueString must be a string'],
    [
      { name: 'ward', valueReference: 'none' },
      '.valueReference: at.access[0].parameter[0].valueReference must be a reference to a resource, as Type/id',
    ],
  ])('the parameter %j is refused', (one, expected) => {
    expect(settingsOf({ access: [{ policy, parameter: [one] }] })).toEqual([`invalid at.access[0].parameter[0]${expected}`]); // prettier-ignore
  });

  test('name their policies, each with its location', () => {
    const access = [{ policy: { reference: 'AccessPolicy/b' } }];
    expect(policiesOf({ accessPolicy: policy, access }, 'membership')).toEqual([
      { reference: 'AccessPolicy/a', path: 'membership.accessPolicy' },
      { reference: 'AccessPolicy/b', path: 'membership.access[0].policy' },
    ]);
    expect(policiesOf({ accessPolicy: null, access: null }, '')).toEqual([]);
  });
});

test('an e-mail address is plausible up to its limits', () => {
  const address = (local: number, domain: number): string => `${'a'.repeat(local)}@${'b'.repeat(domain - 4)}.org`;
  expect(plausibleEmail(address(64, 100))).toBe(address(64, 100));
  expect(plausibleEmail(address(65, 100))).toBeUndefined();
  expect(plausibleEmail(address(10, 243))).toBe(address(10, 243));
  expect(plausibleEmail(address(10, 244))).toBeUndefined();
});
