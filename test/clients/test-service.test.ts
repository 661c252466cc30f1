import type { Bundle, Patient } from '@medplum/fhirtypes';
import { MemoryStore } from 'fhirgraph';
import { createTestService } from 'fhirgraph/test-service';
import { describe, expect, test } from 'vitest';

const PATIENT: Patient = { resourceType: 'Patient', id: 'ann', gender: 'female' };

async function idsOf(fetched: Promise<Response>): Promise<string[]> {
  const { entry = [] } = (await (await fetched).json()) as Bundle;
  return entry.map(({ resource }) => resource!.id!);
}

describe('a test service', () => {
  test('has its data under their ids', async () => {
    const { fetch, baseUrl, close } = await createTestService({
      data: [PATIENT, { resourceType: 'Patient', id: 'bob' }],
    });
    expect(await idsOf(fetch(`${baseUrl}/Patient`))).toEqual(['ann', 'bob']);
    await close();
  });

  test.each(['collection', 'searchset', 'transaction', 'batch'] as const)(
    'accepts a Bundle of type %s',
    async (type) => {
      const urn = 'urn:uuid:6ba7b810-9dad-41d1-80b4-00c04fd430c8';
      const { resourceType, gender } = PATIENT;
      const observation = {
        resourceType: 'Observation',
        status: 'final',
        code: { text: 'x' },
        subject: { reference: urn },
      } as const;
      const request = (url: string): object =>
        type === 'transaction' || type === 'batch' ? { request: { method: 'POST', url } } : {};
      const { repository } = await createTestService({
        data: {
          resourceType: 'Bundle',
          type,
          entry: [
            { fullUrl: urn, resource: { resourceType, gender: gender! }, ...request('Patient') },
            { resource: observation, ...request('Observation') },
          ],
        },
      });
      const id = urn.slice('urn:uuid:'.length);
      expect((await repository.search('Observation', `subject=Patient/${id}`)).entry).toHaveLength(1);
    },
  );

  test('invites, and sends requests as the invited person, or as nobody', async () => {
    const service = await createTestService({ data: [PATIENT] });
    const policy = await service.repository.create({
      resourceType: 'AccessPolicy',
      resource: [{ resourceType: 'Patient', criteria: 'Patient?gender=male' }],
    });
    const ned = await service.invite({
      ...{ resourceType: 'Practitioner', firstName: 'Ned', lastName: 'Hill', email: 'ned@example.org' },
      membership: { access: [{ policy: { reference: `AccessPolicy/${policy.id}` } }] },
    } as never);
    expect(await idsOf(service.fetchAs(ned)(`${service.baseUrl}/Patient`))).toEqual([]);
    expect(await idsOf(service.fetch(`${service.baseUrl}/Patient`))).toEqual(['ann']);
    expect((await service.fetchAs(null)(`${service.baseUrl}/Patient`)).status).toBe(401);
    expect(service.audit.map(({ interaction }) => interaction)).toEqual(['search', 'search']);
  });

  test('keeps the store of the test, and the mails and errors of the service', async () => {
    const store = new MemoryStore();
    const service = await createTestService({ store, strictMode: false, config: { dialect: 'hl7' } });
    const body = {
      resourceType: 'Patient',
      firstName: 'Cleo',
      lastName: 'Brook',
      email: 'cleo@example.org',
      sendEmail: true,
    };
    const headers = { 'content-type': 'application/json' };
    const url = `${service.clientUrl}admin/projects/${service.project}/invite`;
    expect((await service.fetch(url, { method: 'POST', headers, body: JSON.stringify(body) })).status).toBe(200);
    expect(service.invitations.map(({ to }) => to)).toEqual(['cleo@example.org']);
    const fault = new Error('broken');
    store.history = () => Promise.reject(fault);
    const [id] = await idsOf(service.fetch(`${service.baseUrl}/Patient`));
    expect((await service.fetch(`${service.baseUrl}/Patient/${id}/_history`)).status).toBe(500);
    expect(service.errors).toEqual([fault]);
    await service.close();
    expect(await idsOf(service.fetch(`${service.baseUrl}/Patient`))).toEqual([id]);
  });
});

describe('a test service with people, time and events', () => {
  const policies = { ward: { resource: [{ resourceType: 'Patient', criteria: 'Patient?gender=female' }] } };

  test('signs members in with policies by name', async () => {
    const service = await createTestService({
      data: [PATIENT, { resourceType: 'Patient', id: 'bob', gender: 'male' }],
      policies,
    });
    const nurse = await service.member('ward');
    expect(await idsOf(service.fetchAs(nurse)(`${service.baseUrl}/Patient`))).toEqual(['ann']);
    const relative = await service.member('ward', { resourceType: 'Patient', lastName: 'Brook' });
    expect(relative.profile).toMatch(/^Patient\//);
    await expect(service.member('other')).rejects.toMatchObject({ code: 'invalid' });
    expect(service.invitations).toEqual([]);
    await service.close();
  });

  test('stands still in time until the test moves it', async () => {
    const service = await createTestService({ now: new Date('2030-01-01T00:00:00Z') });
    await service.repository.update(PATIENT);
    const { meta } = await service.repository.read('Patient', 'ann');
    expect(Date.parse(meta.lastUpdated)).toBeLessThan(Date.parse('2030-01-01T00:00:01Z'));
    service.advance(86_400_000);
    await service.repository.update({ ...PATIENT, active: true });
    const later = await service.repository.read('Patient', 'ann');
    expect(later.meta.lastUpdated).toContain('2030-01-02');
    const undated = await createTestService();
    expect(() => undated.advance(1)).toThrow('advance needs the option now');
    for (const one of [service, undated]) await one.close();
  });

  test('has a mailbox, and the events in their order', async () => {
    const service = await createTestService({ policies });
    const ned = { resourceType: 'Practitioner', firstName: 'Ned', lastName: 'Hill', email: 'ned@example.org' } as const;
    await service.invite(ned);
    expect(service.invitations.map(({ to }) => to)).toEqual(['ned@example.org']);
    const before = (await service.events()).length;
    await service.repository.update(PATIENT);
    await service.repository.delete('Patient', 'ann');
    expect((await service.events()).slice(before).map(({ kind, key }) => [kind, key.id])).toEqual([
      ['put', 'ann'],
      ['delete', 'ann'],
    ]);
    await service.close();
  });
});
