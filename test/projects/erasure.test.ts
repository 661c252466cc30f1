import type { ResourceType } from '@medplum/fhirtypes';
import { existsSync, readFileSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import {
  type AnyResource,
  type AuditRecord,
  createRepository,
  erasePatient,
  eraseResource,
  exportProject,
  FhirError,
  invite,
  MemoryStore,
  purgeHistory,
  removeMember,
  type ResourceStore,
  serverCaller,
  systemCaller,
} from '../../src/index.js';
import { SqliteStore } from '../../src/sqlite.js';
import { guardStore } from '../../src/access/guarded-store.js';
import { temporaryFolder } from '../stores/temporary-folder.js';
import { storeWith } from '../support/store-with.js';
import { openClinic, person, put, stores } from './harness.js';

const fileNamed = temporaryFolder();
const reason = 'patient-request';

async function codeOf(work: Promise<unknown>): Promise<unknown> {
  return work.then(
    () => 'resolved',
    (error: unknown) => (error instanceof FhirError ? error.code : error),
  );
}

const resource = (resourceType: string, id: string, elements: object = {}): AnyResource => ({
  resourceType,
  id,
  ...elements,
});
const of = (patient: string): object => ({ subject: { reference: `Patient/${patient}` } });

/** Two patients, with resources of their own, shared, deleted, moved, linked and audited. */
async function ward(store: ResourceStore): Promise<void> {
  const observation = { status: 'final', code: { text: 'Zyzzyva' } };
  await put(
    store,
    'ward',
    resource('Project', 'ward', { name: 'Ward' }),
    resource('Patient', 'p', { name: [{ family: 'Zyzzyva' }] }),
    resource('Patient', 'other'),
    resource('Observation', 'own', { ...observation, ...of('p') }),
    resource('Observation', 'deleted', { ...observation, ...of('p') }),
    resource('Observation', 'moved', { ...observation, ...of('p') }),
    resource('Observation', 'others', { ...observation, ...of('other') }),
    resource('RelatedPerson', 'mother', { patient: { reference: 'Patient/p' } }),
    resource('Group', 'both', {
      type: 'person',
      actual: true,
      member: ['p', 'other'].map((id) => ({ entity: { reference: `Patient/${id}` } })),
    }),
    resource('DocumentReference', 'letter', {
      status: 'current',
      ...of('p'),
      content: [{ attachment: { url: 'Binary/free' } }, { attachment: { url: 'Binary/protected' } }],
    }),
    resource('Binary', 'free', { contentType: 'text/plain', data: 'Wnl6enl2YQ==' }),
    resource('Binary', 'protected', { contentType: 'text/plain', securityContext: { reference: 'Patient/other' } }),
    resource('Bundle', 'document', { type: 'collection', entry: [{ resource: resource('Patient', 'p') }] }),
    resource('AuditEvent', 'seen', {
      type: { code: 'rest' },
      recorded: '2026-01-01T00:00:00Z',
      agent: [{ requestor: true }],
      source: { observer: { display: 'x' } },
      entity: [{ what: { reference: 'Patient/p' } }],
    }),
  );
  await put(store, 'ward', resource('Observation', 'moved', { ...observation, ...of('other') }));
  await guardStore(store, serverCaller('ward')).commit([
    { kind: 'delete', key: { type: 'Observation', id: 'deleted' } },
  ]);
}

describe.each(stores)('erasing, over %s', (_, makeStore) => {
  test('leaves a tombstone with time and reason, and an audit record', async () => {
    const store = makeStore();
    await ward(store);
    const caller = systemCaller('ward');
    const audit: AuditRecord[] = [];
    const context = { store, caller, reason, audit: (record: AuditRecord) => void audit.push(record) } as const;
    const erased = await eraseResource('Observation', 'moved', context);
    expect(erased).toEqual({ resource: 'Observation/moved', versions: 2, versionId: '3' });
    const repository = createRepository({ store, caller });
    expect(await codeOf(repository.read('Observation', 'moved'))).toBe('gone');
    expect(await codeOf(repository.vread('Observation', 'moved', '1'))).toBe('not-found');
    const history = await repository.history('Observation', 'moved');
    expect(history.entry?.map(({ request }) => request?.method)).toEqual(['DELETE']);
    const again = resource('Observation', 'moved', { status: 'final', code: { text: 'x' } });
    expect(await codeOf(repository.update(again as never))).toBe('gone');
    expect(await codeOf(repository.create(again as never))).toBe('resolved');
    expect((await eraseResource('Observation', 'moved', context)).versions).toBe(0);
    expect(audit).toMatchObject([
      {
        interaction: 'erase-resource',
        reason,
        targets: [{ type: 'Observation', id: 'moved', versionId: '3' }],
        outcome: { success: true },
      },
      { interaction: 'erase-resource', outcome: { success: true } },
    ]);
  });

  test('is only for trusted code and unbound super administrators, with a reason from the list', async () => {
    const clinic = await openClinic(makeStore());
    const { store, superAdmin, admin, project } = clinic;
    await put(store, project, resource('Basic', 'b', { code: { text: 'x' } }));
    const erase = (caller: typeof admin, more: object = {}): Promise<unknown> =>
      eraseResource('Basic', 'b', { store, caller, reason, ...more });
    expect(await codeOf(erase(admin))).toBe('forbidden');
    expect(await codeOf(erase(systemCaller('elsewhere'), { project }))).toBe('forbidden');
    expect(await codeOf(erase(superAdmin, { project, reason: 'has diabetes' }))).toBe('invalid');
    expect(await codeOf(erase(serverCaller()))).toBe('invalid');
    expect(await codeOf(erase(superAdmin))).toBe('not-found');
    expect(await codeOf(eraseResource('Nothing' as ResourceType, 'b', { store, caller: superAdmin, reason }))).toBe(
      'invalid',
    );
    const plain = storeWith(store, { removal: undefined });
    expect(await codeOf(eraseResource('Basic', 'b', { store: plain, caller: systemCaller(project), reason }))).toBe(
      'unsupported',
    );
    expect(await erase(superAdmin, { project })).toMatchObject({ versions: 1 });
  });

  test('spares resources that members need, until they are removed', async () => {
    const { store, superAdmin, project } = await openClinic(makeStore());
    const context = { store, caller: superAdmin };
    const { profile, membership, user } = await invite(project, person('Patient', 'Pat'), context);
    const erasing = { ...context, project, reason } as const;
    const works: readonly (() => Promise<unknown>)[] = [
      () => eraseResource('Patient', profile.id, erasing),
      () => erasePatient(profile.id, erasing),
      () => eraseResource('User', user.id, erasing),
      () => eraseResource('ProjectMembership', membership.id, erasing),
    ];
    for (const work of works) expect(await codeOf(work())).toBe('conflict');
    expect(await codeOf(eraseResource('Project', project, erasing))).toBe('forbidden');
    await removeMember(membership.id, context);
    for (const work of works) expect(await codeOf(work())).toBe('resolved');
  });

  test('a dry run lists erased and kept resources, and changes nothing', async () => {
    const store = makeStore();
    await ward(store);
    const context = { store, caller: systemCaller('ward'), reason } as const;
    const plan = await erasePatient('p', { ...context, dryRun: true });
    expect(plan.erased.toSorted()).toEqual([
      'Binary/free',
      'Bundle/document',
      'DocumentReference/letter',
      'Observation/deleted',
      'Observation/own',
      'Patient/p',
      'RelatedPerson/mother',
    ]);
    expect(plan.kept.map(({ resource: name, because }) => `${name} ${because}`).toSorted()).toEqual([
      'AuditEvent/seen type',
      'Binary/protected linked',
      'Group/both shared',
      'Observation/moved history',
    ]);
    expect(plan.versions).toBe(0);
    const done = await erasePatient('p', context);
    expect({ ...done, versions: 0 }).toEqual(plan);
    expect(done.versions).toBe(8);
    const left = await erasePatient('p', { ...context, shared: 'erase', keepTypes: [] });
    expect(left.erased.toSorted()).toEqual(['AuditEvent/seen', 'Group/both', 'Patient/p']);
    expect(await codeOf(erasePatient('nobody', context))).toBe('not-found');
  });

  test('histories are purged by age and number, and current versions are kept', async () => {
    const store = makeStore();
    const caller = systemCaller('ward');
    for (const value of ['a', 'b', 'c']) await put(store, 'ward', resource('Basic', 'b', { code: { text: value } }));
    await put(store, 'ward', resource('Patient', 'p'));
    await put(store, 'ward', resource('Patient', 'p', { active: true }));
    const audit: AuditRecord[] = [];
    const context = { store, caller, audit: (record: AuditRecord) => void audit.push(record) };
    expect(await purgeHistory({ olderThan: '2000-01-01' }, context)).toEqual({ versions: 0 });
    const olderThan = new Date(Date.now() + 86_400_000);
    expect(await purgeHistory({ olderThan, keep: 2, type: 'Basic' }, context)).toEqual({ versions: 1 });
    expect(await purgeHistory({ olderThan }, context)).toEqual({ versions: 2 });
    expect(audit.map(({ interaction, results }) => [interaction, results])).toEqual([
      ['purge-history', 0],
      ['purge-history', 1],
      ['purge-history', 2],
    ]);
    const [found] = await store.read([{ project: 'ward', type: 'Basic', id: 'b' }]);
    expect(found).toMatchObject({ status: 'found', versionId: '3' });
    for (const bad of [{ olderThan: 'soon' }, { olderThan, keep: 0 }, { olderThan, type: 'Nothing' }]) {
      expect(await codeOf(purgeHistory(bad, context))).toBe('invalid');
    }
  });
});

test('an erasure and an export with history do not read current versions of other resources for deleted ones', async () => {
  const inner = new MemoryStore();
  const read: string[] = [];
  const store = storeWith(inner, {
    removal: inner.removal,
    async typeHistory(query) {
      const entries = await inner.typeHistory(query);
      read.push(...entries.map(({ id, versionId }) => `${query.type}/${id}/${versionId}`));
      return entries;
    },
  });
  await ward(store);
  for await (const line of exportProject('ward', { store, caller: serverCaller(), history: true })) void line;
  const past = ['Observation/deleted/2', 'Observation/moved/1', 'Observation/deleted/1'];
  expect(read.splice(0)).toEqual(past);
  await erasePatient('p', { store, caller: systemCaller('ward'), reason, dryRun: true });
  expect(read.filter((name) => !name.startsWith('Bundle/'))).toEqual(past);
});

test('no byte of an erased patient is left in the files of the store', async () => {
  const file = fileNamed('ward.db');
  const store = new SqliteStore(file, { synchronous: 'off' });
  await ward(store);
  const bytes = (): string =>
    ['', '-wal', '-shm'].map((end) => (existsSync(file + end) ? readFileSync(file + end, 'latin1') : '')).join('');
  expect(bytes()).toMatch(/zyzzyva|Wnl6enl2YQ/i);
  await purgeHistory(
    { olderThan: new Date(Date.now() + 86_400_000), type: 'Observation' },
    { store, caller: systemCaller('ward') },
  );
  for (const id of ['others', 'moved']) {
    await eraseResource('Observation', id, { store, caller: systemCaller('ward'), reason, scrub: false });
  }
  await erasePatient('p', { store, caller: systemCaller('ward'), reason });
  expect(bytes()).not.toMatch(/zyzzyva|Wnl6enl2YQ/i);
  await store.close();
});

test('an interrupted erasure of a patient continues where it stopped', async () => {
  const store = new MemoryStore();
  await ward(store);
  let commits = 0;
  const breaking = storeWith(store, {
    removal: store.removal,
    typeHistory: (query, options) => store.typeHistory(query, options),
    async commit(writes, options) {
      commits += 1;
      if (commits === 2) throw new FhirError('unavailable', 'killed');
      return store.commit(writes, options);
    },
  });
  const context = { caller: systemCaller('ward'), reason } as const;
  expect(await codeOf(erasePatient('p', { ...context, store: breaking }))).toBe('unavailable');
  expect(await store.read([{ project: 'ward', type: 'Patient', id: 'p' }])).toMatchObject([{ status: 'found' }]);
  const done = await erasePatient('p', { ...context, store });
  expect(done.erased).toEqual(['Patient/p']);
  expect(await store.read([{ project: 'ward', type: 'Patient', id: 'p' }])).toMatchObject([{ status: 'gone' }]);
});
