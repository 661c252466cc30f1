import { type AnyResource, importBundle, MemoryStore, type ResourceStore } from '../../src/index.js';
import type { Bundle, RelatedPerson, Resource } from '@medplum/fhirtypes';
import { expect, test } from 'vitest';
import { maskError } from '../../src/fhir/error.js';
import { codeOf, faultOf, repositoryOf, signedIn, system, type Membership } from '../repository/harness.js';

type Rules = NonNullable<Membership['rules']>;

const RELATIVE: RelatedPerson = { resourceType: 'RelatedPerson', id: 'rel', patient: { reference: 'Patient/own' } };
const GUESSES = ['Patient/own', 'Patient/victim'] as const;

async function storeWith(...content: readonly Resource[]): Promise<MemoryStore> {
  const store = new MemoryStore();
  const trusted = await system(store);
  for (const one of content) await trusted.update(one);
  return store;
}

test('a writer that cannot read a RelatedPerson cannot confirm a guess of its patient', async () => {
  const rules: Rules = [{ resourceType: 'RelatedPerson', interaction: ['update'] }];
  const store = await storeWith(RELATIVE);
  const writer = repositoryOf(store, await signedIn(store, { rules }));
  const faults = await Promise.all(
    GUESSES.map((reference) => faultOf(writer.update({ ...RELATIVE, patient: { reference } }))),
  );
  expect(faults.map(({ code }) => code)).toEqual(['forbidden', 'forbidden']);
  expect(faults[0]!.message).toBe(faults[1]!.message);
});

test('a relative that cannot read its own record cannot confirm a guess of its content', async () => {
  const rules: Rules = [{ resourceType: 'RelatedPerson', interaction: ['update'] }, { resourceType: 'Patient' }];
  const store = await storeWith();
  const own: RelatedPerson = { ...RELATIVE, active: true, period: { start: '2020' } };
  const relative = repositoryOf(store, await signedIn(store, { profile: own, rules }));
  for (const guess of [{}, { active: true }, { active: true, period: { start: '2020' } }] as const) {
    expect(await codeOf(relative.update({ ...RELATIVE, ...guess }))).toBe('forbidden');
  }
});

test('it changes the other elements without naming the patient, in a strict project too', async () => {
  const store = new MemoryStore();
  const trusted = await system(store);
  await trusted.update(RELATIVE);
  const rules: Rules = [{ resourceType: 'RelatedPerson', interaction: ['update'] }];
  const writer = repositoryOf(store, await signedIn(store, { rules }));
  await system(store, 'clinic', { strictMode: true });
  const { patient: _, ...others } = RELATIVE;
  await writer.update({ ...others, gender: 'other' } as RelatedPerson);
  expect(await trusted.read('RelatedPerson', 'rel')).toMatchObject({ patient: RELATIVE.patient, gender: 'other' });
});

test('the owner of a profile is named only to callers who can read memberships', async () => {
  const store = await storeWith();
  const { profile, membership } = await signedIn(store);
  const id = profile.split('/')[1]!;
  const fault = await faultOf(repositoryOf(store, await signedIn(store)).delete('Practitioner', id));
  expect([fault.code, fault.details]).toEqual(['conflict', { index: 0 }]);
  expect(JSON.stringify([fault.message, fault.outcome])).not.toContain(membership);
  const admin = repositoryOf(store, await signedIn(store, { admin: true }));
  expect((await faultOf(admin.delete('Practitioner', id))).message).toContain(`ProjectMembership/${membership}`);
});

test('a transaction makes the same store calls for hidden and for missing resources', async () => {
  const rules: Rules = [
    { resourceType: 'Patient' },
    { resourceType: 'Observation', criteria: 'Observation?subject:Patient.gender=female' },
  ];
  const observation = (id: string | undefined, patient: string): AnyResource =>
    ({
      resourceType: 'Observation',
      ...(id === undefined ? {} : { id }),
      status: 'final',
      code: { text: 'x' },
      subject: { reference: `Patient/${patient}` },
    }) as AnyResource;
  const store = await storeWith(
    { resourceType: 'Patient', id: 'her', gender: 'female' },
    { resourceType: 'Patient', id: 'him', gender: 'male' },
    observation('hidden', 'him') as Resource,
  );
  const caller = await signedIn(store, { rules });
  const attempt = async (id: string, method: 'PUT' | 'DELETE'): Promise<unknown> => {
    const calls: string[] = [];
    const bundle = {
      resourceType: 'Bundle',
      type: 'transaction',
      entry: [
        { resource: observation(undefined, 'her'), request: { method: 'POST', url: 'Observation' } },
        {
          ...(method === 'PUT' ? { resource: observation(id, 'her') } : {}),
          request: { method, url: `Observation/${id}`, ...(method === 'PUT' ? {} : { ifMatch: 'W/"1"' }) },
        },
        { resource: { resourceType: 'Patient', id: 'her', gender: 'female' }, request: { method: 'PUT', url: 'Patient/her' } }, // prettier-ignore
      ],
    } as unknown as Bundle;
    const { code, message } = await importBundle(bundle, { store: counted(store, calls), caller }).then(
      () => {
        throw new Error('The transaction went through');
      },
      (error: unknown) => maskError(error),
    );
    return [code, message.replaceAll(id, 'ID'), calls];
  };
  for (const method of ['PUT', 'DELETE'] as const) {
    expect(await attempt('hidden', method)).toEqual(await attempt('missing', method));
  }
});

test('a writer cannot set the time or the author of its resource', async () => {
  const store = await storeWith({ resourceType: 'Patient', id: 'p', gender: 'female' });
  const old = { lastUpdated: '2001-01-01T00:00:00Z', versionId: '1' };
  const before2010: Rules = [{ resourceType: 'Patient', criteria: 'Patient?_lastUpdated=lt2010' }];
  const late = repositoryOf(store, await signedIn(store, { rules: before2010 }));
  expect(await codeOf(late.create({ resourceType: 'Patient', meta: old }))).toBe('forbidden');

  const expression = "%after.meta.author.reference = 'Practitioner/chief'";
  const byChief: Rules = [{ resourceType: 'Patient', writeConstraint: [{ language: 'text/fhirpath', expression }] }];
  const other = repositoryOf(store, await signedIn(store, { rules: byChief }));
  const claimed = { author: { reference: 'Practitioner/chief' } };
  expect(await codeOf(other.update({ resourceType: 'Patient', id: 'p', meta: claimed }))).toBe('forbidden');
  const profile = { resourceType: 'Practitioner', id: 'chief' } as const;
  const chief = repositoryOf(store, await signedIn(store, { rules: byChief, profile }));
  expect(await chief.update({ resourceType: 'Patient', id: 'p', active: true })).toMatchObject({ active: true });
});

test('elements that a write-only rule hides are hidden inside other resources too', async () => {
  const contained = [{ resourceType: 'Patient', id: 'in', birthDate: '1970-01-01', gender: 'female' }] as const;
  const store = await storeWith({
    resourceType: 'Observation',
    id: 'o',
    status: 'final',
    code: { text: 'x' },
    contained: [...contained],
  });
  const rules: Rules = [
    { resourceType: 'Observation' },
    { resourceType: 'Patient', interaction: ['update'], hiddenFields: ['birthDate'] },
  ];
  const reader = repositoryOf(store, await signedIn(store, { rules }));
  const { birthDate: _, ...shown } = contained[0];
  expect((await reader.read('Observation', 'o')).contained).toEqual([shown]);
});

test.each([[['read', 'update']], [['update']]] as const)(
  'a readonly form of a choice cannot be replaced by another form, with %s',
  async (interaction) => {
    const store = await storeWith({ resourceType: 'Patient', id: 'p', deceasedBoolean: true });
    const trusted = await system(store);
    const rules: Rules = [
      { resourceType: 'Patient', interaction: [...interaction], readonlyFields: ['deceasedBoolean'] },
    ];
    const writer = repositoryOf(store, await signedIn(store, { rules }));
    const fault = await faultOf(writer.update({ resourceType: 'Patient', id: 'p', deceasedDateTime: '2020-01-01' }));
    expect([fault.code, fault.issues[0]!.expression]).toEqual(['forbidden', ['Patient.deceasedBoolean']]);
    await writer.update({ resourceType: 'Patient', id: 'p', gender: 'female' });
    expect(await trusted.read('Patient', 'p')).toMatchObject({ deceasedBoolean: true, gender: 'female' });
  },
);

test.each([
  ['an update', 'not-found'],
  ['a deletion', 'not-found'],
  ['a creation', 'forbidden'],
] as const)('%s under a rule with a chain is decided by the target of the chain at the commit', async (kind, code) => {
  const her = { resourceType: 'Patient', id: 'her', gender: 'female' } as const;
  const observation = {
    resourceType: 'Observation',
    id: 'o',
    status: 'final',
    code: { text: 'x' },
    subject: { reference: 'Patient/her' },
  } as const;
  const store = await storeWith(her, observation);
  const trusted = await system(store);
  const rules: Rules = [{ resourceType: 'Observation', criteria: 'Observation?subject:Patient.gender=female' }];
  const writer = repositoryOf(store, await signedIn(store, { rules }));
  const { id: _, ...fresh } = observation;
  const write = (): Promise<unknown> =>
    kind === 'an update'
      ? writer.update({ ...observation, status: 'amended' })
      : kind === 'a deletion'
        ? writer.delete('Observation', 'o')
        : writer.create(fresh);
  const commit = store.commit.bind(store);
  store.commit = async (writes, options) => {
    store.commit = commit;
    await trusted.update({ ...her, gender: 'male' });
    return commit(writes, options);
  };
  expect(await codeOf(write())).toBe(code);
  const { entry } = await trusted.search('Observation');
  expect(entry!.map(({ resource }) => [resource!.id, resource!.meta.versionId])).toEqual([['o', '1']]);

  await trusted.update(her);
  await write();
  expect(store.commit).toBe(commit);
});

test('a write ends as a conflict if the resources that decide about it keep changing', async () => {
  const store = await storeWith({ resourceType: 'Patient', id: 'her', gender: 'female' });
  const trusted = await system(store);
  const rules: Rules = [{ resourceType: 'Observation', criteria: 'Observation?subject:Patient.gender=female' }];
  const writer = repositoryOf(store, await signedIn(store, { rules }));
  const commit = store.commit.bind(store);
  store.commit = async (writes, options) => {
    const flip = (gender: 'female' | 'male') =>
      commit([
        {
          kind: 'put',
          key: { project: 'clinic', type: 'Patient', id: 'her' },
          resource: { resourceType: 'Patient', id: 'her', gender } as AnyResource,
        },
      ]);
    await flip('male');
    return commit(writes, options).finally(() => flip('female'));
  };
  const subject = { reference: 'Patient/her' };
  const fault = await faultOf(
    writer.create({ resourceType: 'Observation', status: 'final', code: { text: 'x' }, subject }),
  );
  expect([fault.code, fault.details]).toEqual(['conflict', { index: 0 }]);
  store.commit = commit;
  expect((await trusted.search('Observation')).entry).toBeUndefined();
});

/** The store, with the names of the calls to it written down. */
function counted(store: ResourceStore, calls: string[]): ResourceStore {
  return new Proxy(store, {
    get(target, name) {
      const member: unknown = Reflect.get(target, name, target);
      if (typeof member !== 'function') return member;
      return (...given: unknown[]): unknown => {
        calls.push(String(name));
        return Reflect.apply(member, target, given) as unknown;
      };
    },
  });
}
