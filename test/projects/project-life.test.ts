import type { Bundle, Patient, Project } from '@medplum/fhirtypes';
import { describe, expect, test } from 'vitest';
import {
  type AnyResource,
  type AuditRecord,
  createClient,
  createProject,
  createRepository,
  deactivateProject,
  deleteProject,
  exportProject,
  FhirError,
  importNdjson,
  invite,
  listProjects,
  MemoryStore,
  reactivateProject,
  removeMember,
  type ResourceStore,
  serverCaller,
  signIn,
  systemCaller,
  updateProject,
} from '../../src/index.js';
import { SERVER_SCOPE } from '../../src/store.js';
import { ALL } from '../../src/search/criteria/criteria.js';
import { storeWith } from '../support/store-with.js';
import { type Clinic, openClinic, person, stores } from './harness.js';

async function codeOf(work: Promise<unknown>): Promise<unknown> {
  return work.then(
    () => 'resolved',
    (error: unknown) => (error instanceof FhirError ? error.code : error),
  );
}

async function linesOf(lines: AsyncIterable<string>): Promise<AnyResource[]> {
  const all: AnyResource[] = [];
  for await (const line of lines) all.push(JSON.parse(line) as AnyResource);
  return all;
}

/** Everything under a project, by type and id. */
async function contentOf(store: ResourceStore, project: string): Promise<readonly string[]> {
  const found: string[] = [];
  for (const type of store.model.resourceTypes) {
    const { matches } = await store.search({ project, type, criteria: ALL });
    found.push(...matches.map(({ resource }) => `${type}/${resource.id!}`));
  }
  return found;
}

async function records(clinic: Clinic): Promise<readonly string[]> {
  const repository = createRepository({ store: clinic.store, caller: systemCaller(clinic.project) });
  const patient = await repository.create<Patient>({ resourceType: 'Patient', name: [{ family: 'Okapi' }] });
  await repository.update({ ...patient, active: true });
  const gone = await repository.create<Patient>({ resourceType: 'Patient', gender: 'male' });
  await repository.delete('Patient', gone.id);
  const observation = await repository.create({
    resourceType: 'Observation',
    status: 'final',
    code: { text: 'Weight' },
    subject: { reference: `Patient/${patient.id}` },
  });
  return [patient.id, gone.id, observation.id];
}

describe.each(stores)('projects are created and end, over %s', (_, makeStore) => {
  test('they are listed in pages, found by name, and shown without secrets', async () => {
    const { store, superAdmin, admin, project } = await openClinic(makeStore());
    const context = { store, caller: superAdmin };
    for (const name of ['North', 'Northwest', 'South']) {
      await createProject({ resourceType: 'Project', name, secret: [{ name: 'key', valueString: 'x' }] }, context);
    }
    const names = (bundle: Bundle): readonly unknown[] =>
      (bundle.entry ?? []).map(({ resource }) => (resource as Project).name).toSorted();
    const all = await listProjects(undefined, context);
    expect(all.total).toBe(5);
    expect(names(await listProjects('name=north', context))).toEqual(['North', 'Northwest']);
    expect(names(await listProjects('name:contains=west', context))).toEqual(['Northwest']);
    expect(JSON.stringify(await listProjects('name:exact=South', context))).not.toContain('valueString');
    const first = await listProjects('_count=2&_sort=name', context);
    expect([names(first), first.link]).toEqual([
      ['Clinic', 'North'],
      [
        { relation: 'self', url: 'Project?_sort=name&_count=2' },
        { relation: 'next', url: expect.stringMatching(/^Project\?_sort=name&_count=2&_cursor=./) },
      ],
    ]);
    const [, next] = first.link!;
    expect(names(await listProjects(next!.url.split('?')[1], context))).toEqual(['Northwest', 'South']);
    expect(await codeOf(listProjects('_count=1001', context))).toBe('too-costly');
    for (const caller of [admin, systemCaller(project)]) {
      expect(await codeOf(listProjects(undefined, { store, caller }))).toBe('forbidden');
    }
    expect((await listProjects('_summary=count', { store, caller: serverCaller() })).total).toBe(5);
  });

  test('their names and settings change, and their secrets are unchanged', async () => {
    const { store, superAdmin, admin, project } = await openClinic(makeStore(), {
      systemSecret: [{ name: 'key', valueString: 'kept' }],
      description: 'Before',
    });
    const context = { store, caller: superAdmin };
    const after = await updateProject(project, { name: ' North ', description: null, strictMode: false }, context);
    expect(after).toMatchObject({ name: 'North', strictMode: false, id: project });
    expect([after.description, after.systemSecret]).toEqual([undefined, undefined]);
    const [stored] = await store.read([{ project: SERVER_SCOPE, type: 'Project', id: project }]);
    expect(stored).toMatchObject({ resource: { systemSecret: [{ name: 'key', valueString: 'kept' }] } });
    expect((await updateProject(project, { name: 'North' }, context)).meta.versionId).toBe(after.meta.versionId);
    for (const changes of [{ active: false }, { superAdmin: true }, { name: '' }, { name: null }, { colour: 'red' }]) {
      expect(await codeOf(updateProject(project, changes as never, context))).toBe('invalid');
    }
    expect(await codeOf(updateProject('nowhere', { name: 'x' }, context))).toBe('not-found');
    expect(await codeOf(updateProject(project, { name: 'x' }, { store, caller: admin }))).toBe('forbidden');
  });

  test('nobody signs in to a deactivated project, and all its data are kept', async () => {
    const { store, superAdmin, admin, project, first } = await openClinic(makeStore());
    const before = await contentOf(store, project);
    expect(await deactivateProject(project, { store, caller: superAdmin })).toMatchObject({ active: false });
    expect(await codeOf(signIn(store, { membership: first.membership.id }))).toBe('project-missing');
    expect(await codeOf(invite(project, person('Practitioner', 'Bob'), { store, caller: admin }))).toBe(
      'project-missing',
    );
    expect(await contentOf(store, project)).toEqual(before);
    expect(await reactivateProject(project, { store, caller: superAdmin })).toMatchObject({ active: true });
    expect((await signIn(store, { membership: first.membership.id })).project).toBe(project);
    expect(await codeOf(deactivateProject(project, { store, caller: admin }))).toBe('forbidden');
  });

  test('only the operator deactivates the project of the super administrators', async () => {
    const { store, superAdmin } = await openClinic(makeStore());
    const home = superAdmin.project;
    for (const work of [
      () => deactivateProject(home, { store, caller: superAdmin }),
      () => deleteProject(home, { name: 'Super Admin' }, { store, caller: superAdmin }),
    ]) {
      expect(await codeOf(work())).toBe('forbidden');
    }
    expect(await deactivateProject(home, { store, caller: serverCaller() })).toMatchObject({ active: false });
  });

  test('deletion leaves nothing but the Users above projects and a tombstone', async () => {
    const clinic = await openClinic(makeStore());
    const { store, superAdmin, project } = clinic;
    const context = { store, caller: superAdmin };
    await records(clinic);
    await createClient(project, { name: 'App' }, context);
    const second = await invite(project, person('Practitioner', 'Bob', { scope: 'project' }), context);
    const left = await invite(project, person('Patient', 'Cid'), context);
    await removeMember(left.membership.id, context);
    const other = await createProject({ resourceType: 'Project', name: 'Other' }, context);
    await invite(other.id, person('Practitioner', 'Ada', { admin: true }), context);
    const untouched = await contentOf(store, other.id);
    expect(await codeOf(deleteProject(project, { name: 'clinic' }, context))).toBe('precondition-failed');
    expect((await contentOf(store, project)).length).toBeGreaterThan(5);
    const audit: AuditRecord[] = [];
    const deleted = await deleteProject(
      project,
      { name: 'Clinic' },
      { ...context, audit: (record) => void audit.push(record) },
    );
    expect(deleted.project).toBe(`Project/${project}`);
    expect(deleted.resources).toBeGreaterThan(8);
    expect(audit).toMatchObject([
      { interaction: 'delete-project', targets: [{ type: 'Project', id: project }], outcome: { success: true } },
    ]);
    expect(await contentOf(store, project)).toEqual([]);
    expect(await contentOf(store, other.id)).toEqual(untouched);
    const above = await contentOf(store, SERVER_SCOPE);
    expect(above).toContain(`User/${clinic.first.user.id}`);
    expect(above).not.toContain(`User/${second.user.id}`);
    expect(above.join()).not.toContain(clinic.first.membership.id);
    expect((await contentOf(store, '/former-memberships')).length).toBe(0);
    const [tombstone] = await store.read([{ project: SERVER_SCOPE, type: 'Project', id: project }]);
    expect(tombstone).toMatchObject({ status: 'gone', erased: { reason: 'project-deleted' } });
    expect(await codeOf(deleteProject(project, { name: 'Clinic' }, context))).toBe('gone');
    expect(await codeOf(signIn(store, { membership: clinic.first.membership.id }))).toBe('membership-missing');
  });

  test('an interrupted deletion is resumed, and can only be finished', async () => {
    const clinic = await openClinic(makeStore());
    const { store, superAdmin, project } = clinic;
    const context = { store, caller: superAdmin };
    await records(clinic);
    const broken = deleteProject(
      project,
      {
        name: 'Clinic',
        onProgress: () => {
          throw new Error('killed');
        },
      },
      context,
    );
    await expect(broken).rejects.toThrow('killed');
    expect(await codeOf(reactivateProject(project, context))).toBe('conflict');
    expect(await codeOf(updateProject(project, { name: 'x' }, context))).toBe('conflict');
    expect(await codeOf(deleteProject(project, { name: 'other' }, context))).toBe('precondition-failed');
    await deleteProject(project, { name: 'Clinic' }, context);
    expect(await contentOf(store, project)).toEqual([]);
  });

  test('an export creates the same project elsewhere, page by page, without secrets', async () => {
    const clinic = await openClinic(makeStore());
    const { store, superAdmin, admin, project } = clinic;
    const context = { store, caller: superAdmin };
    await records(clinic);
    const { secret } = await createClient(project, { name: 'App' }, context);
    const audit: AuditRecord[] = [];
    const lines = await linesOf(exportProject(project, { ...context, audit: (record) => void audit.push(record) }));
    expect(audit).toMatchObject([{ interaction: 'export-project', results: lines.length }]);
    expect(JSON.stringify(lines)).not.toContain(secret);
    expect(lines.some((line) => line.resourceType === 'ClientApplication' && 'secret' in line)).toBe(false);
    const other = new MemoryStore();
    const result = await importNdjson(exportProject(project, context), { store: other, caller: serverCaller(project) });
    expect([result.failed, result.created]).toEqual([0, lines.length]);
    expect(await contentOf(other, project)).toEqual(await contentOf(store, project));
    const again = await linesOf(exportProject(project, { store: other, caller: serverCaller() }));
    expect(again.map(withoutMeta)).toEqual(lines.map(withoutMeta));
    expect((await signIn(other, { membership: clinic.first.membership.id })).user).toBe(`User/${clinic.first.user.id}`);
    for (const caller of [admin, systemCaller(project)]) {
      expect(await codeOf(linesOf(exportProject(project, { store, caller })))).toBe('forbidden');
    }
  });

  test('an export with history contains versions and deletions', async () => {
    const clinic = await openClinic(makeStore());
    const { store, superAdmin, project } = clinic;
    const [patient, gone] = await records(clinic);
    const other = new MemoryStore();
    const context = { store: other, caller: serverCaller(project) };
    const lines = exportProject(project, { store, caller: superAdmin, history: true });
    const result = await importNdjson(lines, { ...context, deletions: true });
    expect([result.failed, result.deleted]).toEqual([0, 1]);
    const kinds = async (id: string): Promise<readonly unknown[]> => {
      const key = { project, type: 'Patient', id };
      return (await other.history(key, { offset: 0, limit: 9 })).entries.map((entry) =>
        entry.kind === 'put' ? withoutMeta(entry.resource) : entry.kind,
      );
    };
    expect(await kinds(patient!)).toEqual([
      expect.objectContaining({ active: true }),
      expect.not.objectContaining({ active: true }),
    ]);
    expect(await kinds(gone!)).toEqual(['delete', expect.objectContaining({ gender: 'male' })]);
  });
});

test('an export reads a page when its line is requested, and ends when its reader stops', async () => {
  const { store, project } = await openClinic();
  const repository = createRepository({ store, caller: systemCaller(project) });
  for (let id = 0; id < 250; id++)
    await repository.update({ resourceType: 'Basic', id: `b${id}`, code: { text: 'x' } });
  let searches = 0;
  const counted = storeWith(store, {
    search(query, options) {
      if (query.type === 'Basic') searches += 1;
      return store.search(query, options);
    },
  });
  const audit: AuditRecord[] = [];
  const context = { store: counted, caller: serverCaller(), audit: (record: AuditRecord) => void audit.push(record) };
  const seen: string[] = [];
  for await (const line of exportProject(project, context)) {
    if (line.includes('"Basic"')) seen.push(line);
    if (seen.length === 150) break;
  }
  expect(searches).toBe(2);
  expect(audit).toMatchObject([{ interaction: 'export-project', outcome: { success: true } }]);
});

test('an export with history makes one store call per resource, and reads long histories page by page', async () => {
  const { store, project } = await openClinic();
  const repository = createRepository({ store, caller: systemCaller(project) });
  for (let id = 0; id < 10; id++) await repository.update({ resourceType: 'Basic', id: `b${id}`, code: { text: 'x' } });
  const written = Array.from({ length: 230 }, (_, index) => `text ${index}`);
  for (const text of written) await repository.update({ resourceType: 'Basic', id: 'long', code: { text } });
  const asked: string[] = [];
  const counted = storeWith(store, {
    history(key, page, options) {
      if (key.type === 'Basic') asked.push(key.id);
      return store.history(key, page, options);
    },
    typeHistory: (query, options) => store.typeHistory!(query, options),
  });
  const texts: unknown[] = [];
  for await (const line of exportProject(project, { store: counted, caller: serverCaller(), history: true })) {
    const { resourceType, id, code } = JSON.parse(line) as {
      resourceType: string;
      id: string;
      code?: { text: string };
    };
    if (resourceType === 'Basic' && id === 'long') texts.push(code?.text);
  }
  expect(texts).toEqual(written);
  expect(asked.filter((id) => id !== 'long').sort()).toEqual(Array.from({ length: 10 }, (_, id) => `b${id}`));
});

test('a store that cannot remove permanently refuses before any change', async () => {
  const { store, superAdmin, project } = await openClinic();
  const plain = storeWith(store, { removal: undefined });
  const work = deleteProject(project, { name: 'Clinic' }, { store: plain, caller: superAdmin });
  expect(await codeOf(work)).toBe('unsupported');
  expect((await listProjects('name=Clinic', { store, caller: superAdmin })).entry?.[0]?.resource?.active).not.toBe(
    false,
  );
});

function withoutMeta({ meta: _, ...resource }: AnyResource): object {
  return resource;
}
