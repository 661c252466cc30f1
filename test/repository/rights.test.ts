import type { Patient } from '@medplum/fhirtypes';
import { executeFhirGraphql, type ResourceStore } from '../../src/index.js';
import { describe, expect, test } from 'vitest';
import { codeOf, faultOf, member, overStores, repositoryOf, signedIn, system } from './harness.js';

overStores("a member's repository", (open) => {
  test('shows exactly the resources that its rules grant', async () => {
    const store = open();
    const trusted = await system(store);
    for (const id of ['a', 'b']) {
      await trusted.update({ resourceType: 'Patient', id, gender: id === 'a' ? 'female' : 'male' });
      await trusted.update({ resourceType: 'Basic', id, code: { text: 'x' } });
    }
    const mine = await member(store, { rules: [{ resourceType: 'Patient', criteria: 'Patient?gender=female' }] });
    expect(await mine.read('Patient', 'a')).toMatchObject({ id: 'a' });
    const found = await mine.search('Patient', '_total=accurate');
    expect([found.total, found.entry!.map(({ resource }) => resource!.id)]).toEqual([1, ['a']]);
    expect((await mine.history('Patient', 'a')).total).toBe(1);
    expect(await mine.search('Basic', '_total=accurate')).toMatchObject({ total: 0 });
  });

  test('gives the same answer for invisible and for missing resources', async () => {
    const store = open();
    const trusted = await system(store);
    await trusted.update({ resourceType: 'Patient', id: 'hidden', gender: 'male' });
    await trusted.update({ resourceType: 'Basic', id: 'hidden', code: { text: 'x' } });
    const mine = await member(store, { rules: [{ resourceType: 'Patient', criteria: 'Patient?gender=female' }] });
    const read = await member(store, {
      rules: [{ resourceType: 'Patient', criteria: 'Patient?gender=female', readonly: true }],
    });
    for (const repository of [mine, read]) {
      for (const type of ['Patient', 'Basic'] as const) {
        const answers = async (id: string): Promise<unknown> => {
          const body = { resourceType: type, id, gender: 'female' } as Patient;
          const calls = [
            repository.read(type, id),
            repository.vread(type, id, '1'),
            repository.history(type, id),
            repository.patch(type, id, []),
            repository.patch(type, id, [], { ifMatch: '1' }),
            repository.delete(type, id),
            repository.delete(type, id, { ifMatch: '1' }),
            repository.delete(type, id, { ifMatch: '2' }),
            repository.update(body),
            repository.update(body, { ifMatch: '1' }),
            repository.update(body, { ifMatch: '7' }),
            repository.search(type, `_id=${id}&_total=accurate`),
          ];
          const settled = await Promise.all(
            calls.map((call) =>
              call.then(
                (value) => value,
                (error: unknown) => error,
              ),
            ),
          );
          return settled.map((one) => (one instanceof Error ? [one.message.replaceAll(id, '?'), one] : one));
        };
        const [invisible, missing] = [await answers('hidden'), await answers('absent')];
        expect(JSON.stringify(invisible).replaceAll('hidden', '?')).toBe(
          JSON.stringify(missing).replaceAll('absent', '?'),
        );
      }
    }
    expect((await trusted.history('Patient', 'hidden')).total).toBe(1);
    expect((await trusted.search('Patient', '_id=absent&_total=accurate')).total).toBe(0);
  });

  test('assigns ids to new resources if it does not see all of a type', async () => {
    const store = open();
    await system(store);
    const mine = await member(store, { rules: [{ resourceType: 'Patient', criteria: 'Patient?gender=female' }] });
    const created = await mine.create({ resourceType: 'Patient', gender: 'female' });
    expect(await mine.read('Patient', created.id)).toEqual(created);
    expect((await faultOf(mine.update({ resourceType: 'Patient', id: 'x', gender: 'female' }))).message).toBe(
      'Patient/x was not found; a new one gets its id from the server',
    );
    const all = await member(store, { rules: [{ resourceType: 'Patient' }] });
    expect(await all.update({ resourceType: 'Patient', id: 'x' })).toMatchObject({ id: 'x' });
  });

  test('allows only the interactions of its rules', async () => {
    const store = open();
    const trusted = await system(store);
    await trusted.update({ resourceType: 'Patient', id: 'p' });
    const allowed = async (interaction: readonly string[]): Promise<readonly string[]> => {
      const mine = await member(store, { rules: [{ resourceType: 'Patient', interaction: interaction as never }] });
      const outcomes = {
        create: mine.create({ resourceType: 'Patient' }),
        read: mine.read('Patient', 'p'),
        vread: mine.vread('Patient', 'p', '1'),
        history: mine.history('Patient', 'p'),
        search: mine.search('Patient').then(({ entry }) => entry ?? Promise.reject(new Error('empty'))),
        update: mine.update({ resourceType: 'Patient', id: 'p' }),
      };
      const settled = await Promise.allSettled(Object.values(outcomes));
      return Object.keys(outcomes).filter((_, index) => settled[index]!.status === 'fulfilled');
    };
    for (const one of ['create', 'read', 'vread', 'history', 'search', 'update']) {
      expect(await allowed([one])).toEqual([one]);
    }
    expect(await allowed(['read', 'search'])).toEqual(['read', 'search']);
    const writer = await member(store, { rules: [{ resourceType: 'Patient', interaction: ['read', 'update'] }] });
    expect(await codeOf(writer.create({ resourceType: 'Patient' }))).toBe('forbidden');
    expect(await codeOf(writer.delete('Patient', 'p'))).toBe('forbidden');
    const eraser = await member(store, { rules: [{ resourceType: 'Patient', interaction: ['read', 'delete'] }] });
    expect(await codeOf(eraser.update({ resourceType: 'Patient', id: 'p' }))).toBe('forbidden');
    await eraser.delete('Patient', 'p');
    expect(await codeOf(eraser.read('Patient', 'p'))).toBe('gone');
  });

  test('writes only within its criteria, before and after', async () => {
    const store = open();
    const trusted = await system(store);
    await trusted.update({ resourceType: 'Patient', id: 'p', gender: 'female' });
    const mine = await member(store, { rules: [{ resourceType: 'Patient', criteria: 'Patient?gender=female' }] });
    expect(await codeOf(mine.create({ resourceType: 'Patient', gender: 'male' }))).toBe('forbidden');
    expect(await codeOf(mine.update({ resourceType: 'Patient', id: 'p', gender: 'male' }))).toBe('forbidden');
    expect(await codeOf(mine.patch('Patient', 'p', [{ op: 'remove', path: '/gender' }]))).toBe('forbidden');
    expect(await mine.update({ resourceType: 'Patient', id: 'p', gender: 'female', active: true })).toMatchObject({
      active: true,
    });
  });

  test('sets the author, whatever the resource contains', async () => {
    const store = open();
    await system(store);
    const caller = await signedIn(store);
    const mine = repositoryOf(store, caller, { extendedMeta: true });
    const meta = { author: { reference: 'Practitioner/other' }, project: 'other', versionId: '77' };
    const created = await mine.create<Patient>({ resourceType: 'Patient', meta });
    expect(created.meta).toMatchObject({
      author: { reference: caller.profile },
      project: 'clinic',
      versionId: '1',
    });
  });

  test('shows the author only on request', async () => {
    const store = open();
    await system(store);
    const caller = await signedIn(store);
    const stamp = { project: 'clinic', author: { reference: caller.profile } };
    for (const extendedMeta of [true, false]) {
      const mine = repositoryOf(store, caller, { extendedMeta });
      const { id } = await mine.create({ resourceType: 'Patient' });
      const entry = [{ resource: { resourceType: 'Patient', id }, request: { method: 'PUT', url: `Patient/${id}` } }];
      const given = [
        await mine.read('Patient', id),
        await mine.vread('Patient', id, '1'),
        await mine.update({ resourceType: 'Patient', id, active: true }),
        await mine.patch('Patient', id, [{ op: 'add', path: '/gender', value: 'male' }]),
        ...(await mine.search('Patient', { _id: id })).entry!.map(({ resource }) => resource),
        ...(await mine.history('Patient', id)).entry!.map(({ resource }) => resource),
        ...(await mine.transaction({ resourceType: 'Bundle', type: 'batch', entry } as never)).entry!.flatMap(
          ({ resource }) => resource ?? [],
        ),
      ];
      expect(given.length).toBeGreaterThan(7);
      for (const resource of given) {
        if (extendedMeta) expect(resource!.meta).toMatchObject(stamp);
        else expect(Object.keys(resource!.meta!).sort()).toEqual(['lastUpdated', 'versionId']);
      }
    }
    const query = '{ PatientList(_count: 1) { meta { project author { reference } } } }';
    const { data } = await executeFhirGraphql(query, { store, caller });
    expect(data).toEqual({ PatientList: [{ meta: stamp }] });
  });

  test('keeps hidden fields, and refuses writes that contain them', async () => {
    const store = open();
    const trusted = await system(store);
    const stored = await trusted.update<Patient>({
      resourceType: 'Patient',
      id: 'p',
      birthDate: '2001-02-03',
      multipleBirthInteger: 3,
      telecom: [{ system: 'phone', value: '555' }],
    });
    const hiddenFields = ['birthDate', 'multipleBirth', 'telecom'];
    const mine = await member(store, { rules: [{ resourceType: 'Patient', hiddenFields }] });
    const seen = await mine.read('Patient', 'p');
    expect(Object.keys(seen).sort()).toEqual(['id', 'meta', 'resourceType']);
    const updated = await mine.update({ ...seen, active: true });
    expect(updated).not.toHaveProperty('birthDate');
    expect(updated).not.toHaveProperty('multipleBirthInteger');
    await mine.patch('Patient', 'p', [{ op: 'add', path: '/gender', value: 'female' }]);
    const { meta: _before, ...kept } = stored;
    expect(await trusted.read('Patient', 'p')).toMatchObject({ ...kept, active: true, gender: 'female' });
    // A right and a wrong guess have the same answer.
    const guesses = ['2001-02-03', '1999-01-01'].map((birthDate) => faultOf(mine.update({ ...seen, birthDate })));
    const [right, wrong] = await Promise.all(guesses);
    expect(right!.code).toBe('forbidden');
    expect(right!.outcome).toEqual(wrong!.outcome);
    for (const value of ['2001-02-03', '1999-01-01']) {
      const fault = await faultOf(mine.patch('Patient', 'p', [{ op: 'test', path: '/birthDate', value }]));
      expect(fault.message).toBe('Operation 0 of the patch (test): nothing is at "/birthDate"');
    }
    expect(await codeOf(mine.create({ resourceType: 'Patient', birthDate: '2000' }))).toBe('forbidden');
    expect(await codeOf(mine.update({ ...seen, multipleBirthBoolean: false }))).toBe('forbidden');
  });

  test('keeps an element with a hidden part as it is seen, whether it has hidden content or not', async () => {
    const store = open();
    const trusted = await system(store);
    const name = [{ family: 'A', given: ['B'] }, { family: 'C' }];
    await trusted.update({ resourceType: 'Patient', id: 'p', name });
    const mine = await member(store, { rules: [{ resourceType: 'Patient', hiddenFields: ['name.given'] }] });
    const seen = await mine.read('Patient', 'p');
    expect(seen.name).toEqual([{ family: 'A' }, { family: 'C' }]);
    await mine.update({ ...seen, active: true });
    expect(await trusted.read('Patient', 'p')).toMatchObject({ name, active: true });
    expect(await codeOf(mine.update({ ...seen, name: [{ family: 'Z' }, { family: 'C' }] }))).toBe('forbidden');
    expect(await codeOf(mine.update({ ...seen, name: [] }))).toBe('forbidden');
    await trusted.update({ resourceType: 'Patient', id: 'q', name: [{ family: 'A' }] });
    const [there, not] = await Promise.all(
      ['p', 'q'].map((id) => faultOf(mine.update({ resourceType: 'Patient', id, name: [{ family: 'Z' }] }))),
    );
    expect(there!.outcome).toEqual(not!.outcome);
    expect(await codeOf(mine.create({ resourceType: 'Patient', name: [{ family: 'Z' }] }))).toBe('forbidden');
  });

  test('keeps hidden elements inside contained resources', async () => {
    const store = open();
    const trusted = await system(store);
    const contained = [{ resourceType: 'Patient' as const, id: 'c', birthDate: '2001-02-03' }];
    const code = { text: 'x' };
    const subject = { reference: '#c' };
    await trusted.update({ resourceType: 'Observation', id: 'o', status: 'final', code, subject, contained });
    const mine = await member(store, {
      rules: [{ resourceType: 'Observation' }, { resourceType: 'Patient', hiddenFields: ['birthDate'] }],
    });
    const seen = await mine.read('Observation', 'o');
    expect(seen.contained).toEqual([{ resourceType: 'Patient', id: 'c' }]);
    await mine.update({ ...seen, status: 'amended' });
    expect(await trusted.read('Observation', 'o')).toMatchObject({ status: 'amended', contained });
  });

  test('changes no readonly field: neither its value nor by setting or omitting it', async () => {
    const store = open();
    const trusted = await system(store);
    await trusted.update({ resourceType: 'Patient', id: 'p', active: true, name: [{ family: 'A', given: ['B'] }] });
    const readonlyFields = ['active', 'gender', 'name.given'];
    const mine = await member(store, { rules: [{ resourceType: 'Patient', readonlyFields }] });
    const seen = await mine.read('Patient', 'p');
    expect(seen.active).toBe(true);
    expect(await mine.update({ ...seen, birthDate: '2001' })).toMatchObject({ active: true, birthDate: '2001' });
    expect(await codeOf(mine.update({ ...seen, active: false }))).toBe('forbidden');
    expect(await codeOf(mine.update({ ...seen, gender: 'male' }))).toBe('forbidden');
    const { active: _active, ...without } = seen;
    expect(await mine.update(without)).toMatchObject({ active: true });
    const given = (family: string, ...names: string[]): Patient => ({ ...seen, name: [{ family, given: names }] });
    expect(await codeOf(mine.update(given('A', 'C')))).toBe('forbidden');
    expect(await mine.update(given('Z', 'B'))).toMatchObject({ name: [{ family: 'Z', given: ['B'] }] });
    expect(await codeOf(mine.create({ resourceType: 'Patient', gender: 'male' }))).toBe('forbidden');
    const fault = await faultOf(mine.update({ ...seen, active: false }));
    expect(fault.outcome.issue).toEqual([
      expect.objectContaining({ code: 'forbidden', expression: ['Patient.active'] }),
    ]);
  });

  test('keeps elements that only its reads hide, even if its writes could name them', async () => {
    const store = open();
    const trusted = await system(store);
    await trusted.update({ resourceType: 'Patient', id: 'p', birthDate: '2001-02-03' });
    const mine = await member(store, {
      rules: [
        { resourceType: 'Patient', readonly: true, hiddenFields: ['birthDate'] },
        { resourceType: 'Patient', interaction: ['update'] },
      ],
    });
    const seen = await mine.read('Patient', 'p');
    expect(await mine.update({ ...seen, active: true })).not.toHaveProperty('birthDate');
    expect(await trusted.read('Patient', 'p')).toMatchObject({ birthDate: '2001-02-03', active: true });
  });

  test('writes only resources that meet its constraints', async () => {
    const store = open();
    const trusted = await system(store);
    const code = { text: 'x' };
    await trusted.update({ resourceType: 'Observation', id: 'o', status: 'final', code });
    const mine = await member(store, {
      rules: [
        {
          resourceType: 'Observation',
          writeConstraint: [
            { language: 'text/fhirpath', expression: "%before.exists() implies %before.status != 'final'" },
            { language: 'text/fhirpath', expression: '%after.code.exists()' },
          ],
        },
      ],
    });
    expect(await codeOf(mine.update({ resourceType: 'Observation', id: 'o', status: 'amended', code }))).toBe(
      'forbidden',
    );
    const draft = await mine.create({ resourceType: 'Observation', status: 'preliminary', code });
    expect(await mine.update({ ...draft, status: 'final' })).toMatchObject({ status: 'final' });
    expect(await codeOf(mine.update({ ...draft, status: 'cancelled' }))).toBe('forbidden');
  });

  test('cannot delete the profile of a member; administrators learn whose profile it is', async () => {
    const store = open();
    const trusted = await system(store);
    const caller = await signedIn(store);
    const rules = [{ resourceType: 'Practitioner' }] as const;
    const other = await member(store, { rules });
    const admin = await member(store, { rules, admin: true });
    const id = caller.profile.split('/')[1]!;
    expect(await codeOf(other.delete('Practitioner', id))).toBe('conflict');
    for (const repository of [trusted, admin]) {
      const fault = await faultOf(repository.delete('Practitioner', id));
      expect(fault.code).toBe('conflict');
      expect(fault.message).toContain(`ProjectMembership/${caller.membership}`);
    }
    await trusted.delete('ProjectMembership', caller.membership);
    await other.delete('Practitioner', id);
    expect(await codeOf(trusted.read('Practitioner', id))).toBe('gone');
  });

  describe('when another write comes between decision and commit', () => {
    /** Makes the next commit wait for a commit of another caller. */
    function overtake(store: ResourceStore, act: () => Promise<unknown>): void {
      const commit = store.commit.bind(store);
      let waiting: (() => Promise<unknown>) | undefined = act;
      store.commit = async (writes, options) => {
        const before = waiting;
        waiting = undefined;
        await before?.();
        return commit(writes, options);
      };
    }

    test.each([
      ['not-found', undefined],
      ['precondition-failed', '1'],
      // Decided about version 1, whatever the next version is.
      ['precondition-failed', '2'],
    ])('ends with %s if the caller can no longer write, under ifMatch %s', async (code, ifMatch) => {
      const store = open();
      const trusted = await system(store);
      await trusted.update({ resourceType: 'Patient', id: 'p', gender: 'female' });
      const mine = await member(store, { rules: [{ resourceType: 'Patient', criteria: 'Patient?gender=female' }] });
      overtake(store, () => trusted.update({ resourceType: 'Patient', id: 'p', gender: 'male' }));
      const update = mine.update({ resourceType: 'Patient', id: 'p', gender: 'female' }, { ifMatch });
      expect(await codeOf(update)).toBe(code);
      // If there is nothing to commit, the other write comes before this one.
      await trusted.update({ resourceType: 'Patient', id: 'q' });
      expect(await trusted.read('Patient', 'p')).toMatchObject({ gender: 'male', meta: { versionId: '2' } });
    });

    test('is decided again if the caller still can', async () => {
      const store = open();
      const trusted = await system(store);
      await trusted.update({ resourceType: 'Patient', id: 'p', gender: 'female', birthDate: '2001' });
      const mine = await member(store, { rules: [{ resourceType: 'Patient', hiddenFields: ['birthDate'] }] });
      overtake(store, () => trusted.update({ resourceType: 'Patient', id: 'p', birthDate: '2002' }));
      await mine.update({ resourceType: 'Patient', id: 'p', active: true });
      expect(await trusted.read('Patient', 'p')).toMatchObject({
        active: true,
        birthDate: '2002',
        meta: { versionId: '3' },
      });
    });
  });
});
