import { type Caller, executeFhirGraphql, type ResourceStore, signIn, systemCaller } from '../../src/index.js';
import { R4 } from '../../src/store.js';
import type { AccessPolicy, Bundle, Observation, Organization, Patient, Task, User } from '@medplum/fhirtypes';
import { expect, test } from 'vitest';
import { guardStore } from '../../src/access/guarded-store.js';
import { parseSearch } from '../../src/search/parse/parse-search.js';
import { codeOf, faultOf, member, overStores, repositoryOf, signedIn, system } from '../repository/harness.js';

const ask = (store: ResourceStore, caller: Caller, query: string): Promise<{ data?: unknown; errors?: unknown }> =>
  executeFhirGraphql(query, { store, caller });

const observation = (id: string, more: Partial<Observation> = {}): Observation => ({
  resourceType: 'Observation',
  id,
  status: 'final',
  code: { coding: [{ code: 'a' }] },
  ...more,
});

overStores('old versions', (open) => {
  test('from before a resource belonged to the caller are not visible to the caller', async () => {
    const store = open();
    const trusted = await system(store);
    await trusted.update(observation('o', { subject: { reference: 'Patient/wrong' }, valueString: 'theirs' }));
    await trusted.update(observation('o', { subject: { reference: 'Patient/right' }, valueString: 'mine' }));
    await trusted.update(observation('o', { subject: { reference: 'Patient/right' }, valueString: 'mine still' }));
    const mine = await member(store, { profile: { resourceType: 'Patient', id: 'right' } });
    const versions = await mine.history('Observation', 'o');
    expect([versions.total, versions.entry!.map(({ resource }) => resource!.valueString)]).toEqual([
      2,
      ['mine still', 'mine'],
    ]);
    expect((await mine.history('Observation', 'o', { offset: 1, count: 5 })).entry).toHaveLength(1);
    expect(await mine.vread('Observation', 'o', '2')).toMatchObject({ valueString: 'mine' });
    expect((await faultOf(mine.vread('Observation', 'o', '1'))).message).toBe(
      'Observation/o, version 1, was not found',
    );
    const theirs = await member(store, { profile: { resourceType: 'Patient', id: 'wrong' } });
    expect(await codeOf(theirs.vread('Observation', 'o', '1'))).toBe('not-found');
    expect(await codeOf(theirs.history('Observation', 'o'))).toBe('not-found');
  });

  test('of a deleted resource hide the fields that the rule for all resources of the type hides', async () => {
    const store = open();
    const trusted = await system(store);
    await trusted.update<Patient>({ resourceType: 'Patient', id: 'p', gender: 'male', birthDate: '1970-01-01' });
    await trusted.delete('Patient', 'p');
    const mine = await member(store, {
      rules: [
        { resourceType: 'Patient', hiddenFields: ['birthDate'] },
        { resourceType: 'Patient', criteria: 'Patient?gender=female' },
      ],
    });
    expect(await mine.vread('Patient', 'p', '1')).not.toHaveProperty('birthDate');
    expect(JSON.stringify(await mine.history('Patient', 'p'))).not.toContain('1970');
  });

  test('are decided by the rules for versions, even in a read with other resources', async () => {
    const store = open();
    const trusted = await system(store);
    await trusted.update<Patient>({ resourceType: 'Patient', id: 'p', birthDate: '1970-01-01' });
    await trusted.update<Patient>({ resourceType: 'Patient', id: 'p', birthDate: '1980-01-01' });
    const rules = [
      { resourceType: 'Patient', interaction: ['read' as const] },
      { resourceType: 'Patient', interaction: ['vread' as const], hiddenFields: ['birthDate'] },
      { resourceType: 'Basic', interaction: ['read' as const] },
      { resourceType: 'Observation' },
    ];
    const caller = await signedIn(store, { rules });
    const current = { type: 'Patient', id: 'p' };
    const old = { ...current, version: '1' };
    const guard = guardStore(store, caller);
    for (const keys of [
      [current, old],
      [old, current],
    ]) {
      const results = await guard.read(keys);
      const born = results.map((one) => one.status === 'found' && (one.resource as Patient).birthDate);
      expect(born).toEqual(keys.map((key) => ('version' in key ? undefined : '1980-01-01')));
    }
    for (const [id, version] of [
      ['o1', ''],
      ['o2', '/_history/1'],
    ]) {
      await trusted.update(observation(id!, { subject: { reference: `Patient/p${version!}` } }));
    }
    const { data } = await ask(
      store,
      caller,
      '{ ObservationList { subject { resource { ... on Patient { birthDate } } } } }',
    );
    expect(data).toEqual({
      ObservationList: [
        { subject: { resource: { birthDate: '1980-01-01' } } },
        { subject: { resource: { birthDate: null } } },
      ],
    });
  });
});

overStores('hidden fields', (open) => {
  test('are hidden if one rule hides a part of what another rule hides', async () => {
    const store = open();
    const trusted = await system(store);
    await trusted.update<Patient>({ resourceType: 'Patient', id: 'p', name: [{ family: 'Adams', given: ['Jo'] }] });
    for (const lists of [
      [['name'], ['name.given']],
      [['name.given'], ['name']],
    ]) {
      const rules = lists.map((hiddenFields) => ({ resourceType: 'Patient', hiddenFields }));
      const mine = await member(store, { rules });
      expect((await mine.read('Patient', 'p')).name).toEqual([{ family: 'Adams' }]);
      expect((await mine.search('Patient', 'given=jo&_total=accurate')).total).toBe(0);
    }
  });

  test('are hidden and kept inside Bundles', async () => {
    const store = open();
    const trusted = await system(store);
    const patient: Patient = { resourceType: 'Patient', id: 'p', birthDate: '1970-01-01', gender: 'male' };
    const inside: Observation = { ...observation('o'), contained: [patient] };
    const bundle: Bundle = {
      resourceType: 'Bundle',
      id: 'b',
      type: 'collection',
      entry: [{ resource: patient }, { resource: inside }],
    };
    await trusted.update(bundle);
    const mine = await member(store, {
      rules: [{ resourceType: 'Bundle' }, { resourceType: 'Patient', hiddenFields: ['birthDate'] }],
    });
    const seen = await mine.read('Bundle', 'b');
    expect(JSON.stringify(seen)).not.toContain('1970');
    expect(JSON.stringify(seen)).toContain('"gender":"male"');
    await mine.update({ ...seen, timestamp: '2026-01-01T00:00:00Z' });
    expect((await trusted.read('Bundle', 'b')).entry).toEqual(bundle.entry);
    const changed = { ...seen, entry: [{ resource: { ...patient, birthDate: '2000-01-01' } }] };
    expect(await codeOf(mine.update(changed))).toBe('forbidden');
  });

  test('have no values for expressions, orders and conditions either', async () => {
    const store = open();
    const trusted = await system(store);
    await trusted.update<Patient>({
      resourceType: 'Patient',
      id: 'a',
      birthDate: '1990-01-01',
      name: [{ given: ['B'] }],
    });
    await trusted.update<Patient>({
      resourceType: 'Patient',
      id: 'b',
      birthDate: '1970-01-01',
      name: [{ given: ['A'] }],
    });
    await trusted.update<Task>({
      resourceType: 'Task',
      id: 'a',
      status: 'ready',
      intent: 'order',
      priority: 'routine',
    });
    await trusted.update<Task>({ resourceType: 'Task', id: 'b', status: 'ready', intent: 'order', priority: 'stat' });
    await trusted.update(observation('o', { subject: { reference: 'Patient/a' } }));
    const rules = [
      { resourceType: 'Patient', hiddenFields: ['birthDate', 'name.given'] },
      { resourceType: 'Task', hiddenFields: ['priority'] },
      { resourceType: 'Observation' },
    ];
    const caller = await signedIn(store, { rules });
    const { data, errors } = await ask(
      store,
      caller,
      `{ resource: PatientList(fhirpath: "%resource.birthDate.exists()") { id }
         root: PatientList(fhirpath: "%rootResource.name.given.exists()") { id }
         item: PatientList { name(fhirpath: "%resource.birthDate.exists()") { given } }
         sorted: PatientList(_sort: "birthdate") { id }
         urgent: TaskList(_sort: "-priority-order") { id }
         paged: PatientList(_sort: "-birthdate", _count: 1) { id } }`,
    );
    expect(errors).toBeUndefined();
    const both = [{ id: 'a' }, { id: 'b' }];
    expect(data).toEqual({
      resource: [],
      root: [],
      item: [{ name: null }, { name: null }],
      sorted: both,
      urgent: both,
      paged: [{ id: 'a' }],
    });
    const resolving = '{ ObservationList(fhirpath: "subject.resolve().birthDate.exists()") { id } }';
    const refused = await ask(store, caller, resolving);
    expect(refused.data).toEqual({ ObservationList: null });
    expect(refused.errors).toMatchObject([{ extensions: { code: 'unsupported' } }]);
    const mine = repositoryOf(store, caller);
    const made = await mine.create<Patient>({ resourceType: 'Patient' }, { ifNoneExist: 'birthdate=1990-01-01' });
    expect(['a', 'b']).not.toContain(made.id);
  });

  test('that a type does not have are refused, so that no mistake leaves a field visible', async () => {
    const store = open();
    const trusted = await system(store);
    for (const [resourceType, field] of [
      ['Patient', 'birthdate'],
      ['Patient', 'name.givn'],
      ['Observation', 'value.nothing'],
      ['*', 'birth'],
    ] as const) {
      const policy: AccessPolicy = {
        resourceType: 'AccessPolicy',
        resource: [{ resourceType, hiddenFields: [field] }],
      };
      const fault = await faultOf(trusted.create(policy));
      expect([fault.code, fault.message.includes(JSON.stringify(field))]).toEqual(['policy-invalid', true]);
    }
    const caller = await signedIn(store, { rules: [{ resourceType: 'Patient' }] });
    const id = caller.membership.replace('member', 'policy');
    const key = { project: 'clinic', type: 'AccessPolicy', id };
    // As an older release, or another program, might have written it.
    const resource = { resourceType: 'AccessPolicy', id, resource: [{ resourceType: 'Patient', hiddenFields: ['x'] }] };
    await store.commit([{ kind: 'put', key, resource }]);
    expect(await codeOf(signIn(store, { membership: caller.membership }))).toBe('policy-invalid');
  });
});

overStores('a kept element', (open) => {
  test('is neither shown to callers who can write and not read, nor can they guess it', async () => {
    const store = open();
    const trusted = await system(store);
    const patient: Patient = { resourceType: 'Patient', id: 'p', birthDate: '1970-01-01', gender: 'male' };
    await trusted.update(patient);
    const mine = await member(store, {
      rules: [{ resourceType: 'Patient', interaction: ['update'], readonlyFields: ['birthDate'] }],
    });
    for (const birthDate of ['1970-01-01', '1971-01-01']) {
      const fault = await faultOf(mine.update({ ...patient, birthDate }));
      expect(fault.message).toBe('Not allowed to write the field birthDate of Patient');
    }
    expect(await mine.update({ resourceType: 'Patient', id: 'p', active: true })).not.toHaveProperty('birthDate');
    expect(await trusted.read('Patient', 'p')).toMatchObject({ birthDate: '1970-01-01', active: true });
  });

  test('is not shown to a caller who writes a resource out of its own sight', async () => {
    const store = open();
    const trusted = await system(store);
    await trusted.update(observation('o', { valueString: 'hidden' }));
    const mine = await member(store, {
      rules: [
        { resourceType: 'Observation', criteria: 'Observation?status=final', hiddenFields: ['value'] },
        { resourceType: 'Observation', interaction: ['update'] },
      ],
    });
    expect(await mine.update(observation('o', { status: 'amended' }))).not.toHaveProperty('valueString');
    expect(await trusted.read('Observation', 'o')).toMatchObject({ status: 'amended', valueString: 'hidden' });
  });

  test('stays within the criteria of the rule, even if these lead back to the resource itself', async () => {
    const store = open();
    const trusted = await system(store);
    const unit: Organization = {
      resourceType: 'Organization',
      id: 'unit',
      name: 'North',
      partOf: { reference: 'Organization/unit' },
    };
    await trusted.update(unit);
    const mine = await member(store, {
      rules: [{ resourceType: 'Organization', criteria: 'Organization?partof.name=North' }],
    });
    expect(await codeOf(mine.update({ ...unit, name: 'South' }))).toBe('forbidden');
    expect(await mine.update({ ...unit, name: 'North again' })).toMatchObject({ name: 'North again' });
  });
});

overStores('rights', (open) => {
  test('over rights come from no policy', async () => {
    const store = open();
    const trusted = await system(store);
    const types = ['*', 'User', 'Project', 'ProjectMembership', 'AccessPolicy', 'UserSecurityRequest', 'JsonWebKey'];
    const caller = await signedIn(store, { rules: types.map((resourceType) => ({ resourceType })) });
    const guard = guardStore(store, caller);
    const membershipName = `ProjectMembership/${caller.membership}`;
    const own: Readonly<Record<string, readonly string[]>> = {
      User: [caller.user],
      Project: ['Project/clinic'],
      ProjectMembership: [membershipName],
    };
    for (const type of types.slice(1)) {
      const { matches } = await guard.search({ type, criteria: { kind: 'all' } });
      expect(matches.map(({ resource }) => `${type}/${resource.id!}`)).toEqual(own[type] ?? []);
    }
    const mine = repositoryOf(store, caller);
    const membership = await trusted.read('ProjectMembership', caller.membership);
    expect(await codeOf(mine.update({ ...membership, admin: true }))).toBe('forbidden');
    expect(await codeOf(mine.create<AccessPolicy>({ resourceType: 'AccessPolicy' }))).toBe('forbidden');
    const { data } = await ask(store, caller, '{ ProjectMembershipList { id } ProjectConnection { count } }');
    expect(data).toEqual({ ProjectMembershipList: [{ id: caller.membership }], ProjectConnection: { count: 1 } });
  });

  test('do not let a member take the address of somebody else', async () => {
    const store = open();
    await system(store);
    const [caller, other] = [await signedIn(store), await signedIn(store)];
    const mine = repositoryOf(store, caller);
    const user: User = await mine.read('User', caller.user.slice('User/'.length));
    const taken = await faultOf(mine.update({ ...user, email: `${other.user.slice('User/'.length)}@x.org` }));
    const free = await faultOf(mine.update({ ...user, email: 'nobody@x.org' }));
    expect(taken.toJSON()).toEqual(free.toJSON());
    expect(free.message).toBe('Not allowed to write the field email of User');
  });
});

overStores('a path to a resource', (open) => {
  test('leads no further than the rights of the caller: canonicals, identifiers, versions, containers', async () => {
    const store = open();
    const trusted = await system(store);
    await trusted.update({ resourceType: 'Questionnaire', id: 'q', url: 'http://q', status: 'draft', title: 'hidden' });
    await trusted.update({ resourceType: 'Patient', id: 'p', identifier: [{ system: 'http://s', value: '1' }] });
    await trusted.update({
      resourceType: 'QuestionnaireResponse',
      id: 'r',
      status: 'completed',
      questionnaire: 'http://q',
      subject: { type: 'Patient', identifier: { system: 'http://s', value: '1' } },
      source: { reference: 'Patient/p/_history/1' },
    });
    const caller = await signedIn(store, { rules: [{ resourceType: 'QuestionnaireResponse' }] });
    const query = `{ QuestionnaireResponseList { subject { resource(optional: true) { id } }
      source { resource(optional: true) { id } } } }`;
    const { data } = await executeFhirGraphql(query, { store, caller, resolveIdentifiers: true });
    expect(data).toEqual({ QuestionnaireResponseList: [{ subject: { resource: null }, source: { resource: null } }] });
    const everything = await executeFhirGraphql(query, {
      store,
      caller: systemCaller('clinic'),
      resolveIdentifiers: true,
    });
    expect(everything.data).toEqual({
      QuestionnaireResponseList: [{ subject: { resource: { id: 'p' } }, source: { resource: { id: 'p' } } }],
    });
  });

  test('reveals nothing by its condition: a conditional create finds only resources that its caller finds', async () => {
    const store = open();
    const trusted = await system(store);
    await trusted.update<Patient>({ resourceType: 'Patient', id: 'p', gender: 'male', name: [{ family: 'Adams' }] });
    await trusted.update(observation('o', { subject: { reference: 'Patient/p' } }));
    const mine = await member(store, {
      rules: [
        { resourceType: 'Patient', criteria: 'Patient?gender=female' },
        { resourceType: 'Observation', interaction: ['create', 'search'] },
      ],
    });
    const made = await mine.create<Patient>(
      { resourceType: 'Patient', gender: 'female' },
      { ifNoneExist: 'family=Adams' },
    );
    expect(made.id).not.toBe('p');
    const result = await mine.create(observation('x'), { ifNoneExist: 'subject:Patient.family=Adams' });
    expect(result.id).not.toBe('o');
  });

  test('reveals nothing by its errors, nor by their order', async () => {
    const store = open();
    const trusted = await system(store);
    await trusted.update<Patient>({ resourceType: 'Patient', id: 'unseen', name: [{ family: 'Adams' }] });
    // This rule cannot be decided by the Patient alone, so an existing Patient takes another store call.
    const rules = [{ resourceType: 'Patient', criteria: 'Patient?organization.name=North' }];
    const caller = await signedIn(store, { rules });
    const told = async (id: string): Promise<string> => {
      const query = `{ a: Patient(id: "${id}") { id } b: Patient(id: "none") { id } c: Basic(id: "none") { id } }`;
      return JSON.stringify(await ask(store, caller, query)).replaceAll(id, 'ID');
    };
    expect(await told('unseen')).toBe(await told('absent'));
    const guard = guardStore(store, caller);
    const { criteria } = parseSearch(R4, 'Patient', 'family=Adams');
    expect(await guard.search({ type: 'Patient', criteria, limit: 0, total: true })).toEqual({ matches: [], total: 0 });
  });
});
