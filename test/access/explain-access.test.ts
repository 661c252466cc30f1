import { describe, expect, test } from 'vitest';
import { explainAccess } from '../../src/access.js';
import { type Caller, type MemberCaller, MemoryStore, serverCaller, signIn, systemCaller } from '../../src/index.js';
import { countCalls } from '../graphql/counting-store.js';
import { codeOf, repositoryOf, signedIn, system } from '../repository/harness.js';

async function world(): Promise<{ store: MemoryStore; caller: MemberCaller }> {
  const store = new MemoryStore();
  const trusted = await system(store);
  await trusted.update({ resourceType: 'Patient', id: 'girl', gender: 'female' });
  await trusted.update({ resourceType: 'Patient', id: 'boy', gender: 'male' });
  const caller = await signedIn(store, {
    rules: [
      { resourceType: 'Patient', readonly: true, hiddenFields: ['birthDate'] },
      { resourceType: 'Patient', criteria: 'Patient?gender=female', readonlyFields: ['gender'] },
    ],
  });
  return { store, caller };
}

describe('an explanation', () => {
  test('of a type names the rules that grant something', async () => {
    const context = await world();
    const { interactions, text } = await explainAccess({ type: 'Patient' }, context);
    const [all, female] = interactions.read.by;
    expect(all).toMatch(/^AccessPolicy\/policy-\d+, rule 1: Patient$/);
    expect(female).toMatch(/^AccessPolicy\/policy-\d+, rule 2: Patient\?gender=female$/);
    expect(interactions.update).toMatchObject({ allowed: true, by: [female], not: [all], readonlyFields: ['gender'] });
    expect(text.split('\n')).toHaveLength(7);
    expect(text).toContain(`update Patient: allowed by ${female!}`);
  });

  test('of a resource shows which rules match it, and which fields stay hidden', async () => {
    const context = await world();
    const boy = await explainAccess({ type: 'Patient', id: 'boy' }, context);
    expect(boy.interactions.read).toMatchObject({ allowed: true, hidden: ['birthDate'] });
    expect(boy.interactions.delete).toMatchObject({ allowed: false, by: [] });
    expect(boy.text).toMatch(/^delete Patient\/boy: denied, not granted by: /m);
    const girl = await explainAccess({ type: 'Patient', id: 'girl' }, context);
    expect(girl.interactions.read).toMatchObject({ allowed: true, hidden: [] });
    expect(girl.interactions.delete.allowed).toBe(true);
    expect((await explainAccess({ type: 'Patient', id: 'absent' }, context)).interactions.read.allowed).toBe(false);
  });

  test('of a type without rules says so', async () => {
    const context = await world();
    const { interactions, text } = await explainAccess({ type: 'Observation' }, context);
    expect(interactions.search).toEqual({ allowed: false, by: [], not: [], hidden: [], readonlyFields: [] });
    expect(text).toContain('search Observation: denied, no rule is about this type');
  });

  test('of trusted code allows everything but its secrets', async () => {
    const { interactions } = await explainAccess(
      { type: 'User' },
      { store: new MemoryStore(), caller: systemCaller('clinic') },
    );
    expect(interactions.read).toMatchObject({ allowed: true, hidden: ['passwordHash', 'mfaSecret'] });
  });

  test('needs a caller and a type', async () => {
    const context = await world();
    expect(await codeOf(explainAccess({ type: 'Pateint' }, context))).toBe('invalid');
    expect(await codeOf(explainAccess({ type: '__proto__' }, context))).toBe('invalid');
    expect(await codeOf(explainAccess({ type: 'Patient' }, { ...context, caller: { ...context.caller } }))).toBe(
      'unauthenticated',
    );
  });
});

describe('an explanation agrees with the real decisions', () => {
  test('for deleted resources: a caller who reads the whole type sees the history, and can delete again', async () => {
    const store = new MemoryStore();
    const trusted = await system(store);
    await trusted.update({ resourceType: 'Patient', id: 'gone', gender: 'female' });
    await trusted.delete('Patient', 'gone');
    const rules = [{ resourceType: 'Patient' }];
    const all = await signedIn(store, { rules });
    const some = await signedIn(store, { rules: [{ resourceType: 'Patient', criteria: 'Patient?gender=female' }] });
    for (const [caller, expected] of [
      [all, true],
      [some, false],
    ] as const) {
      const repository = repositoryOf(store, caller);
      const { history, vread, read, update, delete: deletion } = (await explainAccess({ type: 'Patient', id: 'gone' }, { store, caller })).interactions; // prettier-ignore
      expect([history, vread, deletion].map(({ allowed }) => allowed)).toEqual([expected, expected, expected]);
      expect([read.allowed, update.allowed]).toEqual([false, false]);
      const happens = [
        repository.history('Patient', 'gone'),
        repository.vread('Patient', 'gone', '1'),
        repository.delete('Patient', 'gone'),
      ];
      expect((await Promise.allSettled(happens)).map(({ status }) => status === 'fulfilled')).toEqual([
        expected,
        expected,
        expected,
      ]);
    }
  });

  test('for a policy that binds the caller: administrators can change only others', async () => {
    const store = new MemoryStore();
    await system(store);
    const caller = await signedIn(store, { admin: true, rules: [{ resourceType: 'Patient' }] });
    const other = await signedIn(store, { rules: [{ resourceType: 'Patient' }] });
    const own = caller.membership.replace('member', 'policy');
    const { interactions } = await explainAccess({ type: 'AccessPolicy', id: own }, { store, caller });
    expect(interactions.read.allowed).toBe(true);
    expect([interactions.update.allowed, interactions.delete.allowed]).toEqual([false, false]);
    expect(interactions.update.reasons?.[0]?.because).toEqual([
      'it binds the caller itself; only another administrator changes it',
    ]);
    const theirs = await explainAccess(
      { type: 'AccessPolicy', id: other.membership.replace('member', 'policy') },
      { store, caller },
    );
    expect(theirs.interactions.update.allowed).toBe(true);
  });

  test('and gives the same explanation for a hidden Binary as for a missing Binary, with the same calls', async () => {
    const store = new MemoryStore();
    const trusted = await system(store);
    const rules = [{ resourceType: 'Binary' }, { resourceType: 'Patient', criteria: 'Patient?gender=female' }];
    await trusted.update({ resourceType: 'Patient', id: 'him', gender: 'male' });
    await trusted.update({
      resourceType: 'Binary',
      id: 'one',
      contentType: 'text/plain',
      securityContext: { reference: 'Patient/him' },
    });
    const { store: counted, takeCalls } = countCalls(store);
    const { membership } = await signedIn(store, { rules });
    const caller = await signIn(counted, { membership });
    takeCalls();
    const [hidden, calls] = [
      await explainAccess({ type: 'Binary', id: 'one' }, { store: counted, caller }),
      takeCalls(),
    ];
    const [missing, others] = [
      await explainAccess({ type: 'Binary', id: 'two' }, { store: counted, caller }),
      takeCalls(),
    ];
    expect(
      JSON.parse(JSON.stringify(hidden).replaceAll(/Binary\/one|"one"/g, (name) => name.replace('one', 'two'))),
    ).toEqual(missing);
    expect(calls.map((call) => call.replaceAll('one', 'two'))).toEqual(others);
    const { reasons } = hidden.interactions.read;
    expect(reasons?.[0]?.because[0]).toContain('the securityContext, where there is one, can be read');
  });
});

describe('a denial of a resource', () => {
  const rules = [
    {
      resourceType: 'Patient',
      criteria: 'Patient?gender=female&organization=%ward&general-practitioner=%doctor',
      interaction: ['read' as const],
    },
    { resourceType: 'Patient', criteria: 'Patient?gender=female&_has:Observation:subject:status=final' },
    { resourceType: 'Patient', compartment: { reference: 'Patient/other' } },
  ];
  const parameters = [{ name: 'ward', valueReference: { reference: 'Organization/north' } }];

  async function clinic(): Promise<{ store: MemoryStore; caller: MemberCaller }> {
    const store = new MemoryStore();
    const trusted = await system(store);
    const managingOrganization = { reference: 'Organization/south' };
    await trusted.update({
      resourceType: 'Patient',
      id: 'boy',
      gender: 'male',
      birthDate: '2011-11-11',
      managingOrganization,
    });
    await trusted.update({ resourceType: 'Patient', id: 'girl', gender: 'female', managingOrganization });
    return { store, caller: await signedIn(store, { rules, parameters }) };
  }

  async function because(
    store: MemoryStore,
    caller: MemberCaller,
    id: string,
    askedBy: Caller,
  ): Promise<readonly (readonly string[])[]> {
    const { interactions } = await explainAccess({ of: caller, type: 'Patient', id }, { store, caller: askedBy });
    return interactions.update.reasons!.map((one) => one.because);
  }

  test('shows the failing condition of each rule to callers who can read the resource', async () => {
    const { store, caller } = await clinic();
    const expected = (girl: boolean): string[][] => [
      ['it grants read only'],
      girl
        ? ['_has:Observation:subject:status=final does not hold']
        : ['gender=female does not hold', '_has:Observation:subject:status=final does not hold'],
      ['compartment Patient/other does not hold'],
    ];
    for (const askedBy of [systemCaller('clinic'), serverCaller(), await signedIn(store)]) {
      expect(await because(store, caller, 'boy', askedBy)).toEqual(expected(false));
      expect(await because(store, caller, 'girl', askedBy)).toEqual(expected(true));
      const gone = await because(store, caller, 'nobody', askedBy);
      expect(gone.slice(1)).toEqual([['there is no such resource'], ['there is no such resource']]);
    }
    const { text } = await explainAccess(
      { of: caller, type: 'Patient', id: 'boy' },
      { store, caller: systemCaller('clinic') },
    );
    expect(text).toContain('(compartment Patient/other does not hold)');
    expect(text).not.toMatch(/male\b(?<!female)|2011-11-11|south/);
  });

  test('says of a parameter without a value that nothing can match', async () => {
    const { store, caller } = await clinic();
    const { interactions, text } = await explainAccess({ type: 'Patient', id: 'boy' }, { store, caller });
    const reason = 'general-practitioner=%doctor never holds, as %doctor has no value';
    expect(interactions.read.reasons![0]!.because).toEqual([reason]);
    expect(text).toContain(reason);
  });

  test('reveals neither the failing condition nor the existence of the resource to others', async () => {
    const { store, caller } = await clinic();
    const hiding = await signedIn(store, { rules: [{ resourceType: '*', hiddenFields: ['gender'] }] });
    const elsewhere = systemCaller('elsewhere');
    for (const askedBy of [caller, hiding, elsewhere]) {
      const [, second, third] = await because(store, caller, 'boy', askedBy);
      expect(second).toEqual([
        'no Patient with this id, or not one for which all of this holds: gender=female; _has:Observation:subject:status=final',
      ]);
      expect(third).toEqual([
        'no Patient with this id, or not one for which all of this holds: compartment Patient/other',
      ]);
      const answers = await Promise.all(
        ['boy', 'girl', 'nobody'].map(async (id) => {
          const { text } = await explainAccess({ of: caller, type: 'Patient', id }, { store, caller: askedBy });
          return text.replaceAll(id, 'id');
        }),
      );
      expect(new Set(answers).size).toBe(1);
    }
  });

  test('needs a reader that is a caller', async () => {
    const { store, caller } = await clinic();
    expect(
      await codeOf(explainAccess({ of: caller, type: 'Patient', id: 'boy' }, { store, caller: {} as never })),
    ).toBe('unauthenticated');
  });
});

test('writes that are allowed under conditions only come with their constraints', async () => {
  const store = new MemoryStore();
  await system(store);
  const expression = "%after.status = 'final'";
  const rule = { resourceType: 'Observation', writeConstraint: [{ language: 'text/fhirpath' as const, expression }] };
  const bound = await explainAccess(
    { type: 'Observation' },
    { store, caller: await signedIn(store, { rules: [rule] }) },
  );
  expect(bound.interactions.create).toMatchObject({ allowed: true, writeConstraints: [expression] });
  expect(bound.interactions.delete).not.toHaveProperty('writeConstraints');
  expect(bound.text).toMatch(/^update Observation: allowed by .*, if %after\.status = 'final'$/m);
  const caller = await signedIn(store, { rules: [rule, { resourceType: 'Observation' }] });
  const free = await explainAccess({ type: 'Observation' }, { store, caller });
  expect(free.interactions.create).not.toHaveProperty('writeConstraints');
});
