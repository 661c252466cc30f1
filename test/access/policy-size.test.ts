import type { AccessPolicy } from '@medplum/fhirtypes';
import { describe, expect, test } from 'vitest';
import { createRepository, MemoryStore, type ResourceStore, serverCaller, signIn } from '../../src/index.js';
import { R4 } from '../../src/store.js';
import { put } from '../support/kit.js';
import { fieldPaths, hasFieldNamed } from '../../src/access/fields/hidden-fields.js';
import { membershipSizeProblem } from '../../src/access/policy/policy-shape.js';
import { assertPolicyWrite } from '../../src/access/policy/validate-policy.js';
import { loadFhirPath } from '../../src/fhirpath/library.js';
import { countCalls } from '../graphql/counting-store.js';
import { system } from '../repository/harness.js';

await loadFhirPath();

type Rule = NonNullable<AccessPolicy['resource']>[number];

function policy(resource: readonly Rule[], id = 'p'): AccessPolicy & { readonly id: string } {
  return { resourceType: 'AccessPolicy', id, resource: [...resource] };
}

function rules(count: number, criteria = ''): Rule[] {
  return Array.from({ length: count }, (_, index) => ({
    resourceType: 'Patient',
    criteria: `Patient?name=n${index}${criteria}`,
  }));
}

const LONG = `&_tag=${'t'.repeat(1_000)}`;

describe('a policy that would take long to compile is refused at its write', () => {
  test.each([
    [
      'more than 500 rules',
      rules(501),
      'resource: at most 500 rules are allowed, not 501; name several policies instead',
    ],
    ['more than 100,000 characters', rules(110, LONG), 'resource: at most 100000 characters are allowed, not '],
    [
      'a rule that costs too much in each search',
      [
        {
          resourceType: 'Patient',
          criteria: `Patient?${rules(70)
            .map((_, n) => `name:exact=${n}`)
            .join('&')}`,
        },
      ],
      'resource[0].criteria: At most 64 look-ups per resource in one search are allowed, this has 70',
    ],
    [
      'choices inside choices',
      [{ resourceType: 'Patient', hiddenFields: ['extension.value.extension.value.extension.value.extension.url'] }],
      'resource[0].hiddenFields[0]: names more than 1000 elements; name one form of each choice in it',
    ],
  ])('%s', (_, resource, message) => {
    expect(() => assertPolicyWrite(R4, policy(resource))).toThrow(
      expect.objectContaining({ code: 'policy-invalid', message: expect.stringContaining(message) as string }) as Error,
    );
  });

  test('500 rules are accepted', () => {
    expect(() => assertPolicyWrite(R4, policy(rules(500)))).not.toThrow();
  });
});

test('a Binary with contexts under a dozen rules for all types can be read and searched, with one search per set of hidden fields', async () => {
  const dozen = Array.from({ length: 12 }, (_, n) => ({
    resourceType: '*',
    criteria: n < 6 ? `*?_id=p5,b,p${n}` : `*?_compartment=Patient/p${n}`,
    interaction: ['read', 'search'],
    hiddenFields: n < 6 ? ['language'] : ['text'],
  }));
  const store = await storeWith([policy(dozen as Rule[])], ['p']);
  await store.commit([put({ resourceType: 'Patient', id: 'p5' })]);
  for (const [id, patient] of [
    ['b', 'p5'],
    ['c', 'p5'],
    ['d', 'p13'],
  ] as const) {
    const resource = { resourceType: 'Binary', id, securityContext: { reference: `Patient/${patient}` } };
    await store.commit([{ kind: 'put', key: { project: 'clinic', type: 'Binary', id }, resource }]);
  }
  const { store: counted, takeCalls } = countCalls(store);
  const repository = createRepository({ store: counted, caller: await signIn(store, { membership: 'm' }) });
  expect(await repository.read('Binary', 'b')).toMatchObject({ id: 'b' });
  expect(takeCalls()).toEqual(['read Binary/b', 'search Binary']);
  expect(await repository.search('Binary', '_total=accurate')).toMatchObject({ total: 1 });
});

test('contexts of Binaries that cost too much are refused before any search', async () => {
  const many = Array.from({ length: 60 }, (_, n) => ({
    resourceType: '*',
    criteria: `*?_filter=_id eq p${n} or _lastUpdated gt 20${10 + n}`,
  }));
  const store = await storeWith([policy(many)], ['p']);
  const { store: counted, takeCalls } = countCalls(store);
  const repository = createRepository({ store: counted, caller: await signIn(store, { membership: 'm' }) });
  await expect(repository.read('Binary', 'b')).rejects.toMatchObject({ code: 'too-costly' });
  expect(takeCalls()).toEqual([]);
});

test('a field through choices that leads nowhere is detected without a walk through all of them', () => {
  const field = `${'extension.value.'.repeat(20)}nothing`;
  expect(fieldPaths(R4, 'Patient', field)).toEqual([]);
  expect(hasFieldNamed(R4, 'Patient', field)).toBe(false);
  expect(hasFieldNamed(R4, 'Patient', `${'contained.'.repeat(20)}nothing`)).toBe(false);
});

describe('the policies of a membership', () => {
  const largest = { rules: 500, length: 100_000 };
  const most = { rules: 1_000, length: 200_000 };

  test('can be as large together as two of the largest', () => {
    expect(membershipSizeProblem([])).toBeUndefined();
    expect(membershipSizeProblem([largest, largest])).toBeUndefined();
    expect(membershipSizeProblem([most, { rules: 0, length: 0 }])).toBeUndefined();
  });

  test.each([
    [{ rules: 1, length: 0 }, '1001 and 200000'],
    [{ rules: 0, length: 1 }, '1000 and 200001'],
  ])('cannot exceed that by %j', (more, sizes) => {
    expect(membershipSizeProblem([largest, more, largest])).toEqual({
      path: 'access',
      message: `all policies together may have 1000 rules and 200000 characters, not ${sizes}; name fewer`,
      severity: 'error',
    });
  });
});

describe('at sign-in', () => {
  test('a stored policy that is too large grants nothing', async () => {
    const store = await storeWith([policy(rules(501))], ['p']);
    await expect(signIn(store, { membership: 'm' })).rejects.toMatchObject({ code: 'policy-invalid' });
  });

  test('policies that are too large together grant nothing', async () => {
    const ids = ['a', 'b', 'c'];
    const store = await storeWith(
      ids.map((id) => policy(rules(400), id)),
      ids,
    );
    await expect(signIn(store, { membership: 'm' })).rejects.toMatchObject({
      code: 'policy-invalid',
      message: expect.stringMatching(
        /^ProjectMembership\/m, access: all policies together may have 1000 rules and 200000 characters, not 1200 and /,
      ) as string,
    });
  });

  test('a policy named three times is read and compiled once', async () => {
    const { store, takeCalls } = countCalls(await storeWith([policy(rules(400))], ['p', 'p', 'p']));
    const { rules: found } = await signIn(store, { membership: 'm' });
    expect(takeCalls().filter((call) => call === 'read AccessPolicy/p')).toHaveLength(1);
    expect(found.rulesFor('Patient')).toHaveLength(400);
  });

  test('a policy named with several parameters is compiled for each of them', async () => {
    const one = policy([{ resourceType: 'Patient', criteria: 'Patient?name=%name' }]);
    const store = await storeWith([one], ['p', 'p'], (index) => [{ name: 'name', valueString: `n${index}` }]);
    expect((await signIn(store, { membership: 'm' })).rules.rulesFor('Patient')).toHaveLength(2);
  });

  test('a rule for all types that cannot be used fails, for any first type', async () => {
    const broken = { resourceType: '*', writeConstraint: [{ language: 'text/fhirpath', expression: '((' }] } as Rule;
    const store = await storeWith([policy([broken])], ['p']);
    await expect(signIn(store, { membership: 'm' })).rejects.toMatchObject({ code: 'policy-invalid' });
  });
});

/** A member with policies that are stored as they are, as an older version may have let them in. */
async function storeWith(
  policies: readonly (AccessPolicy & { readonly id: string })[],
  named: readonly string[],
  parametersOf?: (index: number) => readonly object[],
): Promise<ResourceStore> {
  const store = new MemoryStore();
  await system(store);
  const trusted = createRepository({ store, caller: serverCaller('clinic') });
  await trusted.update({ resourceType: 'Practitioner', id: 'doc' });
  await trusted.update({ resourceType: 'User', id: 'u', firstName: 'A', lastName: 'B', email: 'a@x.org' });
  await trusted.update({
    resourceType: 'ProjectMembership',
    id: 'm',
    project: { reference: 'Project/clinic' },
    user: { reference: 'User/u' },
    profile: { reference: 'Practitioner/doc' },
    access: named.map((id, index) => ({
      policy: { reference: `AccessPolicy/${id}` },
      ...(parametersOf === undefined ? {} : { parameter: parametersOf(index) as never }),
    })),
  });
  await store.commit(policies.map((resource) => put(resource as never)));
  return store;
}
