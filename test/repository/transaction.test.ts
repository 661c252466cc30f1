import type { Bundle, BundleEntry, Observation, Patient, Resource } from '@medplum/fhirtypes';
import { expect, test } from 'vitest';
import type { Repository } from '../../src/index.js';
import { codeOf, faultOf, member, overStores, signedIn, system } from './harness.js';

const CODE = { text: 'x' };

function post(resource: Resource, fullUrl?: string): BundleEntry {
  const request = { method: 'POST', url: resource.resourceType } as const;
  return { ...(fullUrl === undefined ? {} : { fullUrl }), resource, request };
}

function put(resource: Resource): BundleEntry {
  return { resource, request: { method: 'PUT', url: `${resource.resourceType}/${resource.id!}` } };
}

function ask(method: 'GET' | 'DELETE', url: string): BundleEntry {
  return { request: { method, url } };
}

function bundle(type: 'transaction' | 'batch', ...entry: BundleEntry[]): Bundle {
  return { resourceType: 'Bundle', type, entry };
}

function statuses({ entry }: Bundle): (string | undefined)[] {
  return entry!.map(({ response }) => response?.status);
}

/** The ids that a response says its entries got. */
function made(response: Bundle): (string | undefined)[] {
  return response.entry!.map((entry) => entry.response?.location?.split('/')[1]);
}

async function count(repository: Repository, type: Resource['resourceType']): Promise<number | undefined> {
  return (await repository.search(type, '_summary=count')).total;
}

overStores('a transaction', (open) => {
  test('assigns new ids to created resources, and links follow', async () => {
    const repository = await system(open());
    await repository.update({ resourceType: 'Patient', id: 'mine', active: true });
    const response = await repository.transaction(
      bundle(
        'transaction',
        post({ resourceType: 'Patient', id: 'mine', active: false }, 'urn:uuid:11111111-1111-4111-8111-111111111111'),
        post({
          resourceType: 'Observation',
          id: 'mine',
          status: 'final',
          code: CODE,
          subject: { reference: 'urn:uuid:11111111-1111-4111-8111-111111111111' },
          focus: [{ reference: 'Patient/mine' }],
        }),
      ),
    );
    expect(response.type).toBe('transaction-response');
    expect(statuses(response)).toEqual(['201 Created', '201 Created']);
    const [patient, observation] = made(response);
    expect(new Set(['mine', '11111111-1111-4111-8111-111111111111', patient, observation]).size).toBe(4);
    expect(await repository.read('Patient', patient!)).toMatchObject({ active: false });
    expect(await repository.read('Patient', 'mine')).toMatchObject({ active: true });
    const { subject, focus } = (await repository.read('Observation', observation!)) as Observation;
    expect([subject?.reference, focus?.[0]?.reference]).toEqual([`Patient/${patient!}`, 'Patient/mine']);
  });

  test('follows links to entries by their type and id, if these are their fullUrl', async () => {
    const repository = await system(open(), 'clinic', { baseUrl: 'http://clinic.example' });
    const subject = { reference: 'Patient/theirs' };
    const response = await repository.transaction(
      bundle(
        'transaction',
        post({ resourceType: 'Patient', id: 'theirs' }, 'http://elsewhere.example/Patient/theirs'),
        post({ resourceType: 'Observation', status: 'final', code: CODE, subject }),
      ),
    );
    const [patient, observation] = made(response);
    const { subject: linked } = (await repository.read('Observation', observation!)) as Observation;
    expect(linked?.reference).toBe(`Patient/${patient!}`);
  });

  test('keeps the ids of updates, deletes and reads', async () => {
    const repository = await system(open());
    await repository.update({ resourceType: 'Patient', id: 'old' });
    const response = await repository.transaction(
      bundle(
        'transaction',
        put({ resourceType: 'Patient', id: 'new' }),
        ask('DELETE', 'Patient/old'),
        ask('GET', 'Patient/new'),
      ),
    );
    expect(statuses(response)).toEqual(['201 Created', '204 No Content', '200 OK']);
    expect(response.entry![2]!.resource).toEqual(await repository.read('Patient', 'new'));
    expect(await codeOf(repository.read('Patient', 'old'))).toBe('gone');
  });

  test('writes nothing if the caller cannot write one of its entries', async () => {
    const store = open();
    const trusted = await system(store);
    await trusted.update({ resourceType: 'Patient', id: 'p', gender: 'female', birthDate: '2001' });
    await trusted.update({ resourceType: 'Patient', id: 'hidden', gender: 'male' });
    await trusted.update({ resourceType: 'Basic', id: 'b', code: CODE });
    const mine = await member(store, {
      rules: [
        { resourceType: 'Patient', criteria: 'Patient?gender=female', hiddenFields: ['birthDate'] },
        { resourceType: 'Observation', interaction: ['create', 'read'] },
        { resourceType: 'Basic', readonly: true },
      ],
    });
    const good = post({ resourceType: 'Observation', status: 'final', code: CODE });
    const female: Patient = { resourceType: 'Patient', id: 'p', gender: 'female' };
    for (const [bad, code] of [
      [post({ resourceType: 'Patient', gender: 'male' }), 'forbidden'],
      [put({ ...female, birthDate: '2001' }), 'forbidden'],
      [put({ ...female, gender: 'male' }), 'forbidden'],
      [put({ ...female, id: 'hidden' }), 'not-found'],
      [put({ ...female, id: 'absent' }), 'not-found'],
      [put({ resourceType: 'Basic', id: 'b', code: { text: 'other' } }), 'forbidden'],
      [ask('DELETE', 'Basic/b'), 'forbidden'],
      [ask('GET', 'Patient/hidden'), 'not-found'],
      [post({ resourceType: 'Device' }), 'forbidden'],
      [post({ resourceType: 'ProjectMembership' } as Resource), 'forbidden'],
    ] as const) {
      for (const entries of [
        [good, bad],
        [bad, good],
      ]) {
        const fault = await faultOf(mine.transaction(bundle('transaction', ...entries)));
        expect([fault.code, fault.details?.['entries']]).toEqual([code, [entries.indexOf(bad)]]);
      }
    }
    expect(await count(trusted, 'Observation')).toBe(0);
    expect(await count(trusted, 'Patient')).toBe(2);
    expect(await trusted.read('Patient', 'p')).toMatchObject({ birthDate: '2001', meta: { versionId: '1' } });
    expect(statuses(await mine.transaction(bundle('transaction', good, put({ ...female, active: true }))))).toEqual([
      '201 Created',
      '200 OK',
    ]);
    expect(await trusted.read('Patient', 'p')).toMatchObject({ birthDate: '2001', active: true });
  });

  test('deletes no profile of a member', async () => {
    const store = open();
    const trusted = await system(store);
    const { profile } = await signedIn(store);
    const request = bundle('transaction', post({ resourceType: 'Patient' }), ask('DELETE', profile));
    expect(await codeOf(trusted.transaction(request))).toBe('conflict');
    expect(await count(trusted, 'Patient')).toBe(0);
  });

  test('of type batch executes each entry separately', async () => {
    const store = open();
    await system(store);
    const mine = await member(store, { rules: [{ resourceType: 'Patient', criteria: 'Patient?gender=female' }] });
    const response = await mine.transaction(
      bundle(
        'batch',
        post({ resourceType: 'Patient', gender: 'male' }),
        post({ resourceType: 'Patient', gender: 'female' }),
        ask('GET', 'Patient/absent'),
        ask('GET', 'Patient?gender=male,female&_total=accurate'),
      ),
    );
    expect(response.type).toBe('batch-response');
    expect(statuses(response)).toEqual(['403 Forbidden', '201 Created', '404 Not Found', '200 OK']);
    expect(response.entry![3]!.resource).toMatchObject({ resourceType: 'Bundle', total: 1 });
  });

  test('refuses a value that is not a Bundle of requests', async () => {
    const repository = await system(open());
    for (const request of [
      undefined,
      null,
      {},
      [],
      { resourceType: 'Bundle', type: 'collection' },
      { resourceType: 'Patient' },
    ]) {
      expect(await codeOf(repository.transaction(request as never))).toBe('invalid');
    }
  });
});
