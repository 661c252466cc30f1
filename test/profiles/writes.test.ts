import type { Patient, Project } from '@medplum/fhirtypes';
import { beforeAll, describe, expect, test } from 'vitest';
import { extendDefinitions } from '../../src/definitions.js';
import {
  createFhirGraphql,
  executeFhirGraphql,
  importBundle,
  MemoryStore,
  serverCaller,
  systemCaller,
} from '../../src/index.js';
import { type FhirModel, R4 } from '../../src/store.js';
import { codeOf, faultOf, member, repositoryOf } from '../repository/harness.js';
import { openService } from '../http/handler/open-service.js';
import { amy, definition, usCore, usCorePatient } from './us-core.js';

let model: FhirModel;
beforeAll(async () => {
  model = await extendDefinitions(R4, usCore);
});

const caller = systemCaller('clinic');
const good = amy as unknown as Patient;
const { gender: _, ...rest } = good;
const bad = rest as Patient;

async function openStore(setting?: Project['setting'], more: object = {}): Promise<MemoryStore> {
  const store = new MemoryStore({ model });
  const project = {
    resourceType: 'Project',
    id: 'clinic',
    ...(setting === undefined ? {} : { setting }),
    ...more,
  } as Project;
  await repositoryOf(store, serverCaller('clinic')).update(project);
  return store;
}

describe('profiles of a repository', () => {
  test('refuse a resource that does not conform, with every location', async () => {
    const store = await openStore();
    const repository = repositoryOf(store, caller, { profiles: [usCorePatient.url] });
    const fault = await faultOf(repository.create({ ...bad, identifier: [{ value: '1' }] }));
    expect([fault.code, fault.message, fault.issues?.map(({ expression }) => expression?.join())]).toEqual([
      'unprocessable',
      'The resource does not conform to its profiles: system is required by the profile at Patient.identifier[0].system (and 1 more)',
      ['Patient.identifier[0].system', 'Patient.gender'],
    ]);
    await repository.create(good);
    // The profile is for patients.
    await repository.create({ resourceType: 'Basic', code: { text: 'x' } });
  });

  test('can be set per write, instead of those of the repository', async () => {
    const store = await openStore();
    const plain = repositoryOf(store, caller);
    const { id } = await plain.create(bad);
    const profiles = [usCorePatient.url];
    expect(await codeOf(plain.create(bad, { profiles }))).toBe('unprocessable');
    expect(await codeOf(plain.create(bad, { profiles: true }))).toBe('unprocessable');
    expect(await codeOf(plain.update({ ...bad, id: id }, { profiles }))).toBe('unprocessable');
    const patch = [{ op: 'add', path: '/active', value: true } as const];
    expect(await codeOf(plain.patch('Patient', id, patch, { profiles }))).toBe('unprocessable');
    await plain.patch('Patient', id, patch);
    await repositoryOf(store, caller, { profiles }).create(bad, { profiles: [] });
  });

  test('true selects meta.profile, and unknown profiles in it do not matter', async () => {
    const repository = repositoryOf(await openStore(), caller, { profiles: true });
    expect(await codeOf(repository.create(bad))).toBe('unprocessable');
    await repository.create({ ...bad, meta: { profile: ['http://x/unknown'] } });
    await repository.create({ resourceType: 'Patient' });
  });

  test('a listed profile that the definitions do not have is an error', async () => {
    const repository = repositoryOf(await openStore(), caller, { profiles: ['http://x/unknown'] });
    const fault = await faultOf(repository.create(good));
    expect(fault.issues?.map(({ code }) => code)).toEqual(['not-found']);
  });
});

describe('profiles of a project', () => {
  test.each<readonly [string, object]>([
    ['setting, by URL', { setting: [{ name: 'validateProfiles', valueString: usCorePatient.url }] }],
    ['setting, those claimed', { setting: [{ name: 'validateProfiles', valueBoolean: true }] }],
    ['systemSetting', { systemSetting: [{ name: 'validateProfiles', valueString: usCorePatient.url }] }],
  ])('%s', async (name, project) => {
    const store = await openStore(undefined, project);
    const repository = repositoryOf(store, caller);
    expect(await codeOf(repository.create(bad))).toBe('unprocessable');
    await repository.create(good);
    const unclaimed = repository.create({ ...bad, meta: {} });
    await (name.includes('claimed') ? unclaimed : expect(codeOf(unclaimed)).resolves.toBe('unprocessable'));
  });

  test('do not change strictMode, which stays a boolean', async () => {
    const store = await openStore([{ name: 'validateProfiles', valueString: usCorePatient.url }]);
    await repositoryOf(store, caller).create({ ...good, shoeSize: 43 } as Patient);
    const strict = await openStore(undefined, { strictMode: true });
    expect(await codeOf(repositoryOf(strict, caller).create({ ...good, shoeSize: 43 } as Patient))).toBe(
      'unprocessable',
    );
    await repositoryOf(strict, caller).create(bad);
  });

  test('apply to mutations and imports', async () => {
    const store = await openStore([{ name: 'validateProfiles', valueBoolean: true }]);
    const mutation = 'mutation ($res: PatientInput!) { PatientCreate(res: $res) { id } }';
    const { errors } = await executeFhirGraphql(mutation, { store, caller, variables: { res: bad } });
    expect(
      errors?.map(({ path, extensions }) => [path, extensions.code, extensions.resource.issue[0]?.expression]),
    ).toEqual([[['PatientCreate'], 'unprocessable', ['Patient.gender']]]);
    const bundle = { resourceType: 'Bundle', type: 'transaction', entry: [{ resource: bad, request: { method: 'POST', url: 'Patient' } }] }; // prettier-ignore
    expect(await codeOf(importBundle(bundle as never, { store, caller }))).toBe('unprocessable');
    const plain = await openStore();
    expect((await createFhirGraphql({ store: plain, profiles: true }).execute(mutation, { caller, variables: { res: bad } })).errors).toHaveLength(1); // prettier-ignore
    expect(await codeOf(importBundle(bundle as never, { store: plain, caller, profiles: true }))).toBe('unprocessable');
  });

  test('are not applied to elements hidden from a member', async () => {
    const store = await openStore([{ name: 'validateProfiles', valueBoolean: true }]);
    const { id } = await repositoryOf(store, caller).create(good);
    const rules = [{ resourceType: 'Patient', hiddenFields: ['name', 'gender', 'extension'] }];
    const restricted = await member(store, { rules });
    const { name, ...seen } = await restricted.read('Patient', id);
    expect(name).toBeUndefined();
    await restricted.update({ ...seen, active: true });
    expect((await repositoryOf(store, caller).read('Patient', id)).name).toEqual(good.name);
    const { identifier: _, ...without } = seen;
    expect(await codeOf(restricted.update(without as Patient))).toBe('unprocessable');
  });

  test('are not applied to the elements of a hidden contained resource', async () => {
    const url = 'http://x/referred';
    const element = [
      { path: 'Patient' },
      {
        path: 'Patient.managingOrganization',
        type: [{ code: 'Reference', targetProfile: ['http://x/named'] }],
      },
    ];
    const named = [{ path: 'Organization' }, { path: 'Organization.name', min: 1 }];
    const profiles = [
      definition({ url, type: 'Patient', differential: { element } }),
      definition({ url: 'http://x/named', type: 'Organization', differential: { element: named } }),
    ];
    const store = new MemoryStore({ model: await extendDefinitions(R4, { profiles }) });
    const setting = [{ name: 'validateProfiles', valueString: url }];
    await repositoryOf(store, serverCaller('clinic')).update({ resourceType: 'Project', id: 'clinic', setting }); // prettier-ignore
    const patient = (organization: object): Patient => ({
      resourceType: 'Patient',
      contained: [{ resourceType: 'Organization', id: 'o', ...organization }],
      managingOrganization: { reference: '#o' },
    });
    const fault = await faultOf(repositoryOf(store, caller).create(patient({})));
    expect([fault.code, fault.issues?.map(({ expression }) => expression?.join())]).toEqual([
      'unprocessable',
      ['Patient.managingOrganization.reference'],
    ]);
    // A resource from before the setting, with contained resources that the member cannot see.
    const stored = patient({ active: true });
    await store.commit([{ kind: 'put', key: { project: 'clinic', type: 'Patient', id: 'old' }, resource: { ...stored, id: 'old' } }]); // prettier-ignore
    const rules = [{ resourceType: 'Patient', hiddenFields: ['contained'] }];
    const restricted = await member(store, { rules });
    const seen = await restricted.read('Patient', 'old');
    expect(seen.contained).toBeUndefined();
    expect((await restricted.update({ ...seen, active: true })).active).toBe(true);
    expect((await repositoryOf(store, caller).read('Patient', 'old')).contained).toEqual(stored.contained);
  });
});

test('options that are neither true nor a list are refused', () => {
  const config = { store: new MemoryStore(), profiles: 'all' as never };
  expect(() => createFhirGraphql(config)).toThrow('profiles must be true or a list of canonical URLs');
});

describe('over HTTP', () => {
  test('$validate accepts profiles by URL, in Parameters and from meta.profile', async () => {
    const { call } = await openService({ store: new MemoryStore({ model }) });
    const places = async (path: string, body: unknown): Promise<unknown> => {
      const answer = await call('POST', path, { body });
      const { issue } = answer.body as { issue: { severity: string; expression?: string[] }[] };
      return issue.map(({ severity, expression = [] }) => `${severity} ${expression.join()}`);
    };
    const unclaimed = { ...bad, meta: undefined };
    expect(await places('Patient/$validate', unclaimed)).toEqual(['information ']);
    const url = encodeURIComponent(usCorePatient.url);
    expect(await places(`Patient/$validate?profile=${url}`, unclaimed)).toEqual(['error Patient.gender']);
    const parameter = [
      { name: 'resource', resource: unclaimed },
      { name: 'profile', valueUri: usCorePatient.url },
    ];
    expect(await places('Patient/$validate', { resourceType: 'Parameters', parameter })).toEqual([
      'error Patient.gender',
    ]);
    expect(await places('Patient/$validate', bad)).toEqual(['error Patient.gender']);
    expect(await places(`Patient/$validate?profile=${url}`, good)).toEqual(['information ']);
  });

  test('the option of the handler applies to writes', async () => {
    const { call } = await openService({ profiles: [usCorePatient.url], store: new MemoryStore({ model }) });
    expect((await call('POST', 'Patient', { body: bad })).status).toBe(422);
    expect((await call('POST', 'Patient', { body: good })).status).toBe(201);
  });
});
