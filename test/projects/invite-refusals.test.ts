import { beforeEach, describe, expect, test } from 'vitest';
import {
  createClient,
  createProject,
  invite,
  type InviteBody,
  type ResourceStore,
  signIn,
  systemCaller,
} from '../../src/index.js';
import { type Clinic, contents, openClinic, patient, person, policy, put, rejection } from './harness.js';

let clinic: Clinic;

beforeEach(async () => {
  clinic = await openClinic();
});

const ann = person('Practitioner', 'Ann');
const long = 'x'.repeat(300);

describe('a body that is missing or malformed', () => {
  // One row per field: the error in an otherwise valid body, and the paths that the error names.
  test.each<[string, unknown, readonly string[]]>([
    ['nothing', {}, ['resourceType', 'firstName', 'lastName', 'email']],
    ['a type that is not a person', { ...ann, resourceType: 'Bot' }, ['resourceType']],
    ['a type by another name', { ...ann, resourceType: 'constructor' }, ['resourceType']],
    ['an empty first name', { ...ann, firstName: '' }, ['firstName']],
    ['a blank last name', { ...ann, lastName: '  ' }, ['lastName']],
    ['names that are not strings', { ...ann, firstName: 1, lastName: {} }, ['firstName', 'lastName']],
    ['a name with a line break', { ...ann, firstName: 'Ann\r\nBcc: x@example.org' }, ['firstName']],
    ['a very long name', { ...ann, lastName: long }, ['lastName']],
    ['neither e-mail nor external id', { ...ann, email: undefined }, ['email']],
    ['an empty external id', { ...ann, externalId: '' }, ['externalId']],
    ['sendEmail of another kind', { ...ann, sendEmail: 'yes' }, ['sendEmail']],
    ['flags of another kind', { ...ann, upsert: 1, dryRun: 'true', admin: 'yes' }, ['admin', 'upsert', 'dryRun']],
    [
      'a new profile and a named one',
      { ...ann, newProfile: true, membership: { profile: 'Practitioner/1' } },
      ['newProfile'],
    ],
    ['newProfile of another kind', { ...ann, newProfile: 'yes' }, ['newProfile']],
    ['upsert and another at once', { ...ann, upsert: true, forceNewMembership: true }, ['forceNewMembership']],
    ['an unknown scope', { ...ann, scope: 'world' }, ['scope']],
    ['an external id for the whole server', { ...ann, externalId: 'x', scope: 'server' }, ['scope']],
    ['an unknown field', { ...ann, membershp: { admin: true } }, ['membershp']],
    ['a password', { ...ann, password: 'secret' }, ['password']],
    ['membership of another kind', { ...ann, membership: [] }, ['membership']],
    [
      'membership fields that invite sets',
      { ...ann, membership: { user: {}, project: {} } },
      ['membership.user', 'membership.project'],
    ],
    ['membership of another type', { ...ann, membership: { resourceType: 'User' } }, ['membership.resourceType']],
    ['a profile of another type', { ...ann, membership: { profile: 'Patient/1' } }, ['membership.profile']],
    [
      'a profile elsewhere',
      { ...ann, membership: { profile: 'https://example.org/Practitioner/1' } },
      ['membership.profile'],
    ],
    ['a patient of a Practitioner', { ...ann, patient: 'Patient/1' }, ['patient']],
    ['a patient that is none', { ...ann, resourceType: 'RelatedPerson', patient: 'Group/1' }, ['patient']],
    ['contradicting admins', { ...ann, admin: true, membership: { admin: false } }, ['admin']],
    ['a policy that is none', { ...ann, membership: { accessPolicy: 'Patient/1' } }, ['membership.accessPolicy']],
    [
      'access in disorder',
      {
        ...ann,
        membership: {
          access: [
            'AccessPolicy/1',
            {},
            {
              policy: 'AccessPolicy/1',
              parameter: [
                { name: '%x', valueString: 'a' },
                { name: 'x' },
                { name: 'y', valueString: 'a', valueReference: 'Patient/1' },
              ],
            },
            { policy: 'AccessPolicy/1', parameter: [{ name: 'x', valueReference: 'Nothing/1' }], note: 1 },
          ],
        },
      },
      [
        'membership.access[0]',
        'membership.access[1].policy',
        'membership.access[2].parameter[0].name',
        'membership.access[2].parameter[1]',
        'membership.access[2].parameter[2]',
        'membership.access[3].note',
        'membership.access[3].parameter[0].valueReference',
      ],
    ],
    ['access that is not a list', { ...ann, access: {} }, ['access']],
    [
      '__proto__',
      JSON.parse(
        `{ "__proto__": { "admin": true }, "resourceType": "Patient", "firstName": "A", "lastName": "B", "email": "a@example.org" }`,
      ),
      ['__proto__'],
    ],
  ])('%s', async (_what, body, paths) => {
    const error = await rejection(invite(clinic.project, body as InviteBody, { ...clinic, caller: clinic.admin }));
    expect(error).toMatchObject({ code: 'invalid', status: 400 });
    expect(error.issues.map(({ expression }) => expression)).toEqual(paths.map((path) => [path]));
    expect(error.outcome.issue.every(({ details }) => (details?.text.length ?? 0) > 0)).toBe(true);
  });

  test.each([null, undefined, 'text', 7, []])('%j is not a body', async (body) => {
    const error = await rejection(invite(clinic.project, body as never, { ...clinic, caller: clinic.admin }));
    expect(error.code).toBe('invalid');
  });

  test.each([
    'ann',
    '@example.org',
    'ann@',
    'ann@@example.org',
    'ann@a@example.org',
    'ann lee@example.org',
    'ann@example.org, bob@example.org',
    'ann@example.org\nBcc: bob@example.org',
    'ann@example.org\u0000',
    'ann\u200b@example.org',
    'Ann <ann@example.org>',
    'ann@example..org',
    '.ann@example.org',
    'ann\uff20bob@example.org',
    `${'a'.repeat(65)}@example.org`,
    `ann@${'a.'.repeat(130)}org`,
    7,
  ])('%j is not an e-mail address', async (email) => {
    const error = await rejection(
      invite(clinic.project, { ...ann, email: email as string }, { ...clinic, caller: clinic.admin }),
    );
    expect(error.code).toBe('invalid');
    expect(error.issues.map(({ expression }) => expression)).toEqual([['email']]);
  });

  test.each([
    ['Ann@Example.ORG', 'ann@example.org'],
    ['\uff41nn@example.org', 'ann@example.org'],
    ["o'hara+clinic@sub.example.org", "o'hara+clinic@sub.example.org"],
    ['jo\u0308rg@example.org', 'j\u00f6rg@example.org'],
  ])('the e-mail address %j is kept as %j', async (email, kept) => {
    const { user } = await invite(clinic.project, { ...ann, email }, { ...clinic, caller: clinic.admin });
    expect(user.email).toBe(kept);
  });
});

describe('resources that the body names must exist in this project', () => {
  beforeEach(async () => {
    await put(clinic.store, 'elsewhere', policy('foreign'), patient('foreign'));
  });

  test('all missing resources are reported at once, and nothing is written', async () => {
    const before = await contents(clinic.store, clinic.project);
    const body = person('RelatedPerson', 'Mum', {
      patient: 'Patient/foreign',
      membership: {
        accessPolicy: { reference: 'AccessPolicy/foreign' },
        access: [{ policy: { reference: 'AccessPolicy/none' } }],
        profile: 'RelatedPerson/none',
      },
    });
    const error = await rejection(invite(clinic.project, body, { ...clinic, caller: clinic.admin }));
    expect(error.code).toBe('invalid');
    expect(error.issues).toEqual([
      { code: 'not-found', diagnostics: 'Patient/foreign does not exist in this project', expression: ['patient'] },
      {
        code: 'not-found',
        diagnostics: 'RelatedPerson/none does not exist in this project',
        expression: ['membership.profile'],
      },
      {
        code: 'not-found',
        diagnostics: 'AccessPolicy/foreign does not exist in this project',
        expression: ['membership.accessPolicy'],
      },
      {
        code: 'not-found',
        diagnostics: 'AccessPolicy/none does not exist in this project',
        expression: ['membership.access[0].policy'],
      },
    ]);
    expect(await contents(clinic.store, clinic.project)).toEqual(before);
  });

  test('a policy named at the top level is reported with its own path', async () => {
    const body = person('Practitioner', 'Ann', { accessPolicy: { reference: 'AccessPolicy/none' } });
    const error = await rejection(invite(clinic.project, body, { ...clinic, caller: clinic.admin }));
    expect(error.issues[0]!.expression).toEqual(['accessPolicy']);
  });

  test('a new RelatedPerson needs a patient', async () => {
    const error = await rejection(
      invite(clinic.project, person('RelatedPerson', 'Mum'), { ...clinic, caller: clinic.admin }),
    );
    expect(error).toMatchObject({ code: 'invalid', issues: [{ code: 'required', expression: ['patient'] }] });
  });
});

describe('ambiguous people', () => {
  const email = { telecom: [{ system: 'email' as const, value: 'pat@example.org' }] };

  test('several profiles with the e-mail address are a conflict that lists them', async () => {
    await put(clinic.store, clinic.project, patient('p1', email), patient('p2', email));
    const error = await rejection(
      invite(clinic.project, person('Patient', 'Pat'), { ...clinic, caller: clinic.admin }),
    );
    expect(error).toMatchObject({ code: 'conflict', details: { profiles: ['Patient/p1', 'Patient/p2'] } });
  });

  test('the profile of another member is a conflict that names the membership', async () => {
    await put(clinic.store, clinic.project, patient('p1', email));
    const context = { ...clinic, caller: clinic.admin };
    const pat = person('Patient', 'Pat', { membership: { profile: 'Patient/p1' } });
    const { membership } = await invite(clinic.project, pat, context);
    const named = person('Patient', 'Eve', { membership: { profile: 'Patient/p1' } });
    const error = await rejection(invite(clinic.project, named, context));
    expect(error).toMatchObject({
      code: 'conflict',
      details: { memberships: [`ProjectMembership/${membership.id}`] },
    });
  });

  test('a profile of another patient than the given one is a conflict', async () => {
    await put(clinic.store, clinic.project, patient('p1'), patient('p2'));
    await put(clinic.store, clinic.project, {
      resourceType: 'RelatedPerson',
      id: 'r1',
      patient: { reference: 'Patient/p1' },
    } as never);
    const body = person('RelatedPerson', 'Mum', { patient: 'Patient/p2', membership: { profile: 'RelatedPerson/r1' } });
    expect((await rejection(invite(clinic.project, body, { ...clinic, caller: clinic.admin }))).code).toBe('conflict');
  });
});

describe('the permission to invite', () => {
  /** A store that fails the test when it is asked anything. */
  const untouched = new Proxy({} as ResourceStore, {
    get: (_target, name) => () => {
      throw new Error(`the store was asked: ${String(name)}`);
    },
  });

  test('needs a caller', async () => {
    const error = await rejection(invite(clinic.project, ann, { store: untouched, caller: undefined as never }));
    expect(error.code).toBe('unauthenticated');
    const forged = { ...clinic.admin };
    expect((await rejection(invite(clinic.project, ann, { store: untouched, caller: forged }))).code).toBe(
      'unauthenticated',
    );
  });

  test('is refused to a member who is not an administrator, without any lookup', async () => {
    const { membership } = await invite(clinic.project, ann, { ...clinic, caller: clinic.admin });
    const caller = await signIn(clinic.store, { membership: membership.id });
    for (const body of [ann, {}, null]) {
      expect((await rejection(invite(clinic.project, body as InviteBody, { store: untouched, caller }))).code).toBe(
        'forbidden',
      );
    }
  });

  test('is refused to an administrator of another project, existing or not', async () => {
    const other = await createProject(
      { resourceType: 'Project', name: 'Other' },
      { ...clinic, caller: clinic.superAdmin },
    );
    for (const project of [other.id, 'none', 'not an id', '']) {
      expect((await rejection(invite(project, ann, { store: untouched, caller: clinic.admin }))).code).toBe(
        'forbidden',
      );
    }
    expect(
      (await rejection(invite(clinic.project, ann, { store: untouched, caller: systemCaller(other.id) }))).code,
    ).toBe('forbidden');
  });

  test('is granted to an administrator, by any name of the project', async () => {
    const context = { ...clinic, caller: clinic.admin };
    await invite(`Project/${clinic.project}`, person('Practitioner', 'Ann'), context);
    await invite({ reference: `Project/${clinic.project}` }, person('Practitioner', 'Bob'), context);
    const { membership } = await createClient(clinic.project, { name: 'Enrolment', admin: true }, context);
    const caller = await signIn(clinic.store, { membership: membership.id });
    const { membership: made } = await invite(clinic.project, person('Practitioner', 'Eve'), { ...context, caller });
    expect(made.invitedBy).toEqual({ reference: membership.user.reference });
  });

  test('is granted to a super administrator, for every existing project', async () => {
    const context = { ...clinic, caller: clinic.superAdmin };
    expect((await invite(clinic.project, ann, context)).created.membership).toBe(true);
    expect((await rejection(invite('none', ann, context))).code).toBe('not-found');
    expect((await rejection(invite('not an id', ann, context))).code).toBe('invalid');
  });

  test('is granted to a super administrator with policies, if they grant it', async () => {
    const home = clinic.superAdmin.project;
    const rule = (type: string, interaction: string[]): object => ({ resourceType: type, interaction });
    await put(clinic.store, home, policy('projects', [rule('Project', ['create'])] as never));
    await put(clinic.store, home, policy('members', [rule('ProjectMembership', ['create'])] as never));
    const context = { ...clinic, caller: clinic.superAdmin };
    const callers = await Promise.all(
      ['projects', 'members'].map(async (id) => {
        const accessPolicy = { reference: `AccessPolicy/${id}` } as const;
        const { membership } = await createClient(home, { name: id, accessPolicy }, context);
        return signIn(clinic.store, { membership: membership.id });
      }),
    );
    const [projects, members] = callers as [(typeof callers)[0], (typeof callers)[0]];
    const body = { resourceType: 'Project', name: 'New' } as const;
    expect((await createProject(body, { ...clinic, caller: projects })).name).toBe('New');
    expect((await rejection(createProject(body, { ...clinic, caller: members }))).code).toBe('forbidden');
    expect((await rejection(invite(clinic.project, ann, { ...clinic, caller: projects }))).code).toBe('forbidden');
    expect((await invite(clinic.project, ann, { ...clinic, caller: members })).created.user).toBe(true);
  });
});
