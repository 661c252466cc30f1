import { describe, expect, test } from 'vitest';
import { type AccessExplanation, explainAccess } from '../../src/access.js';
import { type Caller, type MemberCaller, MemoryStore, serverCaller, signIn, systemCaller } from '../../src/index.js';
import { codeOf, faultOf, repositoryOf, signedIn, system } from '../repository/harness.js';

/** The explanation that `askedBy` reads; default the caller that is explained. */
function explain(
  store: MemoryStore,
  of: Caller,
  type: string,
  id?: string,
  askedBy: Caller = of,
): Promise<AccessExplanation> {
  return explainAccess({ of, type, id }, { store, caller: askedBy });
}

async function storeOfClinic(): Promise<MemoryStore> {
  const store = new MemoryStore();
  const trusted = await system(store);
  await trusted.update({ resourceType: 'Patient', id: 'girl', gender: 'female' });
  return store;
}

describe('the words of an explanation', () => {
  const writing = (expression: string): object => ({ language: 'text/fhirpath', expression });

  /** One line per interaction; policies have the name `own`. */
  async function textOf(
    rules: readonly object[],
    type: string,
    ...more: [id?: string, askedBy?: Caller]
  ): Promise<string[]> {
    const store = new MemoryStore();
    const trusted = await system(store);
    await trusted.update({ resourceType: 'Patient', id: 'girl', gender: 'female' });
    const [id, askedBy] = more;
    const { text } = await explain(store, await signedIn(store, { rules: rules as never }), type, id, askedBy);
    return text.replaceAll(/policy-\d+/g, 'own').split('\n');
  }

  test('name every rule that allows, the fields that all of them hide, and the constraints of a write', async () => {
    const rules = [
      { resourceType: 'Patient', hiddenFields: ['gender', 'birthDate'], writeConstraint: [writing('%after.active')] },
      {
        resourceType: 'Patient',
        criteria: 'Patient?gender=female',
        hiddenFields: ['birthDate', 'name', 'gender'],
        writeConstraint: [writing('%after.name.exists()'), writing('%after.active')],
      },
    ];
    const [read, , , , create, update, deletion] = await textOf(rules, 'Patient');
    const by = 'allowed by AccessPolicy/own, rule 1: Patient; AccessPolicy/own, rule 2: Patient?gender=female';
    expect(read).toBe(`read Patient: ${by}, without gender, birthDate`);
    expect(create).toBe(`create Patient: ${by}, without gender, birthDate, if %after.active or %after.name.exists()`);
    expect(update).toBe(create!.replace('create', 'update'));
    expect(deletion).toBe(read!.replace('read', 'delete'));
  });

  test('name every rule that denies, with the known reasons', async () => {
    const rules = [
      { resourceType: 'Patient', interaction: ['search', 'history'] },
      { resourceType: 'Patient', criteria: 'Patient?gender=male&active=true', interaction: ['read'] },
      { resourceType: 'Patient', interaction: [] },
    ];
    const plain = 'AccessPolicy/own, rule 1: Patient';
    const [first, second, third] = [
      `${plain} (it grants search, history only)`,
      'AccessPolicy/own, rule 2: Patient?gender=male&active=true',
      'AccessPolicy/own, rule 3: Patient (it grants no interaction)',
    ];
    expect(await textOf(rules, 'Patient')).toEqual([
      `read Patient: allowed by ${second}`,
      `vread Patient: denied, not granted by: ${first}; ${second} (it grants read only); ${third}`,
      `search Patient: allowed by ${plain}`,
      `history Patient: allowed by ${plain}`,
      `create Patient: denied, not granted by: ${first}; ${second} (it grants read only); ${third}`,
      `update Patient: denied, not granted by: ${first}; ${second} (it grants read only); ${third}`,
      `delete Patient: denied, not granted by: ${first}; ${second} (it grants read only); ${third}`,
    ]);
    const [read] = await textOf(rules, 'Patient', 'girl', systemCaller('clinic'));
    const failing = 'gender=male does not hold; active=true does not hold';
    expect(read).toBe(`read Patient/girl: denied, not granted by: ${first}; ${second} (${failing}); ${third}`);
  });

  test('have no rules if there are none, and no constraints of a denied write', async () => {
    const rules = [{ resourceType: 'Patient', interaction: ['read'], writeConstraint: [writing('%after.active')] }];
    expect(await textOf(rules, 'Observation')).toEqual(
      ['read', 'vread', 'search', 'history', 'create', 'update', 'delete'].map(
        (interaction) => `${interaction} Observation: denied, no rule is about this type`,
      ),
    );
    const store = await storeOfClinic();
    const { interactions } = await explain(store, await signedIn(store, { rules: rules as never }), 'Patient');
    expect(interactions.create).not.toHaveProperty('writeConstraints');
  });

  test('give each parameter set of a policy its own reasons', async () => {
    const store = await storeOfClinic();
    const caller = await signedIn(store, {
      rules: [{ resourceType: 'Patient', criteria: 'Patient?gender=%gender&organization=%ward' }],
      parameters: [{ name: 'gender', valueString: 'male' }],
    });
    const trusted = repositoryOf(store, systemCaller('clinic'));
    const membership = await trusted.read('ProjectMembership', caller.membership);
    const [access] = membership.access!;
    const ward = { name: 'ward', valueReference: { reference: 'Organization/1' } };
    const all = [
      { ...access, parameter: [...access!.parameter!, ward] },
      { ...access, parameter: [ward] },
    ];
    await repositoryOf(store, serverCaller('clinic')).update({ ...membership, access: all } as never);
    const twice = await signIn(store, { membership: caller.membership });
    const { interactions, text } = await explain(store, twice, 'Patient', 'girl', systemCaller('clinic'));
    const reasons = [
      ['gender=%gender does not hold', 'organization=%ward does not hold'],
      ['gender=%gender never holds, as %gender has no value'],
    ];
    expect(interactions.read.reasons!.map(({ because }) => because)).toEqual(reasons);
    for (const because of reasons) expect(text).toContain(`(${because.join('; ')})`);
  });
});

describe('an explanation agrees with the real decisions', () => {
  test('for deleted resources: a caller who can delete but not read the whole type learns of no deletion', async () => {
    const store = await storeOfClinic();
    await repositoryOf(store, systemCaller('clinic')).delete('Patient', 'girl');
    for (const [reading, allowed] of [
      [[], false],
      [[{ resourceType: 'Patient', criteria: 'Patient?gender=female', interaction: ['read'] }], false],
      [
        [
          { resourceType: 'Patient', criteria: 'Patient?gender=female', interaction: ['read'] },
          { resourceType: 'Patient', interaction: ['read'] },
        ],
        true,
      ],
    ] as const) {
      const rules = [{ resourceType: 'Patient', interaction: ['delete'] }, ...reading];
      const caller = await signedIn(store, { rules: rules as never });
      expect((await explain(store, caller, 'Patient', 'girl')).interactions.delete.allowed).toBe(allowed);
      const happens = repositoryOf(store, caller).delete('Patient', 'girl');
      expect(await happens.then(() => true, () => false)).toBe(allowed); // prettier-ignore
    }
  });

  test('for rules that ask the store: a matching chain grants the resource', async () => {
    const store = await storeOfClinic();
    const trusted = repositoryOf(store, systemCaller('clinic'));
    await trusted.update({ resourceType: 'Organization', id: 'north', name: 'North' });
    await trusted.update({
      resourceType: 'Patient',
      id: 'boy',
      managingOrganization: { reference: 'Organization/north' },
    });
    const rules = [{ resourceType: 'Patient', criteria: 'Patient?organization.name=North' }];
    const caller = await signedIn(store, { rules });
    for (const [id, allowed] of [
      ['boy', true],
      ['girl', false],
    ] as const) {
      expect((await explain(store, caller, 'Patient', id)).interactions.read.allowed).toBe(allowed);
    }
  });

  test('for a create, which no stored resource decides', async () => {
    const store = await storeOfClinic();
    const caller = await signedIn(store, { rules: [{ resourceType: 'Patient', criteria: 'Patient?gender=male' }] });
    for (const id of ['girl', 'nobody']) {
      const { create, update } = (await explain(store, caller, 'Patient', id)).interactions;
      expect([create.allowed, update.allowed]).toEqual([true, false]);
    }
  });

  test('for trusted code, which has access to every resource', async () => {
    const store = await storeOfClinic();
    const { interactions } = await explain(store, systemCaller('clinic'), 'Patient', 'girl');
    expect(Object.values(interactions).map(({ allowed }) => allowed)).toEqual(Array(7).fill(true));
  });

  test('for a resource that has the id of the policy that binds the caller', async () => {
    const store = await storeOfClinic();
    const caller = await signedIn(store, { admin: true, rules: [{ resourceType: 'Patient' }] });
    const own = caller.membership.replace('member', 'policy');
    await repositoryOf(store, systemCaller('clinic')).update({ resourceType: 'Patient', id: own });
    expect((await explain(store, caller, 'Patient', own)).interactions.update.allowed).toBe(true);
  });
});

describe('why a rule denies a resource', () => {
  async function because(
    store: MemoryStore,
    caller: MemberCaller,
    id: string,
    askedBy?: Caller,
  ): Promise<readonly (readonly string[])[]> {
    const { interactions } = await explain(store, caller, 'Patient', id, askedBy);
    return interactions.update.reasons!.map((one) => one.because);
  }

  test.each([
    '_has:Observation:subject:status=final',
    '_filter=gender eq male and organization.name eq North',
    '_filter=gender eq male or organization.name eq North',
    '_filter=not (organization.name eq South or organization.name eq North)',
    'organization.name=North',
    'organization.partof.name=North',
    'general-practitioner.name=North',
  ])('is shown in part, except to callers who read everything that %s uses', async (criteria) => {
    const store = new MemoryStore();
    const trusted = await system(store);
    await trusted.update({ resourceType: 'Organization', id: 'south', name: 'South' });
    const managingOrganization = { reference: 'Organization/south' };
    await trusted.update({ resourceType: 'Patient', id: 'boy', gender: 'unknown', managingOrganization });
    const caller = await signedIn(store, {
      rules: [{ resourceType: 'Patient', criteria: `Patient?${criteria}&active=true` }],
    });
    const narrow = await signedIn(store, { rules: [{ resourceType: 'Patient' }] });
    const half = await signedIn(store, {
      rules: [{ resourceType: 'Patient' }, { resourceType: '*', interaction: ['create'] }],
    });
    const all = await signedIn(store);
    expect(await because(store, caller, 'boy', all)).toEqual([
      [`${criteria} does not hold`, 'active=true does not hold'],
    ]);
    const hidden = `no Patient with this id, or not one for which all of this holds: ${criteria}; active=true`;
    for (const askedBy of [narrow, half]) expect(await because(store, caller, 'boy', askedBy)).toEqual([[hidden]]);
  });

  test('shows the rights that this library grants by itself', async () => {
    const store = await storeOfClinic();
    const profile = { resourceType: 'Patient' as const, id: 'me' };
    const caller = await signedIn(store, { profile });
    const { read } = (await explain(store, caller, 'Patient', 'girl', systemCaller('clinic'))).interactions;
    expect(read.reasons!.map((one) => one.because)).toEqual([
      ['default for Patient: the compartment of Patient/me does not hold'],
    ]);
  });

  test('shows which rules for all types cannot apply to this type', async () => {
    const store = await storeOfClinic();
    const caller = await signedIn(store, {
      rules: [{ resourceType: '*', criteria: '*?birthdate=2000' }],
    });
    const { read } = (await explain(store, caller, 'Observation')).interactions;
    expect([read.allowed, read.reasons?.[0]?.because]).toEqual([false, ['*?birthdate=2000 never holds for this type']]);
    expect((await explain(store, caller, 'Patient')).interactions.read.allowed).toBe(true);
  });

  test('names every parameter that has no value', async () => {
    const criteria = 'Patient?organization=%ward,%floor&gender=%gender';
    const store = await storeOfClinic();
    const caller = await signedIn(store, { rules: [{ resourceType: 'Patient', criteria }] });
    for (const id of ['girl', undefined]) {
      const { create, read } = (await explain(store, caller, 'Patient', id)).interactions;
      expect([create.allowed, read.allowed]).toEqual([false, false]);
      expect(read.reasons![0]!.because).toEqual([
        'organization=%ward,%floor never holds, as %ward, %floor has no value',
        'gender=%gender never holds, as %gender has no value',
      ]);
    }
  });

  test('is explained to trusted code even if a type has secrets', async () => {
    const store = await storeOfClinic();
    const client = { resourceType: 'ClientApplication' as const, id: 'app', name: 'App' };
    await repositoryOf(store, serverCaller('clinic')).update(client as never);
    const rules = [{ resourceType: 'ClientApplication', criteria: 'ClientApplication?name=Other' }];
    const caller = await signedIn(store, { rules });
    const explained = await explain(store, caller, 'ClientApplication', 'app', systemCaller('clinic'));
    expect(explained.interactions.read.reasons![0]!.because).toEqual(['name=Other does not hold']);
  });
});

test('an explanation needs a type, and callers of this library', async () => {
  const store = await storeOfClinic();
  const caller = await signedIn(store);
  expect(await faultOf(explain(store, caller, 'Pateint'))).toMatchObject({
    message: 'explainAccess needs the name of a resource type',
  });
  expect(await codeOf(explain(store, { ...caller }, 'Patient', undefined, caller))).toBe('unauthenticated');
  expect(await codeOf(explain(store, caller, 'Patient', undefined, { ...caller }))).toBe('unauthenticated');
});
