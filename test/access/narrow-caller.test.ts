import type { Observation } from '@medplum/fhirtypes';
import { describe, expect, test } from 'vitest';
import { explainAccess } from '../../src/access.js';
import {
  createProject,
  deactivateProject,
  executeFhirGraphql,
  invite,
  listProjects,
  type MemberCaller,
  MemoryStore,
  narrowCaller,
  type Narrowing,
  removeMember,
  searchMembers,
  serverCaller,
  signIn,
  systemCaller,
  updateMember,
} from '../../src/index.js';
import { parseScope } from '../../src/access/narrow/limits.js';
import { ALL_INTERACTIONS } from '../../src/access/rule.js';
import { currentCaller } from '../../src/access/sign-in/current-caller.js';
import { openClinic, person } from '../projects/harness.js';
import { codeOf, faultOf, repositoryOf, signedIn, system } from '../repository/harness.js';

const CATEGORY = 'http://terminology.hl7.org/CodeSystem/observation-category';
const observation = (id: string, patient: string, category: string): Observation => ({
  resourceType: 'Observation',
  id,
  status: 'final',
  code: { text: 'x' },
  category: [{ coding: [{ system: CATEGORY, code: category }] }],
  subject: { reference: `Patient/${patient}` },
});

async function clinic(): Promise<{ store: MemoryStore; doctor: MemberCaller }> {
  const store = new MemoryStore();
  const trusted = await system(store);
  for (const id of ['ann', 'ben']) await trusted.update({ resourceType: 'Patient', id });
  await trusted.update(observation('ann-vital', 'ann', 'vital-signs'));
  await trusted.update(observation('ann-lab', 'ann', 'laboratory'));
  await trusted.update(observation('ben-vital', 'ben', 'vital-signs'));
  await trusted.update({ resourceType: 'Organization', id: 'org', name: 'North' });
  return { store, doctor: await signedIn(store) };
}

/** The resources that a caller finds, by type. */
async function finds(store: MemoryStore, caller: MemberCaller): Promise<string> {
  const repository = repositoryOf(store, caller);
  const found: string[] = [];
  for (const type of ['Patient', 'Observation', 'Organization'] as const) {
    const { entry = [] } = await repository.search(type, '');
    found.push(...entry.map(({ resource }) => resource!.id));
  }
  return found.join(' ');
}

describe('a scope', () => {
  const READ = ['read', 'vread', 'history'];
  test.each<[string, readonly string[]]>([
    ['user/Patient.cruds', ['create', ...READ, 'update', 'delete', 'search']],
    ['user/Patient.r', READ],
    ['user/Patient.s', ['search']],
    ['patient/Patient.rs', [...READ, 'search']],
    ['system/Patient.cud', ['create', 'update', 'delete']],
    ['user/*.read', [...READ, 'search']],
    ['user/Patient.write', ['create', 'update', 'delete']],
    ['user/Patient.*', ['create', ...READ, 'update', 'delete', 'search']],
  ])('%s grants %j', (text, interactions) => {
    const scope = parseScope(text)!;
    expect([...scope.interactions].sort()).toEqual([...interactions].sort());
    expect(`${scope.context}/${scope.type}`).toBe(text.split('.')[0]);
  });

  test('can have a constraint in version 2', () => {
    expect(parseScope('user/Observation.rs?category=a|b&status=final')).toMatchObject({
      query: 'category=a|b&status=final',
    });
    expect(parseScope('user/Observation.read?category=a')).toBeUndefined();
  });

  test.each([
    ...['openid', 'fhirUser', 'launch/patient', 'offline_access', 'user/Patient', 'user/Patient.', 'user/Patient.sr'],
    ...['user/Patient.rr', 'User/Patient.r', 'user/patient.r', 'user/Patient.r?', 'user/Patient.x', 'x user/Patient.r'],
    ...['user/Patient.rs/', 'user/Pat*.rs', 'users/Patient.r', 'user/Patient.readwrite', ''],
  ])('is not %j', (text) => expect(parseScope(text)).toBeUndefined());
});

describe('a narrowed caller', () => {
  const ALL_FOUND = 'ann ben ann-lab ann-vital ben-vital org';
  test.each<[Narrowing, string]>([
    [{ scopes: 'user/*.cruds' }, ALL_FOUND],
    [{ scopes: 'system/*.rs' }, ALL_FOUND],
    [{ scopes: 'user/*.read' }, ALL_FOUND],
    [{ scopes: 'user/Observation.rs openid' }, 'ann-lab ann-vital ben-vital'],
    [{ scopes: 'user/Observation.r' }, ''],
    [{ scopes: 'user/Observation.s' }, 'ann-lab ann-vital ben-vital'],
    [{ scopes: `user/Observation.rs?category=${CATEGORY}|vital-signs` }, 'ann-vital ben-vital'],
    [{ scopes: `user/Observation.rs?category=${CATEGORY}%7Claboratory user/Patient.rs?_id=ben` }, 'ben ann-lab'],
    [{ scopes: `user/*.rs?category=${CATEGORY}|laboratory` }, 'ann-lab'],
    [{ scopes: 'user/Observation.rs?unknown=x user/Organization.rs' }, 'org'],
    [{ scopes: 'user/Observation.rs?subject=%patient' }, ''],
    [{ scopes: 'patient/*.rs', patient: 'ann' }, 'ann ann-lab ann-vital'],
    [{ scopes: `patient/Observation.rs?category=${CATEGORY}|vital-signs`, patient: 'Patient/ann' }, 'ann-vital'],
    [{ scopes: 'patient/Observation.rs user/Organization.rs', patient: 'ben' }, 'ben-vital org'],
    // The launch context binds the scopes for patients alone.
    [{ scopes: 'user/Patient.rs', patient: 'ann' }, 'ann ben'],
    [{ patient: { reference: 'Patient/ben' } }, 'ben ben-vital'],
    [{ patient: 'nobody' }, ''],
    [{ scopes: '' }, ''],
    [{ scopes: 'openid profile' }, ''],
  ])('by %j finds %j', async (narrowing, expected) => {
    const { store, doctor } = await clinic();
    expect(await finds(store, narrowCaller(doctor, narrowing))).toBe(expected);
    expect(await finds(store, doctor)).toBe(ALL_FOUND);
  });

  test('can be narrowed further, and always stays within its own policy', async () => {
    const { store, doctor } = await clinic();
    const once = narrowCaller(doctor, { patient: 'ann' });
    expect(await finds(store, narrowCaller(once, { scopes: 'user/Observation.rs user/Organization.rs' }))).toBe(
      'ann-lab ann-vital',
    );
    expect(await finds(store, narrowCaller(once, { patient: 'ben' }))).toBe('');
    const bound = await signedIn(store, {
      rules: [{ resourceType: 'Patient', criteria: 'Patient?_id=ben', hiddenFields: ['meta'] }],
    });
    expect(await finds(store, narrowCaller(bound, { scopes: 'user/*.cruds' }))).toBe('ben');
    expect(await finds(store, narrowCaller(bound, { patient: 'ann' }))).toBe('');
  });

  test('uses the patient of a Patient or RelatedPerson as launch context', async () => {
    const { store } = await clinic();
    const ann = await signedIn(store, { profile: { resourceType: 'Patient', id: 'ann' } });
    expect(await finds(store, narrowCaller(ann, { scopes: 'patient/Observation.rs' }))).toBe('ann-lab ann-vital');
    const trusted = repositoryOf(store, serverCaller('clinic'));
    const profile = { resourceType: 'RelatedPerson', id: 'rel', patient: { reference: 'Patient/ben' } } as const;
    await trusted.update(profile);
    const related = await signedIn(store, { profile });
    expect(await finds(store, narrowCaller(related, { scopes: 'patient/*.rs' }))).toBe('ben ben-vital');
  });

  test('writes within its scopes, and keeps the fields that any rule of the caller hides', async () => {
    const { store, doctor } = await clinic();
    const app = repositoryOf(store, narrowCaller(doctor, { scopes: 'patient/Observation.crus', patient: 'ann' }));
    const own = await app.read('Observation', 'ann-lab');
    expect(await app.update({ ...own, status: 'amended' })).toMatchObject({ status: 'amended' });
    expect(await codeOf(app.update({ ...own, subject: { reference: 'Patient/ben' } }))).toBe('forbidden');
    expect(await codeOf(app.delete('Observation', 'ann-lab'))).toBe('forbidden');
    expect(await codeOf(app.update(observation('ben-vital', 'ann', 'x')))).toBe('not-found');
    const { id: _, ...fresh } = observation('x', 'ann', 'vital-signs');
    expect(await app.create(fresh)).toMatchObject({ subject: { reference: 'Patient/ann' } });
    expect(await codeOf(app.create({ ...fresh, subject: { reference: 'Patient/ben' } }))).toBe('forbidden');
    // One rule hides birth dates; the scope leaves only the other rule.
    const bound = await signedIn(store, {
      rules: [
        { resourceType: 'Patient', interaction: ['update', 'read'], criteria: 'Patient?gender:missing=true' },
        { resourceType: 'Patient', interaction: ['search'], hiddenFields: ['birthDate'] },
      ],
    });
    for (const caller of [bound, narrowCaller(bound, { scopes: 'user/Patient.ru' })]) {
      const mine = repositoryOf(store, caller);
      const patient = await mine.read('Patient', 'ann');
      expect(await codeOf(mine.update({ ...patient, birthDate: '2000-01-01' }))).toBe('forbidden');
    }
  });

  test('is limited through GraphQL too: lists, counts, reverse lists and references', async () => {
    const { store, doctor } = await clinic();
    const caller = narrowCaller(doctor, { scopes: `user/Observation.rs?category=${CATEGORY}|vital-signs` });
    const query = `{ ObservationList { id subject { reference resource { ... on Patient { id } } } }
      ObservationConnection { count } PatientList { id } }`;
    const { data } = await executeFhirGraphql(query, { store, caller });
    const of = (patient: string): object => ({ reference: `Patient/${patient}`, resource: null });
    expect(data).toEqual({
      ObservationList: [
        { id: 'ann-vital', subject: of('ann') },
        { id: 'ben-vital', subject: of('ben') },
      ],
      ObservationConnection: { count: 2 },
      PatientList: [],
    });
  });

  test('is visible in explanations', async () => {
    const { store, doctor } = await clinic();
    const context = { store, caller: systemCaller('clinic') };
    const caller = narrowCaller(doctor, { scopes: 'patient/Observation.rs', patient: 'ann' });
    const { interactions } = await explainAccess({ of: caller, type: 'Observation', id: 'ann-lab' }, context);
    expect(interactions.read.by).toEqual(['default for Practitioner: the project, within patient/Observation.rs']);
    expect(interactions.update.reasons).toEqual([
      {
        rule: 'default for Practitioner: the project, within patient/Observation.rs',
        because: ['not left to this caller by patient/Observation.rs'],
      },
    ]);
    const other = await explainAccess({ of: caller, type: 'Observation', id: 'ben-vital' }, context);
    expect(other.interactions.read.reasons?.[0]?.because).toEqual(['patient/Observation.rs does not hold']);
    const none = await explainAccess({ of: caller, type: 'Patient', id: 'ann' }, context);
    expect(none.interactions.read.reasons?.[0]?.because).toEqual(['not left to this caller by the scopes']);
  });

  test('stays narrow when its membership is read again, and ends with the caller', async () => {
    const { store, doctor } = await clinic();
    let now = Date.parse('2030-01-01T00:00:00Z');
    const caller = await signIn(store, { membership: doctor.membership }, { clock: () => new Date(now) });
    const narrowed = narrowCaller(caller, { patient: 'ann' });
    const again = await currentCaller(store, narrowed, () => true, undefined);
    expect(await finds(store, again)).toBe('ann ann-lab ann-vital');
    await updateMember(doctor.membership, { active: false }, { store, caller: systemCaller('clinic') });
    now += 5_000;
    expect(await codeOf(repositoryOf(store, narrowed).read('Patient', 'ann'))).toBe('membership-inactive');
  });

  test.each<[string, unknown]>([
    ['narrowCaller needs scopes, a patient or a clearance', {}],
    ['narrowCaller needs scopes, a patient or a clearance', undefined],
    ['narrowCaller needs scopes, a patient or a clearance', { patient: undefined }],
    ['The patient must be named by its id, Patient/id or a Reference', { patient: 'Group/1' }],
    ['The patient must be named by its id, Patient/id or a Reference', { scopes: 'user/*.rs', patient: 7 }],
    ['scopes must be a string, separated by spaces', { scopes: ['user/*.rs'] }],
    ['Scopes that begin with patient/ need the patient of the launch', { scopes: 'user/*.rs patient/*.rs' }],
  ])('is refused: %s', async (message, narrowing) => {
    const { doctor } = await clinic();
    expect(() => narrowCaller(doctor, narrowing as never)).toThrow(message);
  });

  test('is refused for trusted code, invalid callers and too many scopes', async () => {
    const { doctor } = await clinic();
    expect(() => narrowCaller(systemCaller('clinic'), { patient: 'ann' })).toThrow('Only callers of signIn');
    expect(() => narrowCaller({ ...doctor }, { patient: 'ann' })).toThrow('Not a caller');
    const many = (count: number): string =>
      Array.from({ length: count }, (_, at) => `user/Patient.r?_id=p${at}`).join(' ');
    expect(() => narrowCaller(doctor, { scopes: many(501) })).toThrow('500 scopes at most, not 501');
    narrowCaller(doctor, { scopes: many(500) });
  });
});

describe('the administration rights of a narrowed administrator', () => {
  const OPERATIONS = ['create', 'search', 'update', 'delete'] as const;
  test.each<[string, readonly string[]]>([
    ['user/*.cruds', []],
    ['user/ProjectMembership.cruds', OPERATIONS],
    ['system/ProjectMembership.cruds', OPERATIONS],
    ['user/ProjectMembership.c', ['create']],
    ['user/ProjectMembership.s user/ProjectMembership.u', ['search', 'update']],
    ['user/ProjectMembership.d?active=true', []],
    ['user/Project.cruds', []],
    ['patient/ProjectMembership.cruds', []],
  ])('under %s: %j', async (scopes, expected) => {
    const { store, project, admin } = await openClinic();
    const { membership } = await invite(project, person('Practitioner', 'Ben'), { store, caller: admin });
    const caller = narrowCaller(admin, { scopes, patient: 'nobody' });
    const context = { store, caller };
    const calls: Readonly<Record<(typeof OPERATIONS)[number], () => Promise<unknown>>> = {
      create: () => invite(project, person('Practitioner', 'Cy'), context),
      search: () => searchMembers(project, undefined, context),
      update: () => updateMember(membership.id, { userName: 'ben' }, context),
      delete: () => removeMember(membership.id, context),
    };
    for (const operation of OPERATIONS) {
      const code = await calls[operation]().then(
        () => 'done',
        (error: { code: string }) => error.code,
      );
      expect([operation, code]).toEqual([operation, expected.includes(operation) ? 'done' : 'forbidden']);
    }
  });

  test('are removed by the compartment of a patient, and those of a super administrator by missing scopes', async () => {
    const { store, project, admin, superAdmin } = await openClinic();
    const narrowed = narrowCaller(admin, { patient: 'nobody' });
    expect((await faultOf(searchMembers(project, undefined, { store, caller: narrowed }))).code).toBe('forbidden');
    const create = (scopes: string): Promise<unknown> =>
      createProject(
        { resourceType: 'Project', name: 'Other' },
        { store, caller: narrowCaller(superAdmin, { scopes }) },
      );
    expect(await codeOf(create('user/*.cruds user/ProjectMembership.cruds'))).toBe('forbidden');
    expect(await codeOf(create('user/Project.ruds'))).toBe('forbidden');
    expect(await create('system/Project.c')).toMatchObject({ name: 'Other' });
    const list = (scopes: string): Promise<unknown> =>
      listProjects(undefined, { store, caller: narrowCaller(superAdmin, { scopes }) });
    expect(await codeOf(list('user/*.cruds user/Project.c'))).toBe('forbidden');
    expect(await list('user/Project.s')).toMatchObject({ resourceType: 'Bundle' });
    const erase = (scopes: string): Promise<unknown> =>
      deactivateProject('other', { store, caller: narrowCaller(superAdmin, { scopes }) });
    expect(await codeOf(erase('user/Project.cruds'))).toBe('not-found');
    expect(await codeOf(erase('user/Project.cr'))).toBe('forbidden');
    expect(ALL_INTERACTIONS).toHaveLength(7);
  });
});
