import type { Bundle, CodeSystem, Parameters, Patient, ValueSet } from '@medplum/fhirtypes';
import { describe, expect, test } from 'vitest';
import { createAuditLog, MemoryStore, signIn, verifyClientSecret } from 'fhirgraph';
import { projectTerminology } from 'fhirgraph/terminology';
import { storeWith } from '../../support/store-with.js';
import { type Answer, idOf, openService, outcomeText, patient, type Service } from './open-service.js';

const JSON_PATCH = { 'content-type': 'application/json-patch+json' };

describe('clients and Bots', () => {
  test('are created, listed, changed, given a new secret and removed by administrators', async () => {
    const { call, store, project } = await openService();
    const admin = `/admin/projects/${project}`;
    const made = await call('POST', `${admin}/client`, { body: { name: 'Laboratory' } });
    const client = made.body as { resourceType: string; id: string; secret: string };
    expect([made.status, client.resourceType]).toEqual([201, 'ClientApplication']);
    const works = (secret: string): Promise<boolean> =>
      verifyClientSecret({ project, client: client.id, secret }, { store });
    expect(await works(client.secret)).toBe(true);
    const listed = (await call('GET', `${admin}/members?profile-type=ClientApplication`)).body as Bundle;
    expect(
      listed.entry?.map(({ resource }) => (resource as { profile?: { display?: string } }).profile?.display),
    ).toEqual(['Laboratory']);

    const changed = await call('PATCH', `${admin}/client/${client.id}`, { body: { description: 'HL7' } });
    expect(changed.body).toMatchObject({ id: client.id, description: 'HL7' });
    expect(changed.text).not.toContain('secret');

    const rotated = await call('POST', `ClientApplication/${client.id}/$rotate-secret`);
    const { secret } = rotated.body as { secret: string };
    expect([rotated.status, await works(client.secret), await works(secret)]).toEqual([200, false, true]);
    const kept = { resourceType: 'Parameters', parameter: [{ name: 'keepOldFor', valueInteger: 60_000 }] };
    expect((await call('POST', `ClientApplication/${client.id}/$rotate-secret`, { body: kept })).status).toBe(200);
    expect(await works(secret)).toBe(true);

    const bot = await call('POST', `${admin}/bot`, { body: { name: 'Reminder' } });
    expect([bot.status, (bot.body as { resourceType: string }).resourceType]).toEqual([201, 'Bot']);
    expect((await call('PATCH', `${admin}/bot/${idOf(bot)}`, { body: { description: 'mails' } })).status).toBe(200);

    expect((await call('DELETE', `${admin}/client/${client.id}`)).status).toBe(204);
    expect((await call('DELETE', `${admin}/client/${client.id}`)).status).toBe(404);
    await expect(signIn(store, { project, client: client.id })).rejects.toMatchObject({ code: 'membership-missing' });
    expect((await call('GET', `ClientApplication/${client.id}`)).status).toBe(200);
  });

  test('are for administrators, and bad input changes nothing', async () => {
    const { call, project } = await openService();
    const admin = `/admin/projects/${project}`;
    for (const [method, path, body] of [
      ['POST', `${admin}/client`, { name: 'x' }],
      ['POST', `${admin}/bot`, { name: 'x' }],
      ['PATCH', `${admin}/client/1`, {}],
      ['DELETE', `${admin}/client/1`, undefined],
    ] as const) {
      expect([path, (await call(method, path, { as: 'nurse', body })).status]).toEqual([path, 403]);
      expect([path, (await call(method, path, { as: null, body })).status]).toEqual([path, 401]);
    }
    const bad = await call('POST', `${admin}/client`, { body: { name: 'x', colour: 'red' } });
    expect([bad.status, bad.text]).toEqual([400, expect.stringContaining('colour')]);
    expect((await call('POST', 'ClientApplication/none/$rotate-secret')).status).toBe(404);
    const members = (await call('GET', `${admin}/members?profile-type=ClientApplication`)).body as Bundle;
    expect(members.total).toBe(0);
  });
});

describe('members', () => {
  async function ned({ call, project }: Service): Promise<string> {
    const { body } = await call('GET', `/admin/projects/${project}/members?name=Ned`);
    return `/admin/projects/${project}/members/${(body as Bundle).entry![0]!.resource!.id!}`;
  }

  test('change by JSON Patch', async () => {
    const service = await openService();
    const path = await ned(service);
    const change = (body: unknown): Promise<Answer> => service.call('PATCH', path, { body, headers: JSON_PATCH });
    expect((await change([{ op: 'add', path: '/admin', value: true }])).body).toMatchObject({ admin: true });
    expect(
      (
        await change([
          { op: 'remove', path: '/access' },
          { op: 'replace', path: '/admin', value: false },
        ])
      ).body,
    ).not.toHaveProperty('access');
    const moved = await change([{ op: 'replace', path: '/profile/reference', value: 'Practitioner/other' }]);
    expect([moved.status, outcomeText(moved)]).toEqual([400, 'profile of a membership cannot be changed']);
    expect((await change([{ op: 'remove', path: '/nothing' }])).status).toBe(422);
    expect((await change('[1]')).status).toBe(400);
  });

  test('lose their sessions at once', async () => {
    const service = await openService();
    const path = await ned(service);
    expect((await service.call('POST', `${path}/revoke-sessions`, { as: 'nurse' })).status).toBe(204);
    const ended = await service.call('GET', 'Patient', { as: 'nurse' });
    expect(ended.status).toBe(401);
    expect(ended.headers.get('www-authenticate')).toBe('Bearer error="invalid_token"');
    expect((await service.call('POST', `${path}/revoke-sessions`)).status).toBe(204);
    expect((await service.call('POST', path.replace(/[^/]+$/, 'none/revoke-sessions'))).status).toBe(404);
  });
});

test('the challenges of a 401 are those of RFC 6750', async () => {
  const { call } = await openService();
  expect((await call('GET', 'Patient', { as: null })).headers.get('www-authenticate')).toBe('Bearer');
  const unknown = await call('GET', 'Patient', { headers: { authorization: 'Basic YTpi' } });
  expect(unknown.headers.get('www-authenticate')).toBe('Bearer error="invalid_token"');
});

test('a person asks who saw a record, and sees the events of the own project', async () => {
  const store = new MemoryStore();
  const log = createAuditLog({ store });
  const service = await openService({ store, audit: log.audit });
  const id = idOf(await service.call('POST', 'Patient', { body: patient() }));
  await service.call('GET', `Patient/${id}`, { as: 'nurse' });
  await log.flush();
  const answer = await service.call('GET', `/admin/audit-log?patient=Patient/${id}&_count=1`);
  const { entry = [], link } = answer.body as Bundle;
  expect([answer.status, entry.map(({ resource }) => resource?.resourceType)]).toEqual([200, ['AuditEvent']]);
  expect(entry[0]).not.toHaveProperty('fullUrl');
  const next = link!.find(({ relation }) => relation === 'next')!.url;
  expect(next).toContain('https://clinic.example/admin/audit-log?');
  expect((await service.call('GET', next)).status).toBe(200);
  expect(
    (await service.call('GET', `/admin/audit-log?patient=Patient/${id}`, { as: 'nurse' })).body,
  ).not.toHaveProperty('entry');
  expect((await service.call('GET', '/admin/audit-log?colour=red')).status).toBe(400);
  await log.close();
});

describe('the service itself', () => {
  test('/auth/me is who asks, in the shape of Medplum', async () => {
    const { call, project } = await openService();
    const { status, body } = await call('GET', '/auth/me', { as: 'nurse' });
    expect([status, body]).toMatchObject([
      200,
      {
        user: { resourceType: 'User', email: 'ned@example.org' },
        project: { resourceType: 'Project', id: project },
        membership: { resourceType: 'ProjectMembership' },
        profile: { resourceType: 'Practitioner' },
        config: { resourceType: 'UserConfiguration' },
      },
    ]);
    expect((await call('GET', '/auth/me', { as: null })).status).toBe(401);
  });

  test('.well-known/smart-configuration is what the host gives, without a token', async () => {
    const smartConfiguration = { token_endpoint: 'https://login.example/token', capabilities: ['launch-standalone'] };
    const { call } = await openService({ smartConfiguration });
    const answer = await call('GET', '.well-known/smart-configuration', { as: null });
    expect([answer.status, answer.body]).toEqual([200, smartConfiguration]);
    expect((await (await openService()).call('GET', '.well-known/smart-configuration')).status).toBe(404);
    await expect(openService({ smartConfiguration: { token_endpoint: 'x', capabilities: [] } })).rejects.toMatchObject({
      code: 'invalid',
    });
  });

  test('/healthcheck says whether the store answers', async () => {
    const store = new MemoryStore();
    let isDown = false;
    const watched = storeWith(store, {
      read: (...call) => (isDown ? Promise.reject(new Error('down')) : store.read(...call)),
    });
    const { call, errors } = await openService({ store: watched, healthcheck: true });
    expect((await call('GET', '/healthcheck', { as: null })).body).toEqual({ ok: true });
    isDown = true;
    expect((await call('GET', '/healthcheck', { as: null })).status).toBe(503);
    expect(errors).toHaveLength(1);
    expect((await (await openService()).call('GET', '/healthcheck')).status).toBe(404);
  });
});

describe('a visit', () => {
  async function withVisit(): Promise<Service> {
    const service = await openService();
    const put = (resource: { resourceType: string; id: string }): Promise<Answer> =>
      service.call('PUT', `${resource.resourceType}/${resource.id}`, { body: resource });
    const subject = { reference: 'Patient/ann' };
    const encounter = { reference: 'Encounter/visit' };
    const code = { text: 'x' };
    for (const one of [
      patient({ id: 'ann' }),
      { resourceType: 'Encounter', id: 'visit', status: 'finished', class: { code: 'AMB' }, subject },
      { resourceType: 'Observation', id: 'within', status: 'final', code, subject, encounter },
      { resourceType: 'Observation', id: 'before', status: 'final', code, subject },
      { resourceType: 'Condition', id: 'found', code, subject, encounter },
    ]) {
      expect((await put(one as never)).status).toBe(201);
    }
    return service;
  }
  const namesOf = ({ body }: Answer): unknown[] =>
    ((body as Bundle).entry ?? []).map(({ resource }) => `${resource!.resourceType}/${resource!.id}`).sort();

  test('Encounter/$everything has what belongs to it, and whom it is about', async () => {
    const { call } = await withVisit();
    const whole = ['Condition/found', 'Encounter/visit', 'Observation/within', 'Patient/ann'];
    for (const method of ['GET', 'POST'])
      expect(namesOf(await call(method, 'Encounter/visit/$everything'))).toEqual(whole);
    const body = { resourceType: 'Parameters', parameter: [{ name: '_type', valueCode: 'Observation' }] };
    expect(namesOf(await call('POST', 'Encounter/visit/$everything', { body }))).toEqual(['Observation/within']);
    expect((await call('GET', 'Encounter/none/$everything')).status).toBe(404);
  });

  test('a compartment is searched by type', async () => {
    const { call } = await withVisit();
    expect(namesOf(await call('GET', 'Patient/ann/Observation'))).toEqual(['Observation/before', 'Observation/within']);
    expect(namesOf(await call('GET', 'Patient/ann/Observation?encounter=Encounter/visit'))).toEqual([
      'Observation/within',
    ]);
    expect(namesOf(await call('GET', 'Patient/none/Observation'))).toEqual([]);
    expect(namesOf(await call('GET', 'Encounter/visit/Condition'))).toEqual(['Condition/found']);
    expect((await call('GET', 'Patient/ann/Organization')).status).toBe(404);
    expect((await call('GET', 'Patient/ann/Observation?colour=red')).status).toBe(400);
  });

  test('several types are searched page by page, each resource once', async () => {
    const { call } = await withVisit();
    const whole = ['Condition/found', 'Observation/before', 'Observation/within', 'Patient/ann'];
    const query = '?_type=Observation,Patient,Condition&_lastUpdated=ge2000';
    expect(namesOf(await call('GET', query))).toEqual(whole);
    expect(
      namesOf(
        await call('POST', '_search', {
          body: query.slice(1),
          headers: { 'content-type': 'application/x-www-form-urlencoded' },
        }),
      ),
    ).toEqual(whole);
    for (const count of [1, 2, 3]) {
      const seen: unknown[] = [];
      for (let url: string | undefined = `${query}&_count=${count}`; url !== undefined;) {
        const answer = await call('GET', url);
        seen.push(...namesOf(answer));
        url = (answer.body as Bundle).link?.find(({ relation }) => relation === 'next')?.url;
      }
      expect([count, seen.sort()]).toEqual([count, whole]);
    }
    expect((await call('GET', `${query}&_summary=count`)).body).toMatchObject({ total: 4 });
    expect((await call('GET', `${query}&_total=accurate&_count=1`)).body).toMatchObject({ total: 4, entry: [{}] });
    for (const bad of [
      '',
      '?_type=Nothing',
      '?_type=Patient&colour=red',
      '?_type=Patient&_offset=1',
      '?_type=Patient&_cursor=x',
    ]) {
      expect([bad, (await call('GET', bad)).status]).toEqual([bad, 400]);
    }
  });

  test('PATCH inside Bundles changes what is there, all or nothing', async () => {
    const { call } = await withVisit();
    const patchOf = (url: string, operations: unknown, more = {}): object => ({
      request: { method: 'PATCH', url, ...more },
      resource: {
        resourceType: 'Binary',
        contentType: 'application/json-patch+json',
        data: btoa(JSON.stringify(operations)),
      },
    });
    const send = (type: string, ...entry: object[]): Promise<Answer> =>
      call('POST', '', { body: { resourceType: 'Bundle', type, entry } });
    const read = async (): Promise<Patient> => (await call('GET', 'Patient/ann')).body as Patient;
    const born = [{ op: 'add', path: '/birthDate', value: '1990-01-01' }];
    const done = await send('transaction', patchOf('Patient/ann', born));
    expect((done.body as Bundle).entry?.[0]?.response).toMatchObject({ status: '200 OK', etag: 'W/"2"' });
    expect(await read()).toMatchObject({ birthDate: '1990-01-01', gender: 'female' });
    const failing = await send(
      'transaction',
      patchOf('Patient/ann', [{ op: 'replace', path: '/gender', value: 'male' }]),
      patchOf('Patient/none', born),
    );
    expect([failing.status, failing.text]).toEqual([404, expect.stringContaining('Bundle.entry[1]')]);
    expect(await read()).toMatchObject({ gender: 'female' });
    const batch = await send(
      'batch',
      patchOf('Patient?birthdate=1990-01-01', [{ op: 'remove', path: '/birthDate' }]),
      patchOf('Patient/ann', [{ op: 'test', path: '/gender', value: 'male' }]),
    );
    expect((batch.body as Bundle).entry?.map(({ response }) => response?.status)).toEqual([
      '200 OK',
      '422 Unprocessable Entity',
    ]);
    expect(await read()).not.toHaveProperty('birthDate');
    expect((await send('transaction', patchOf('Patient/ann', born, { ifMatch: 'W/"1"' }))).status).toBe(412);
    const bare = await send('transaction', { request: { method: 'PATCH', url: 'Patient/ann' }, resource: patient() });
    expect([bare.status, outcomeText(bare)]).toEqual([400, expect.stringContaining('application/json-patch+json')]);
  });

  test('$validate of a stored resource by GET', async () => {
    const { call } = await withVisit();
    expect((await call('GET', 'Patient/ann/$validate')).text).toContain('The resource is valid');
    expect((await call('GET', 'Patient/none/$validate')).status).toBe(404);
  });
});

describe('terminology', () => {
  const colours: CodeSystem = {
    resourceType: 'CodeSystem',
    id: 'colours',
    url: 'urn:colours',
    status: 'active',
    content: 'complete',
    concept: [
      { code: 'red', display: 'Red', concept: [{ code: 'pink', display: 'Light red' }] },
      { code: 'blue', display: 'Blue' },
    ],
  };
  const all: ValueSet = {
    resourceType: 'ValueSet',
    id: 'all',
    url: 'urn:all',
    status: 'active',
    compose: { include: [{ system: 'urn:colours' }] },
  };

  async function withColours(): Promise<Service> {
    const service = await openService({ terminology: projectTerminology() });
    for (const one of [colours, all]) await service.trusted.update(one as never);
    return service;
  }
  const valuesOf = ({ body }: Answer): { [name: string]: unknown } =>
    Object.fromEntries(
      ((body as Parameters).parameter ?? []).map(({ name, ...value }) => [name, Object.values(value)[0]]),
    );
  const codesOf = ({ body }: Answer): unknown => (body as ValueSet).expansion?.contains?.map(({ code }) => code);

  test('$expand has filter, count and offset, by GET and POST, of a type and an instance', async () => {
    const { call } = await withColours();
    for (const url of ['ValueSet/$expand?url=urn:all', 'ValueSet/all/$expand']) {
      const answer = await call('GET', url);
      expect([codesOf(answer), (answer.body as ValueSet).expansion?.total]).toEqual([['red', 'blue', 'pink'], 3]);
    }
    const body = {
      resourceType: 'Parameters',
      parameter: [
        { name: 'url', valueUri: 'urn:all' },
        { name: 'filter', valueString: 'red' },
        { name: 'offset', valueInteger: 1 },
        { name: 'count', valueInteger: 1 },
      ],
    };
    const posted = await call('POST', 'ValueSet/$expand', { body });
    expect([codesOf(posted), (posted.body as ValueSet).expansion]).toMatchObject([['pink'], { total: 2, offset: 1 }]);
  });

  test('$lookup, $validate-code and $subsumes', async () => {
    const { call } = await withColours();
    expect(valuesOf(await call('GET', 'CodeSystem/$lookup?system=urn:colours&code=pink'))).toEqual({
      name: 'urn:colours',
      display: 'Light red',
    });
    expect((await call('GET', 'CodeSystem/$lookup?system=urn:colours&code=green')).status).toBe(404);
    const coding = {
      resourceType: 'Parameters',
      parameter: [{ name: 'coding', valueCoding: { system: 'urn:colours', code: 'blue' } }],
    };
    expect(valuesOf(await call('POST', 'CodeSystem/$lookup', { body: coding }))).toMatchObject({ display: 'Blue' });
    for (const [url, result] of [
      ['ValueSet/$validate-code?url=urn:all&code=red', true],
      ['ValueSet/all/$validate-code?system=urn:colours&code=red&display=red', true],
      ['ValueSet/all/$validate-code?code=red&display=Blue', false],
      ['ValueSet/all/$validate-code?system=urn:other&code=red', false],
      ['CodeSystem/$validate-code?url=urn:colours&code=blue', true],
      ['CodeSystem/colours/$validate-code?code=green', false],
    ] as const) {
      expect([url, valuesOf(await call('GET', url))]).toMatchObject([url, { result }]);
    }
    for (const [codes, outcome] of [
      ['codeA=red&codeB=pink', 'subsumes'],
      ['codeA=pink&codeB=red', 'subsumed-by'],
      ['codeA=blue&codeB=blue', 'equivalent'],
      ['codeA=blue&codeB=red', 'not-subsumed'],
    ]) {
      expect(valuesOf(await call('GET', `CodeSystem/$subsumes?system=urn:colours&${codes}`))).toEqual({ outcome });
      expect(valuesOf(await call('POST', `CodeSystem/colours/$subsumes?${codes}`))).toEqual({ outcome });
    }
  });

  test('what is missing, unknown or hidden is a located 4xx', async () => {
    const { call } = await withColours();
    for (const [url, status] of [
      ['ValueSet/$expand', 400],
      ['ValueSet/$expand?url=urn:nothing', 400],
      ['ValueSet/all/$expand?count=x', 400],
      ['ValueSet/none/$expand', 404],
      ['ValueSet/all/$expand?colour=red', 400],
      ['ValueSet/all/$expand?count=1&count=2', 400],
      ['CodeSystem/$lookup?code=red', 400],
    ] as const) {
      expect([url, (await call('GET', url)).status]).toEqual([url, status]);
    }
    expect((await call('GET', 'ValueSet/all/$expand', { as: 'nurse' })).status).toBe(404);
    expect((await call('GET', 'ValueSet/$expand?url=urn:all', { as: 'nurse' })).status).toBe(400);
    expect((await (await openService()).call('GET', 'ValueSet/$expand?url=urn:all')).status).toBe(400);
  });
});
