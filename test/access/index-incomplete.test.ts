import type { AccessPolicy, ProjectMembership } from '@medplum/fhirtypes';
import Database from 'better-sqlite3';
import { expect, test } from 'vitest';
import { createRepository, executeFhirGraphql, serverCaller, signIn } from '../../src/index.js';
import { SqliteStore } from '../../src/sqlite.js';
import { guardStore } from '../../src/access/guarded-store.js';
import { modelWith } from '../stores/models.js';

const MANUAL = { takeOver: true, reindex: 'manual' } as const;
const SUBJECT = { subject: { reference: 'Patient/pat' } };
/** The gender of contacts counts too. */
const OTHER = modelWith('Patient', { gender: { path: [['gender'], ['contact', 'gender']] } });
const UNAVAILABLE = { code: 'unavailable' };

/** Members with a policy each, and a Patient without one. */
async function clinic(database: Database.Database, policies: { readonly [member: string]: AccessPolicy['resource'] }) {
  const store = new SqliteStore(database, MANUAL);
  const trusted = createRepository({ store, caller: serverCaller('clinic') });
  await trusted.update({ resourceType: 'Project', id: 'clinic', name: 'clinic' });
  await trusted.update({ resourceType: 'Practitioner', id: 'ann' });
  await trusted.update({ resourceType: 'Patient', id: 'pat', gender: 'female' });
  await trusted.update({ resourceType: 'Observation', id: 'o', status: 'final', code: { text: 'x' }, ...SUBJECT });
  await trusted.update(membership('pat', 'Patient/pat'));
  for (const [member, resource] of Object.entries(policies)) {
    await trusted.update({ resourceType: 'AccessPolicy', id: member, resource: resource! });
    await trusted.update({
      ...membership(member, 'Practitioner/ann'),
      accessPolicy: { reference: `AccessPolicy/${member}` },
    });
  }
  for (const id of ['pat', ...Object.keys(policies)]) {
    await trusted.update({ resourceType: 'User', id, firstName: id, lastName: 'Last', email: `${id}@x.org` });
  }
  return store;
}

function membership(id: string, profile: string): ProjectMembership & { id: string } {
  const project = { reference: 'Project/clinic' };
  const user = { reference: `User/${id}` };
  return { resourceType: 'ProjectMembership', id, project, user, profile: { reference: profile } };
}

const POLICIES = {
  plain: [{ resourceType: 'Observation', criteria: 'Observation?status=final' }],
  chained: [{ resourceType: 'Observation', criteria: 'Observation?subject:Patient.gender=female' }],
  negated: [{ resourceType: 'Observation', criteria: 'Observation?subject:Patient.gender:not=male' }],
} satisfies { readonly [member: string]: AccessPolicy['resource'] };

test('members with policies that use a parameter under reindexing cannot sign in until it is complete', async () => {
  const database = new Database(':memory:');
  await clinic(database, POLICIES);
  const store = new SqliteStore(database, { ...MANUAL, model: OTHER });
  for (const member of ['chained', 'negated']) {
    await expect(signIn(store, { membership: member })).rejects.toMatchObject({
      ...UNAVAILABLE,
      message: expect.stringContaining('Patient.gender') as string,
    });
  }
  for (const member of ['plain', 'pat']) expect(await signIn(store, { membership: member })).toBeDefined();
  await store.reindex({ pendingOnly: true });
  for (const member of ['pat', ...Object.keys(POLICIES)]) {
    expect(await signIn(store, { membership: member })).toBeDefined();
  }
});

test('patients cannot sign in while a parameter of their compartment is incomplete', async () => {
  const database = new Database(':memory:');
  await clinic(database, POLICIES);
  const model = modelWith('Observation', { subject: { expression: 'Observation.subject | Observation.focus' } });
  const store = new SqliteStore(database, { ...MANUAL, model });
  await expect(signIn(store, { membership: 'pat' })).rejects.toMatchObject({
    ...UNAVAILABLE,
    details: { type: 'Observation', parameter: 'subject' },
  });
  expect(await signIn(store, { membership: 'plain' })).toBeDefined();
});

test.each(['chained', 'negated'] as const)(
  'a caller that signed in before (%s) is refused, and sees nothing, if its policy uses such a parameter',
  async (member) => {
    const database = new Database(':memory:');
    const store = await clinic(database, POLICIES);
    const caller = await signIn(store, { membership: member });
    const guarded = guardStore(store, caller);
    const key = { type: 'Observation', id: 'o' };
    expect((await guarded.read([key]))[0]).toMatchObject({ status: 'found' });
    const [found] = await guarded.read([key]);
    const { versionId } = found as { readonly versionId: string };
    const resource = {
      resourceType: 'Observation',
      id: 'o',
      status: 'amended',
      code: { text: 'x' },
      ...SUBJECT,
    } as const;
    const put = { kind: 'put', key, resource, expect: { version: versionId } } as const;

    const taken = new SqliteStore(database, { ...MANUAL, model: OTHER });
    const back = new SqliteStore(database, MANUAL);
    for (const one of [store, back]) {
      const now = guardStore(one, caller);
      await expect(now.read([key])).rejects.toMatchObject(UNAVAILABLE);
      await expect(now.history(key, { offset: 0, limit: 1 })).rejects.toMatchObject(UNAVAILABLE);
      await expect(now.search({ type: 'Observation', criteria: { kind: 'all' } })).rejects.toMatchObject(UNAVAILABLE);
      await expect(now.commit([put])).rejects.toMatchObject(UNAVAILABLE);
      await expect(now.commit([{ kind: 'delete', key }])).rejects.toMatchObject(UNAVAILABLE);
      const { data, errors } = await executeFhirGraphql('{ Observation(id: "o") { id } }', { store: one, caller });
      expect(data?.['Observation'] ?? null).toBeNull();
      expect(errors?.map(({ extensions }) => extensions?.['code'])).toEqual(['unavailable']);
    }
    await back.reindex({ pendingOnly: true });
    expect((await guardStore(back, caller).read([key]))[0]).toMatchObject({ status: 'found', versionId });
    expect(await guardStore(back, caller).commit([put])).toMatchObject([{ kind: 'put' }]);
    await taken.close();
  },
);
