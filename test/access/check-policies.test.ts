import type { ProjectMembership } from '@medplum/fhirtypes';
import { expect, test } from 'vitest';
import { checkPolicies, type PolicyCheck, type PolicyFinding } from '../../src/access/explain/check-policies.js';
import { signIn } from '../../src/access/sign-in/sign-in.js';
import type { AnyResource } from '../../src/fhir/resource.js';
import type { StoreContext } from '../../src/store/store-context.js';
import { SERVER_SCOPE, type ResourceStore } from '../../src/store/store.js';
import { storeWith } from '../graphql/harness.js';
import { codeOf, overStores } from '../repository/harness.js';

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

/** Findings as lines: where, path, severity; the messages apart. */
function lines(findings: readonly PolicyFinding[]): string[] {
  return findings.flatMap(({ project, resource, problems, memberships }) =>
    problems.map(({ path, severity, message }) =>
      [`${project}/${resource}`, path, severity, memberships, message].filter((one) => one !== undefined).join(' | '),
    ),
  );
}

overStores('checkPolicies', (open) => {
  test('finds nothing where everything is understood', async () => {
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
      membership('misspelt', using('day', { name: 'dya', valueString: '2020' })),
      membership('unfit', using('day', { name: 'day', valueString: 'someday' })),
    );
    expect(lines(await all(store))).toEqual([
      'a/ProjectMembership/gone | access[0] | error | AccessPolicy/nowhere does not exist',
      'a/ProjectMembership/malformed | access[0] | error | must be an object with a policy, not null',
      'a/ProjectMembership/misspelt | access[0].parameter | warning | AccessPolicy/day does not use %dya. Did you mean "day"?',
      'a/ProjectMembership/misspelt | access[0] | warning | AccessPolicy/day uses %day, which has no value here; conditions with it match nothing',
      expect.stringMatching(
        /^a\/ProjectMembership\/unfit \| access\[0\] \| error \| AccessPolicy\/day, resource\[0\]\.criteria: /,
      ),
    ]);
  });

  test('warns of what has no effect, or more than it seems', async () => {
    const store = open();
    const rules = [{ resourceType: 'User' }, { resourceType: 'Project' }, { resourceType: 'Patient', interaction: [] }];
    await plantProject(store, 'a', policy('idle', ...rules, { resourceType: 'Patient', criteria: 'Patient?' }));
    expect(lines(await all(store))).toEqual([
      'a/AccessPolicy/idle | resource[0].resourceType | warning | 0 | no policy reaches User: the rule grants nothing',
      'a/AccessPolicy/idle | resource[2].interaction | warning | 0 | an empty list grants nothing',
      'a/AccessPolicy/idle | resource[3].criteria | warning | 0 | criteria without a condition grant every resource of the type',
    ]);
  });

  test('finds an error exactly where sign-in fails for the policies', async () => {
    const store = open();
    const choices = [
      {},
      using('good'),
      using('typo'),
      using('nowhere'),
      using('day', { name: 'day', valueString: '2020' }),
      using('day', { name: 'day', valueString: 'soon' }),
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
    expect(refused).toHaveLength(10);
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

  test('takes a project by its id, and a signal', async () => {
    const store = open();
    await plantProject(store, 'a');
    expect(await codeOf(all(store, { project: 'Patient/1' }))).toBe('invalid');
    expect(await codeOf(all(store, { signal: AbortSignal.abort() }))).toBe('aborted');
  });
});
