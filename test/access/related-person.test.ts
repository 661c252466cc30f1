import type { RelatedPerson } from '@medplum/fhirtypes';
import { describe, expect, test } from 'vitest';
import {
  type Caller,
  executeFhirGraphql,
  importBundle,
  type MemberCaller,
  MemoryStore,
  signIn,
  systemCaller,
} from '../../src/index.js';
import { codeOf, faultOf, repositoryOf, signedIn, system, type Membership } from '../repository/harness.js';

const REL: RelatedPerson = { resourceType: 'RelatedPerson', id: 'rel', patient: { reference: 'Patient/own' } };
const VICTIM: RelatedPerson = { ...REL, patient: { reference: 'Patient/victim' } };
/** The member sees and changes its own record, and reads the observations of its patient. */
const OWN_RECORD: NonNullable<Membership['rules']> = [
  { resourceType: 'RelatedPerson', criteria: 'RelatedPerson?_id=%profile.id' },
  { resourceType: 'Observation', criteria: 'Observation?subject=%patient' },
];

/** Two patients with an observation each, and the record of a relative of one of them. */
async function clinic(): Promise<MemoryStore> {
  const store = new MemoryStore();
  const trusted = await system(store);
  for (const id of ['own', 'victim']) {
    await trusted.update({ resourceType: 'Patient', id });
    const subject = { reference: `Patient/${id}` };
    await trusted.update({ resourceType: 'Observation', id, status: 'final', code: { text: 'x' }, subject });
  }
  await trusted.update(REL);
  return store;
}

async function seen(store: MemoryStore, caller: Caller): Promise<(string | undefined)[]> {
  const { entry = [] } = await repositoryOf(store, caller).search('Observation');
  return entry.map(({ resource }) => resource?.id);
}

/** Every path by which a caller may try to store the record. */
function writesOf(store: MemoryStore, caller: Caller, after: RelatedPerson): readonly (() => Promise<unknown>)[] {
  const repository = repositoryOf(store, caller);
  const bundle = {
    resourceType: 'Bundle' as const,
    type: 'transaction' as const,
    entry: [{ resource: after, request: { method: 'PUT' as const, url: `RelatedPerson/${after.id!}` } }],
  };
  const value = JSON.stringify(after.patient.reference);
  const graphql = async (mutation: string): Promise<void> => {
    const { errors } = await executeFhirGraphql(`mutation { ${mutation} { id } }`, { store, caller });
    if (errors !== undefined) throw new Error(errors[0]!.message);
  };
  return [
    () => repository.update(after),
    () =>
      repository.patch('RelatedPerson', after.id!, [
        { op: 'replace', path: '/patient/reference', value: after.patient.reference },
      ]),
    () => repository.transaction(bundle),
    () => importBundle(bundle, { store, caller }),
    () =>
      graphql(
        `RelatedPersonUpdate(id: "rel", res: { resourceType: "RelatedPerson", id: "rel", patient: { reference: ${value} } })`,
      ),
    () =>
      graphql(`RelatedPersonPatch(id: "rel", patch: [{ op: "replace", path: "/patient/reference", value: ${value} }])`),
  ];
}

function again(store: MemoryStore, { membership }: MemberCaller): Promise<MemberCaller> {
  return signIn(store, { membership });
}

describe('a RelatedPerson', () => {
  test('cannot point its own record to another patient, on any path', async () => {
    const store = await clinic();
    const caller = await signedIn(store, { profile: REL, rules: OWN_RECORD });
    for (const write of writesOf(store, caller, VICTIM)) {
      const fault = await write().then(
        () => undefined,
        (error: unknown) => error,
      );
      expect(String(fault)).toContain('Not allowed to change RelatedPerson.patient');
    }
    expect(await seen(store, await again(store, caller))).toEqual(['own']);
  });

  test.each<[string, Partial<RelatedPerson>, Partial<RelatedPerson>]>([
    ['active', { active: false }, { active: true }],
    ['active', { active: false }, {}],
    ['period', { period: { end: '2001-01-01' } }, { period: { end: '2999-01-01' } }],
    ['period', { period: { end: '2001-01-01' } }, {}],
  ])('cannot restore its own relationship by %s', async (name, was, is) => {
    const store = await clinic();
    const caller = await signedIn(store, { profile: { ...REL, ...was }, rules: OWN_RECORD });
    const fault = await faultOf(repositoryOf(store, caller).update({ ...REL, ...is }));
    expect([fault.code, fault.issues[0]!.expression]).toEqual(['forbidden', [`RelatedPerson.${name}`]]);
    expect(await seen(store, await again(store, caller))).toEqual([]);
  });

  test('can change everything else in its own record', async () => {
    const store = await clinic();
    const caller = await signedIn(store, { profile: REL, rules: OWN_RECORD });
    const telecom = [{ system: 'phone' as const, value: '+41 31 000 00 00' }];
    expect(await repositoryOf(store, caller).update({ ...REL, telecom })).toMatchObject({ telecom });
  });

  test.each<[string, Partial<RelatedPerson>]>([
    ['that is not active', { active: false }],
    ['whose active cannot be read', { active: 'no' as never }],
    ['whose period has ended', { period: { end: '2001' } }],
    ['whose period has not begun', { period: { start: '2999' } }],
    ['whose period cannot be read', { period: { end: 'soon' } }],
    ['of another type of resource', { patient: { reference: 'Group/own' } }],
  ])('%s acts for no patient', async (_, more) => {
    const store = await clinic();
    const profile = { ...REL, ...more };
    expect(await seen(store, await signedIn(store, { profile, rules: OWN_RECORD }))).toEqual([]);
    expect(await seen(store, await signedIn(store, { profile }))).toEqual([]);
  });

  test('within its period acts for its patient', async () => {
    const store = await clinic();
    const profile = { ...REL, active: true, period: { start: '2001-05', end: '2999' } };
    expect(await seen(store, await signedIn(store, { profile, rules: OWN_RECORD }))).toEqual(['own']);
    expect(await seen(store, await signedIn(store, { profile }))).toEqual(['own']);
  });

  test('does not follow the link to the patient that its own was merged into', async () => {
    const store = await clinic();
    const caller = await signedIn(store, { profile: REL, rules: OWN_RECORD });
    const link = [{ type: 'replaced-by' as const, other: { reference: 'Patient/victim' } }];
    await repositoryOf(store, systemCaller('clinic')).update({
      resourceType: 'Patient',
      id: 'own',
      active: false,
      link,
    });
    expect(await seen(store, await again(store, caller))).toEqual(['own']);
  });
});

describe('the patient of somebody else’s RelatedPerson', () => {
  const limited: NonNullable<Membership['rules']> = [
    { resourceType: 'RelatedPerson' },
    { resourceType: 'Patient', criteria: 'Patient?_id=own' },
  ];

  test('cannot be changed by callers who cannot read every patient', async () => {
    const store = await clinic();
    const relative = await signedIn(store, { profile: REL, rules: OWN_RECORD });
    const friend = await signedIn(store, { profile: { ...REL, id: 'friend' }, rules: limited });
    const practitioner = await signedIn(store, { rules: limited });
    for (const caller of [friend, practitioner]) {
      for (const write of writesOf(store, caller, VICTIM)) {
        const fault = await write().then(
          () => undefined,
          (error: unknown) => error,
        );
        expect(String(fault)).toContain('Not allowed to change RelatedPerson.patient');
      }
      const name = [{ family: 'Hill' }];
      expect(await repositoryOf(store, caller).update({ ...REL, name, active: true })).toMatchObject({ name });
    }
    expect(await seen(store, await again(store, relative))).toEqual(['own']);
  });

  test('can be recorded by such callers with a new RelatedPerson, but not with a deleted record', async () => {
    const store = await clinic();
    const practitioner = repositoryOf(store, await signedIn(store, { rules: limited }));
    const made = await practitioner.create<RelatedPerson>({ ...VICTIM, id: undefined as never });
    await practitioner.delete('RelatedPerson', made.id);
    expect(await codeOf(practitioner.update({ ...VICTIM, id: made.id }))).toBe('forbidden');
    expect(await practitioner.update({ ...VICTIM, id: 'new' })).toMatchObject({ id: 'new' });
  });

  test('can be changed by staff that reads every patient and by administrators, and the member follows', async () => {
    const store = await clinic();
    const relative = await signedIn(store, { profile: REL, rules: OWN_RECORD });
    await repositoryOf(store, await signedIn(store)).update(VICTIM);
    expect(await seen(store, await again(store, relative))).toEqual(['victim']);
    const admin = await signedIn(store, { admin: true, rules: limited });
    await repositoryOf(store, admin).update(REL);
    expect(await seen(store, await again(store, relative))).toEqual(['own']);
  });
});
