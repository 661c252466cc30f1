import type { ProjectMembership } from '@medplum/fhirtypes';
import { expect, test } from 'vitest';
import { checkPolicies, type PolicyCheck, type PolicyFinding } from '../../src/access.js';
import { type AnyResource, type ResourceStore, signIn, type StoreContext } from '../../src/index.js';
import { SERVER_SCOPE } from '../../src/store.js';
import { countCalls } from '../graphql/counting-store.js';
import { storeWith } from '../support/store-with.js';
import { codeOf, faultOf, overStores } from '../repository/harness.js';

/** As an older version, or another program, would have written it. */
async function plant(store: ResourceStore, project: string, ...resources: readonly object[]): Promise<void> {
  await store.commit(
    (resources as readonly AnyResource[]).map((resource) => ({
      kind: 'put',
      key: { project, type: resource.resourceType, id: resource.id! },
      resource,
    })),
  );
}

async function plantProject(store: ResourceStore, id: string, ...resources: readonly object[]): Promise<void> {
  await plant(store, SERVER_SCOPE, { resourceType: 'Project', id, name: id });
  await plant(store, id, { resourceType: 'Practitioner', id: 'ann' }, ...resources);
}

function policy(id: string, ...resource: readonly object[]): object {
  return { resourceType: 'AccessPolicy', id, resource };
}

function membership(id: string, more: object): ProjectMembership {
  const profile = { reference: 'Practitioner/ann' };
  return { resourceType: 'ProjectMembership', id, profile, ...more } as ProjectMembership;
}

function using(id: string, ...parameter: readonly object[]): object {
  return { access: [{ policy: { reference: `AccessPolicy/${id}` }, ...(parameter.length > 0 ? { parameter } : {}) }] };
}

async function all(
  store: ResourceStore,
  options: PolicyCheck & Pick<StoreContext, 'signal'> = {},
): Promise<PolicyFinding[]> {
  return collected(checkPolicies(options, { store, signal: options.signal }));
}

async function collected(findings: AsyncIterable<PolicyFinding>): Promise<PolicyFinding[]> {
  const list: PolicyFinding[] = [];
  for await (const finding of findings) list.push(finding);
  return list;
}

/** Findings as lines: location, path, severity; the messages separately. */
function lines(findings: readonly PolicyFinding[]): string[] {
  return findings.flatMap(({ project, resource, problems, memberships }) =>
    problems.map(({ path, severity, message }) =>
      [`${project}/${resource}`, path, severity, memberships, message].filter((one) => one !== undefined).join(' | '),
    ),
  );
}

overStores('checkPolicies', (open) => {
  test('finds nothing if all policies are valid', async () => {
    const store = open();
    await plantProject(
      store,
      'a',
      policy('ward', { resourceType: 'Patient', criteria: 'Patient?organization=%ward&general-practitioner=%profile' }),
      membership('m', using('ward', { name: 'ward', valueString: 'Organization/1' })),
      membership('n', {}),
    );
    expect(await all(store)).toEqual([]);
    expect(await all(open())).toEqual([]);
  });

  test('finds policies with mistakes and the memberships that name them, project by project', async () => {
    const store = open();
    await plantProject(
      store,
      'a',
      policy('good', { resourceType: 'Patient' }),
      policy('typo', { resourceType: 'Patient', hiddenField: ['birthDate'] }, { resourceType: '*', readonly: 'true' }),
      membership('m1', using('typo')),
      membership('m2', { accessPolicy: { reference: 'AccessPolicy/typo' } }),
      membership('m3', using('good')),
    );
    await plantProject(store, 'b', policy('typo', { resourceType: 'Patient', criteria: 'Patient?gendre=male' }));
    const broken = 'AccessPolicy/typo, resource[0].hiddenField: unknown element. Did you mean "hiddenFields"?';
    const inA = [
      'a/AccessPolicy/typo | resource[0].hiddenField | error | 2 | unknown element. Did you mean "hiddenFields"?',
      'a/AccessPolicy/typo | resource[1].readonly | error | 2 | must be true or false, not a string',
      `a/ProjectMembership/m1 | access[0] | error | ${broken}`,
      `a/ProjectMembership/m2 | accessPolicy | error | ${broken}`,
    ];
    const [found, ...others] = lines(await all(store, { project: 'Project/b' }));
    expect(found).toMatch(/^b\/AccessPolicy\/typo \| resource\[0\]\.criteria \| error \| 0 \| .*Did you mean "gender"/);
    expect(others).toEqual([]);
    expect(lines(await all(store))).toEqual([...inA, found]);
    expect(lines(await all(store, { project: 'a' }))).toEqual(inA);
  });

  test('finds memberships that do not fit their policies', async () => {
    const store = open();
    const birthdate = { resourceType: 'Patient', criteria: 'Patient?birthdate=%day' };
    await plantProject(
      store,
      'a',
      policy('day', birthdate),
      membership('gone', using('nowhere')),
      membership('malformed', { access: [null] }),
      membership('misspelled', using('day', { name: 'dya', valueString: '2020' })),
      membership('unfit', using('day', { name: 'day', valueString: 'someday' })),
    );
    expect(lines(await all(store))).toEqual([
      'a/ProjectMembership/gone | access[0] | error | AccessPolicy/nowhere does not exist',
      'a/ProjectMembership/malformed | access[0] | error | must be an object with a policy, not null',
      'a/ProjectMembership/misspelled | access[0].parameter | warning | AccessPolicy/day does not use %dya. Did you mean "day"?',
      'a/ProjectMembership/misspelled | access[0] | warning | AccessPolicy/day uses %day, which has no value here; conditions with it match nothing',
      expect.stringMatching(
        /^a\/ProjectMembership\/unfit \| access\[0\] \| error \| AccessPolicy\/day, resource\[0\]\.criteria: /,
      ),
    ]);
  });

  test('warns of elements without effect, or with more effect than it seems', async () => {
    const store = open();
    const rules = [{ resourceType: 'User' }, { resourceType: 'Project' }, { resourceType: 'Patient', interaction: [] }];
    await plantProject(store, 'a', policy('idle', ...rules, { resourceType: 'Patient', criteria: 'Patient?' }));
    expect(lines(await all(store))).toEqual([
      'a/AccessPolicy/idle | resource[0].resourceType | warning | 0 | no policy reaches User: the rule grants nothing',
      'a/AccessPolicy/idle | resource[2].interaction | warning | 0 | an empty list grants nothing',
      'a/AccessPolicy/idle | resource[3].criteria | warning | 0 | criteria without a condition grant every resource of the type',
    ]);
  });

  test('warns of criteria without a condition in each form, and of parameters that do not narrow a rule', async () => {
    const store = open();
    const opening = ['Patient', 'Patient?', 'Patient?&', 'Patient?&&'];
    const narrow = ['Patient?gender=male', 'Patient?gender=male&', '?gender=male', 'Patient?_filter=gender eq male'];
    await plantProject(
      store,
      'a',
      policy('all', ...[...opening, ...narrow].map((criteria) => ({ resourceType: 'Patient', criteria }))),
      policy('used', { resourceType: '*', interaction: ['read'] }, { resourceType: 'ProjectMembership' }),
    );
    expect(lines(await all(store))).toEqual(
      opening.map(
        (_, index) =>
          `a/AccessPolicy/all | resource[${index}].criteria | warning | 0 | criteria without a condition grant every resource of the type`,
      ),
    );
  });

  test('warns of misspelled elements in constraints of valid policies', async () => {
    const store = open();
    const constrained = (expression: string): object => ({
      resourceType: 'Patient',
      writeConstraint: [{ language: 'text/fhirpath', expression }],
    });
    await plantProject(
      store,
      'a',
      policy('both', constrained('%after.gendre.exists()'), { resourceType: 'Patient', interaction: [] }),
      policy('broken', constrained('%after.gendre.exists('), { resourceType: 'Patient', interaction: [] }),
    );
    const misspelled = 'resource[0].writeConstraint[0].expression';
    expect(lines(await all(store))).toEqual([
      'a/AccessPolicy/both | resource[1].interaction | warning | 0 | an empty list grants nothing',
      `a/AccessPolicy/both | ${misspelled} | warning | 0 | Patient does not have the element "gendre". Did you mean "gender"?`,
      expect.stringMatching(
        /^a\/AccessPolicy\/broken \| resource\[0\]\.writeConstraint\[0\]\.expression \| error \| 0 \| /,
      ),
      'a/AccessPolicy/broken | resource[1].interaction | warning | 0 | an empty list grants nothing',
    ]);
  });

  test('finds values that are not a rule, and reports nothing more about them', async () => {
    const store = open();
    await plantProject(
      store,
      'a',
      { ...policy('text'), resource: 'Patient' },
      policy('list', 'Patient' as never, null as never, {}),
      { resourceType: 'AccessPolicy', id: 'none' },
    );
    expect(lines(await all(store))).toEqual([
      'a/AccessPolicy/list | resource[0] | error | 0 | must be an object, not a string',
      'a/AccessPolicy/list | resource[1] | error | 0 | must be an object, not null',
      'a/AccessPolicy/list | resource[2].resourceType | error | 0 | must name a resource type, or be "*"',
      'a/AccessPolicy/text | resource | error | 0 | must be a list, not a string',
    ]);
  });

  test('takes %profile from the profile that a membership names, stored or not', async () => {
    const store = open();
    const named = { resourceType: 'Patient', criteria: 'Patient?general-practitioner=%profile' };
    const own = using('own');
    await plantProject(
      store,
      'a',
      policy('own', named),
      membership('gone', { ...own, profile: { reference: 'Practitioner/nobody' } }),
      membership('here', own),
      membership('other', { ...own, profile: { reference: 'https://x.example/Practitioner/ann' } }),
      membership('unnamed', { ...own, profile: { display: 'Ann' } }),
      membership('without', { ...own, profile: undefined }),
    );
    expect(lines(await all(store))).toEqual(
      ['other', 'unnamed', 'without'].map(
        (id) =>
          `a/ProjectMembership/${id} | access[0] | warning | AccessPolicy/own uses %profile, which has no value here; conditions with it match nothing`,
      ),
    );
  });

  test('reads a policy again only after many others', async () => {
    const inner = open();
    const others = Array.from({ length: 200 }, (_, index) => policy(`p${1000 + index}`, { resourceType: 'Patient' }));
    await plantProject(
      inner,
      'a',
      policy('first', { resourceType: 'Patient', criteria: 'Patient?organization=%ward' }),
      ...others,
      membership('m1', using('p1199')),
      membership('m2', using('first')),
      membership('m3', using('first')),
    );
    const { store, takeCalls } = countCalls(inner);
    expect(lines(await all(store)).map((line) => line.slice(0, 42))).toEqual([
      'a/ProjectMembership/m2 | access[0] | warni',
      'a/ProjectMembership/m3 | access[0] | warni',
    ]);
    expect(takeCalls().filter((call) => call.includes('AccessPolicy/'))).toEqual(['read AccessPolicy/first']);
  });

  test('counts the memberships of policies only', async () => {
    const store = open();
    await plantProject(store, 'a', policy('idle', { resourceType: 'User' }), membership('m', using('nowhere')));
    const [first, second] = await all(store);
    expect(first).toHaveProperty('memberships', 0);
    expect(Object.keys(second!)).toEqual(['project', 'resource', 'problems']);
  });

  test('finds an error exactly if sign-in fails because of the policies', async () => {
    const store = open();
    const choices = [
      {},
      using('good'),
      using('typo'),
      using('nowhere'),
      using('day', { name: 'day', valueString: '2020' }),
      using('day', { name: 'day', valueString: 'soon' }),
      using('word', { name: 'word', valueString: 'Lee' }),
      using('word', { name: 'word', valueString: '-' }),
      using('day', { name: 'day', valueReference: { reference: 'https://x.example/Patient/1' } }),
      using('day'),
      { access: {} },
      { accesPolicy: {} },
      // Each is as large as a policy may be, and together they are too large.
      { access: ['large1', 'large2', 'large3'].map((id) => ({ policy: { reference: `AccessPolicy/${id}` } })) },
      { access: ['large1', 'large2'].map((id) => ({ policy: { reference: `AccessPolicy/${id}` } })) },
      using('own'),
      { ...using('own'), profile: { reference: 'RelatedPerson/of-nobody' } },
      { ...using('own'), profile: { reference: 'RelatedPerson/of-pat' } },
      using('wild'),
    ];
    await plant(store, SERVER_SCOPE, { resourceType: 'User', id: 'ann' });
    await plantProject(
      store,
      'a',
      policy('good', { resourceType: 'Patient' }),
      policy('typo', { resourceType: 'Patient', interactions: ['read'] }),
      policy('day', { resourceType: 'Patient', criteria: 'Patient?birthdate=%day' }),
      policy('word', { resourceType: 'Patient', criteria: 'Patient?family=%word' }),
      ...['large1', 'large2', 'large3'].map((id) =>
        policy(id, ...Array<object>(400).fill({ resourceType: 'Patient' })),
      ),
      policy('own', { resourceType: 'Observation', criteria: 'Observation?_filter=subject eq %patient' }),
      policy('wild', { resourceType: '*', hiddenFields: ['birthdate'] }),
      { resourceType: 'RelatedPerson', id: 'of-nobody' },
      { resourceType: 'RelatedPerson', id: 'of-pat', patient: { reference: 'Patient/pat' } },
    );
    const user = { reference: 'User/ann' };
    const project = { reference: 'Project/a' };
    for (const [index, choice] of choices.entries()) {
      await plant(store, 'a', membership(`m${index}`, { user, project, ...choice }));
      await plant(store, SERVER_SCOPE, { resourceType: 'ProjectMembership', id: `m${index}`, project });
    }
    const found = (await all(store)).filter(({ problems }) => problems.some(({ severity }) => severity === 'error'));
    const refused: string[] = [];
    for (const index of choices.keys()) {
      const outcome = await signIn(store, { membership: `m${index}` }).then(
        () => 'good',
        (error: { readonly code: string }) => error.code,
      );
      if (outcome === 'policy-invalid' || outcome === 'policy-missing') refused.push(`ProjectMembership/m${index}`);
      else expect(outcome).toBe('good');
    }
    expect(refused).toHaveLength(11);
    const members = found.flatMap(({ resource }) => (resource.startsWith('ProjectMembership/') ? resource : []));
    expect(members).toEqual(refused.sort());
  });

  test('reads a page at a time', async () => {
    const store = open();
    await plantProject(store, 'a');
    const many = Array.from({ length: 450 }, (_, index) => membership(`m${1000 + index}`, using('nowhere')));
    await plant(store, 'a', ...many);
    let most = 0;
    const watched = storeWith(store, {
      async search(query, options) {
        const page = await store.search(query, options);
        most = Math.max(most, page.matches.length);
        return page;
      },
    });
    const findings = checkPolicies({}, { store: watched });
    const { value: first } = await findings.next();
    expect(first).toMatchObject({ resource: 'ProjectMembership/m1000' });
    expect(await collected(findings)).toHaveLength(449);
    expect(most).toBe(200);
  });

  test('accepts a project by its id, and a signal', async () => {
    const store = open();
    await plantProject(store, 'a');
    expect(await faultOf(all(store, { project: 'Patient/1' }))).toMatchObject({
      code: 'invalid',
      message: 'checkPolicies needs the id of a project',
    });
    const { signal } = new AbortController();
    const signals = new Set<unknown>();
    const watched = storeWith(store, {
      read: (keys, options) => (signals.add(options?.signal), store.read(keys, options)),
      search: (query, options) => (signals.add(options?.signal), store.search(query, options)),
    });
    await plant(store, 'a', membership('m', using('nowhere')));
    for (const project of ['a', undefined]) expect(await all(watched, { project, signal })).toHaveLength(1);
    expect([...signals]).toEqual([signal]);
    expect(await codeOf(all(store, { signal: AbortSignal.abort() }))).toBe('aborted');
  });
});
