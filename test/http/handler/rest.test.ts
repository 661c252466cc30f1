import type { Bundle, OperationOutcome, Patient } from '@medplum/fhirtypes';
import { beforeAll, describe, expect, test } from 'vitest';
import { BASE, idOf, openService, outcomeText, patient, type Service } from './open-service.js';

let service: Service;
let call: Service['call'];
beforeAll(async () => {
  service = await openService();
  call = service.call;
});

const SLOT = {
  ...{ resourceType: 'Slot', status: 'free', schedule: { reference: 'Schedule/x' } },
  ...{ start: '2030-01-01T10:00:00Z', end: '2030-01-01T10:15:00Z' },
};

describe('reading', () => {
  test('a version that the client has is 304', async () => {
    const made = await call('POST', 'Patient', { body: patient() });
    const path = `Patient/${idOf(made)}`;
    const read = await call('GET', path);
    expect([read.status, read.headers.get('etag')]).toEqual([200, 'W/"1"']);
    const modified = read.headers.get('last-modified')!;
    const status = async (headers: { [name: string]: string }, at = path): Promise<[number, string]> => {
      const answer = await call('GET', at, { headers });
      return [answer.status, answer.text === '' ? '' : 'body'];
    };
    for (const tag of ['W/"1"', '"1"', 'W/"7", W/"1"', '*']) {
      expect([tag, await status({ 'if-none-match': tag })]).toEqual([tag, [304, '']]);
      expect([tag, await status({ 'if-none-match': tag }, `${path}/_history/1`)]).toEqual([tag, [304, '']]);
    }
    expect(await status({ 'if-none-match': 'W/"2"' })).toEqual([200, 'body']);
    expect(await status({ 'if-modified-since': modified })).toEqual([304, '']);
    expect(await status({ 'if-modified-since': 'Tue, 01 Jan 1980 00:00:00 GMT' })).toEqual([200, 'body']);
    expect(await status({ 'if-modified-since': 'yesterday' })).toEqual([200, 'body']);
    // An entity tag that is given decides alone.
    expect(await status({ 'if-none-match': 'W/"2"', 'if-modified-since': modified })).toEqual([200, 'body']);
    expect((await call('GET', path, { headers: { 'if-none-match': 'W/"1"' } })).headers.get('etag')).toBe('W/"1"');
  });

  test('returns versions and their pages', async () => {
    const first = await call('POST', 'Patient', { body: patient() });
    const id = idOf(first);
    for (const gender of ['male', 'other'] as const)
      await call('PUT', `Patient/${id}`, { body: patient({ id, gender }) });
    const second = await call('GET', `Patient/${id}/_history/2`);
    expect([second.status, (second.body as Patient).gender]).toEqual([200, 'male']);
    const page = (await call('GET', `Patient/${id}/_history?_count=2`)).body as Bundle;
    expect(page.entry?.map(({ response }) => response?.etag)).toEqual(['W/"3"', 'W/"2"']);
    expect(page.link).toContainEqual({ relation: 'next', url: expect.stringMatching(/_history\?_count=2&_cursor=./) });
    const next = (await call('GET', `${page.link!.find(({ relation }) => relation === 'next')!.url}`)).body as Bundle;
    expect(next.entry?.map(({ response }) => response?.etag)).toEqual(['W/"1"']);
    expect((await call('GET', `Patient/${id}/_history?_count=2000`)).status).toBe(422);
    const all = ((await call('GET', `Patient/${id}/_history`)).body as Bundle).entry!;
    const since = (second.body as Patient).meta!.lastUpdated!;
    const recent = (await call('GET', `Patient/${id}/_history?_since=${since}&_count=1`)).body as Bundle;
    expect([recent.total, recent.entry]).toEqual([2, all.slice(0, 1)]);
    const older = (await call('GET', recent.link!.find(({ relation }) => relation === 'next')!.url)).body as Bundle;
    expect(older.entry).toEqual(all.slice(1, 2));
    expect((await call('GET', `Patient/${id}/_history?_at=1999`)).body).toMatchObject({ type: 'history', total: 0 });
    for (const query of ['_since=x', '_at=yesterday', '_at=2020&_at=2021', '_list=x', '_cursor=x']) {
      expect([query, (await call('GET', `Patient/${id}/_history?${query}`)).status]).toEqual([query, 400]);
    }
    expect((await call('GET', `Patient/${id}/_history?name=x`)).status).toBe(400);
    await call('DELETE', `Patient/${id}`);
    expect((await call('GET', `Patient/${id}`)).status).toBe(410);
    const deleted = (await call('GET', `Patient/${id}/_history`)).body as Bundle;
    expect(deleted.entry?.map(({ request }) => request?.method)).toEqual(['DELETE', 'PUT', 'PUT', 'POST']);
    expect((await call('GET', 'Patient/none/_history')).status).toBe(404);
    expect((await call('GET', 'Patient/none/_history?_since=2020')).status).toBe(404);
  });

  test('returns versions of all resources of a type, page by page', async () => {
    const ids: string[] = [];
    for (const display of ['1', '2', '3']) {
      ids.unshift(idOf(await call('POST', 'Slot', { body: { ...SLOT, comment: display } })));
    }
    await call('DELETE', `Slot/${ids[1]}`);
    const page = await call('GET', 'Slot/_history?_count=2&_format=json');
    const { entry, link, total, type } = page.body as Bundle;
    expect([page.status, type, total, entry?.length]).toEqual([200, 'history', undefined, 2]);
    const next = link!.find(({ relation }) => relation === 'next')!.url;
    expect(next).toMatch(/^https:\/\/clinic\.example\/fhir\/R4\/Slot\/_history\?_count=2&_cursor=[\w-]+\.[\w-]+$/);
    const rest = (await call('GET', next)).body as Bundle;
    const told = [...entry!, ...rest.entry!].map(({ fullUrl, request, response }) => [
      fullUrl?.split('/').pop(),
      request?.method,
      response?.etag,
    ]);
    expect(told.toSorted()).toEqual(
      [...ids.map((id) => [id, 'POST', 'W/"1"']), [ids[1], 'DELETE', 'W/"2"']].toSorted(),
    );
    expect(rest.link?.map(({ relation }) => relation)).toEqual(['self']);
    const since = encodeURIComponent(entry![0]!.response!.lastModified!);
    expect(((await call('GET', `Slot/_history?_since=${since}`)).body as Bundle).entry?.[0]).toEqual(entry![0]);
    expect(await call('GET', 'Slot/_history?_since=2999')).toMatchObject({ status: 200, body: { type: 'history' } });
    for (const query of [
      '_offset=2',
      '_count=x',
      '_since=x',
      '_since=2020&_since=2021',
      '_cursor=x',
      '_sort=x',
      '_at=2020',
      'a=b',
    ]) {
      expect([query, (await call('GET', `Slot/_history?${query}`)).status]).toEqual([query, 400]);
    }
    expect((await call('GET', 'Slot/_history?_count=1001')).status).toBe(422);
    expect((await call('GET', 'Nothing/_history')).status).toBe(404);
    expect((await call('POST', 'Slot/_history', { body: {} })).headers.get('allow')).toBe('GET, HEAD, OPTIONS');
  });

  test('searches by GET and by form are equal', async () => {
    await call('PUT', 'Patient/s1', { body: patient({ id: 's1', name: [{ family: 'Suchmann' }] }) });
    const got = await call('GET', 'Patient?family=suchmann&_total=accurate');
    const form = { 'content-type': 'application/x-www-form-urlencoded' };
    const posted = await call('POST', 'Patient/_search?_total=accurate', { body: 'family=suchmann', headers: form });
    expect((got.body as Bundle).entry?.map(({ fullUrl }) => fullUrl)).toEqual([`${BASE}/Patient/s1`]);
    expect([posted.status, (posted.body as Bundle).entry]).toEqual([200, (got.body as Bundle).entry]);
    expect((await call('POST', 'Patient/_search', { body: {} })).status).toBe(415);
    expect((await call('GET', 'Patient?nothing=1')).status).toBe(400);
    const long = { body: 'family=a&'.repeat(20_000), headers: form };
    expect((await call('POST', 'Patient/_search', long)).status).toBe(422);
  });
});

describe('writing', () => {
  test('creates under a new id, and returns its location', async () => {
    const made = await call('POST', 'Patient', { body: patient({ id: 'mine' }) });
    const { id } = made.body as Patient;
    expect(id).not.toBe('mine');
    expect([made.status, made.headers.get('location'), made.headers.get('etag')]).toEqual([
      201,
      `${BASE}/Patient/${id}/_history/1`,
      'W/"1"',
    ]);
  });

  test('Prefer selects the content of the answer', async () => {
    const prefer = (value: string): { headers: { prefer: string } } => ({ headers: { prefer: value } });
    const minimal = await call('POST', 'Patient', { body: patient(), ...prefer('return=minimal') });
    expect([minimal.status, minimal.text, minimal.headers.get('etag')]).toEqual([201, '', 'W/"1"']);
    expect(minimal.headers.get('location')).toContain(`${BASE}/Patient/`);
    const outcome = await call('PUT', 'Patient/pref', {
      body: patient({ id: 'pref' }),
      ...prefer('return=OperationOutcome'),
    });
    expect([outcome.status, outcome.body]).toEqual([
      201,
      {
        resourceType: 'OperationOutcome',
        issue: [{ severity: 'information', code: 'informational', details: { text: 'Patient created' } }],
      },
    ]);
    const whole = await call('PUT', 'Patient/pref', {
      body: patient({ id: 'pref', gender: 'male' }),
      ...prefer('respond-async, return="representation"'),
    });
    expect([whole.status, (whole.body as Patient).gender]).toEqual([200, 'male']);
    expect(whole.headers.get('location')).toBeNull();
  });

  test('If-None-Exist creates once', async () => {
    const body = patient({ identifier: [{ system: 'urn:x', value: 'once' }] });
    const headers = { 'if-none-exist': 'identifier=urn:x|once' };
    const answers = await Promise.all(Array.from({ length: 5 }, () => call('POST', 'Patient', { body, headers })));
    expect(answers.map(({ status }) => status).sort()).toEqual([200, 200, 200, 200, 201]);
    expect(new Set(answers.map(idOf)).size).toBe(1);
    expect(new Set(answers.map((one) => one.headers.get('location'))).size).toBe(1);
    expect((await call('POST', 'Patient', { body, headers: { 'if-none-exist': '' } })).status).toBe(400);
    await call('POST', 'Patient', { body });
    expect((await call('POST', 'Patient', { body, headers })).status).toBe(412);
  });

  test('respects If-Match and If-None-Match of an update', async () => {
    const body = patient({ id: 'match' });
    const put = async (headers: { [name: string]: string }): Promise<number> =>
      (await call('PUT', 'Patient/match', { body, headers })).status;
    expect(await put({ 'if-none-match': '*' })).toBe(201);
    expect(await put({ 'if-none-match': '*' })).toBe(412);
    expect(await put({ 'if-match': 'W/"1"' })).toBe(200);
    expect(await put({ 'if-match': 'W/"1"' })).toBe(412);
    expect(await put({ 'if-match': 'W/"1", W/"2"' })).toBe(400);
    expect(await put({ 'if-match': 'W/"2"', 'if-none-match': '*' })).toBe(400);
    expect(await put({ 'if-none-match': 'W/"2"' })).toBe(400);
    const patch = [{ op: 'add', path: '/active', value: true }];
    const stale = { 'if-match': 'W/"1"', 'content-type': 'application/json-patch+json' };
    expect((await call('PATCH', 'Patient/match', { body: patch, headers: stale })).status).toBe(412);
    expect((await call('DELETE', 'Patient/match', { headers: { 'if-match': 'W/"1"' } })).status).toBe(412);
    expect((await call('DELETE', 'Patient/match', { headers: { 'if-match': 'W/"2"' } })).status).toBe(204);
    expect((await call('DELETE', 'Patient/match')).status).toBe(204);
  });

  test('the resource must fit the URL', async () => {
    const texts = async (method: string, path: string, body: unknown): Promise<[number, string | undefined]> => {
      const answer = await call(method, path, { body });
      return [answer.status, outcomeText(answer)];
    };
    expect(await texts('POST', 'Patient', { resourceType: 'Observation' })).toEqual([
      400,
      'The body must be a Patient, as the URL says',
    ]);
    expect(await texts('PUT', 'Patient/1', patient({ id: '2' }))).toEqual([
      400,
      'The Patient of the body must have the id of the URL',
    ]);
    expect((await texts('PUT', 'Patient/1', patient()))[0]).toBe(400);
    expect(await texts('POST', 'Patient', [])).toEqual([400, 'The body must be a JSON object']);
  });

  test('conditional updates create, update or refuse', async () => {
    const query = 'Patient?identifier=urn:y|1';
    const body = patient({ identifier: [{ system: 'urn:y', value: '1' }] });
    const raced = await Promise.all(Array.from({ length: 4 }, () => call('PUT', query, { body })));
    expect(raced.map(({ status }) => status).sort()).toEqual([200, 200, 200, 201]);
    const id = idOf(raced[0]!);
    expect(new Set(raced.map(idOf))).toEqual(new Set([id]));
    const changed = await call('PUT', query, { body: { ...body, id, gender: 'male' } });
    expect([changed.status, (changed.body as Patient).gender]).toEqual([200, 'male']);
    expect(outcomeText(await call('PUT', query, { body: { ...body, id: 'other' } }))).toBe(
      'The Patient that matches the condition has another id than the resource',
    );
    expect((await call('PUT', query, { body, headers: { 'if-match': 'W/"1"' } })).status).toBe(412);
    const chosen = await call('PUT', 'Patient?identifier=urn:y|2', { body: patient({ id: 'chosen' }) });
    expect([chosen.status, idOf(chosen)]).toEqual([201, 'chosen']);
    // The id is that of a resource which the condition does not find.
    expect((await call('PUT', 'Patient?identifier=urn:y|2', { body: patient({ id: 'chosen' }) })).status).toBe(412);
    await call('POST', 'Patient', { body });
    expect(outcomeText(await call('PUT', query, { body }))).toBe(
      'Several Patient resources match the condition; it must match at most one',
    );
    expect((await call('PUT', 'Patient', { body })).status).toBe(400);
    expect((await call('PUT', 'Patient?_format=json', { body })).status).toBe(400);
  });

  test('patches and deletes conditionally', async () => {
    const query = 'Patient?identifier=urn:z|1';
    const patch = [{ op: 'replace', path: '/gender', value: 'other' }];
    const headers = { 'content-type': 'application/json-patch+json' };
    expect((await call('PATCH', query, { body: patch, headers })).status).toBe(404);
    expect((await call('DELETE', query)).status).toBe(204);
    const body = patient({ identifier: [{ system: 'urn:z', value: '1' }] });
    const made = await call('POST', 'Patient', { body });
    const patched = await call('PATCH', query, { body: patch, headers });
    expect([patched.status, idOf(patched), (patched.body as Patient).gender]).toEqual([200, idOf(made), 'other']);
    const second = await call('POST', 'Patient', { body });
    expect([
      (await call('PATCH', query, { body: patch, headers })).status,
      (await call('DELETE', query)).status,
    ]).toEqual([412, 412]);
    await call('DELETE', `Patient/${idOf(second)}`);
    expect((await call('DELETE', query)).status).toBe(204);
    expect((await call('GET', `Patient/${idOf(made)}`)).status).toBe(410);
    expect((await call('DELETE', 'Patient')).status).toBe(400);
  });

  test('accepts transactions and batches', async () => {
    const urn = 'urn:uuid:6ba7b810-9dad-41d1-80b4-00c04fd430c8';
    const bundle = (type: string, subject: string): object => ({
      resourceType: 'Bundle',
      type,
      entry: [
        { fullUrl: urn, resource: patient(), request: { method: 'POST', url: 'Patient' } },
        {
          resource: {
            resourceType: 'Observation',
            status: 'final',
            code: { text: 'x' },
            subject: { reference: subject },
          },
          request: { method: 'POST', url: 'Observation' },
        },
        { request: { method: 'GET', url: 'Patient/none' } },
      ],
    });
    expect((await call('POST', '', { body: bundle('transaction', urn) })).status).toBe(404);
    const batch = await call('POST', '/fhir/R4/', { body: bundle('batch', urn) });
    expect([batch.status, (batch.body as Bundle).entry?.map(({ response }) => response?.status)]).toEqual([
      200,
      ['201 Created', '201 Created', '404 Not Found'],
    ]);
    expect((await call('POST', '', { body: { resourceType: 'Bundle', type: 'searchset' } })).status).toBe(400);
  });
});

test('the entries of a response have the written resources if Prefer asks for them', async () => {
  const entry = [
    { resource: patient({ birthDate: '1980-01-01' }), request: { method: 'POST', url: 'Patient' } },
    { resource: patient({ id: 'whole', gender: 'male' }), request: { method: 'PUT', url: 'Patient/whole' } },
    { request: { method: 'DELETE', url: 'Patient?identifier=urn:none|1' } },
  ];
  for (const type of ['transaction', 'batch']) {
    const ask = async (prefer: string): Promise<unknown[]> => {
      const body = { resourceType: 'Bundle', type, entry };
      const answer = await call('POST', '', { body, headers: { prefer } });
      return (answer.body as Bundle).entry!.map(({ resource }) => resource);
    };
    const [created, updated, deleted] = await ask('return=representation');
    expect(created).toMatchObject({ birthDate: '1980-01-01', meta: { versionId: '1' } });
    expect([updated, deleted]).toMatchObject([{ id: 'whole', gender: 'male' }, undefined]);
    expect(await ask('return=minimal')).toEqual([undefined, undefined, undefined]);
    expect(await ask('respond-async')).toEqual([undefined, undefined, undefined]);
  }
  // As the caller sees it: the nurse does not see birth dates.
  const body = { resourceType: 'Bundle', type: 'batch', entry: [{ resource: patient(), request: entry[0]!.request }] };
  const made = await call('POST', '', { body, headers: { prefer: 'return=representation' }, as: 'nurse' });
  expect((made.body as Bundle).entry![0]).toMatchObject({
    resource: { gender: 'female' },
    response: { status: '201 Created' },
  });
});

describe('bodies', () => {
  const put = (body: unknown, headers: { [name: string]: string } = {}): ReturnType<Service['call']> =>
    call('POST', 'Patient', { body, headers });

  test('need a media type that forms of other origins cannot send', async () => {
    for (const type of [
      'text/plain',
      'application/x-www-form-urlencoded',
      'multipart/form-data',
      'application/fhir+xml',
    ]) {
      const answer = await put(JSON.stringify(patient()), { 'content-type': type });
      expect([type, answer.status]).toEqual([type, 415]);
    }
    const { handler } = service;
    const body = new Blob([JSON.stringify(patient())]);
    const headers = { authorization: 'Bearer admin' };
    expect((await handler(new Request(`${BASE}/Patient`, { method: 'POST', headers, body }))).status).toBe(415);
    const gzip = { 'content-encoding': 'gzip' };
    expect((await put('x', gzip)).status).toBe(415);
  });

  test('that are not JSON or not UTF-8 are 400 and not quoted', async () => {
    const answer = await put('{"name": hunter2}');
    expect([answer.status, answer.text.includes('hunter2')]).toEqual([400, false]);
    expect((await put('')).status).toBe(400);
    expect((await put(`${'['.repeat(10_000)}`)).status).toBe(400);
    const { handler } = service;
    const headers = { authorization: 'Bearer admin', 'content-type': 'application/fhir+json' };
    const body = new Uint8Array([0x22, 0xff, 0x22]);
    expect((await handler(new Request(`${BASE}/Patient`, { method: 'POST', headers, body }))).status).toBe(400);
  });

  test('are read up to the limit, whatever length they declare', async () => {
    const small = await openService({ maxBodyBytes: 1000 });
    let chunks = 0;
    const endless = new ReadableStream({
      pull(controller) {
        chunks += 1;
        controller.enqueue(new TextEncoder().encode(' '.repeat(100)));
      },
    });
    const answer = await small.call('POST', 'Patient', { body: endless });
    expect([answer.status, chunks < 15]).toEqual([413, true]);
    expect((await small.call('POST', 'Patient', { body: ' '.repeat(1001) })).status).toBe(413);
    // Strangers get no byte read.
    chunks = 0;
    const unread = new ReadableStream({ pull: () => void (chunks += 1) }, { highWaterMark: 0 });
    expect((await small.call('POST', 'Patient', { body: unread, as: null })).status).toBe(401);
    expect(chunks).toBe(0);
  });

  test('that end too early are aborted, and not an error of the service', async () => {
    const broken = new ReadableStream({ pull: (controller) => controller.error(new Error('reset')) });
    expect((await put(broken)).status).toBe(503);
    expect(service.errors).toEqual([]);
  });
});

describe('$validate', () => {
  const validate = async (path: string, body: unknown): Promise<[number, unknown]> => {
    const answer = await call('POST', path, { body });
    return [
      answer.status,
      (answer.body as OperationOutcome).issue.map(({ severity, expression }) => [severity, expression]),
    ];
  };

  test('reports the findings with status 200', async () => {
    expect(await validate('Patient/$validate', patient())).toEqual([200, [['information', undefined]]]);
    const wrong = patient({ gender: 'x' as never });
    expect(await validate('Patient/$validate', wrong)).toEqual([200, [['error', ['Patient.gender']]]]);
    const parameters = (...more: object[]): object => ({
      resourceType: 'Parameters',
      parameter: [{ name: 'resource', resource: wrong }, ...more],
    });
    expect(await validate('Patient/1/$validate', parameters())).toEqual([200, [['error', ['Patient.gender']]]]);
    expect((await validate('Patient/$validate', parameters({ name: 'mode', valueCode: 'create' })))[0]).toBe(200);
    expect((await validate('Patient/$validate', parameters({ name: 'mode', valueCode: 'delete' })))[0]).toBe(400);
    expect(await validate('Patient/$validate', parameters({ name: 'profile', valueUri: 'urn:x' }))).toEqual([
      200,
      [
        ['error', ['Patient.gender']],
        ['error', ['Patient']],
      ],
    ]);
    expect((await validate('Patient/$validate', { resourceType: 'Parameters' }))[0]).toBe(400);
    expect((await validate('Observation/$validate', patient()))[0]).toBe(400);
  });
});

describe('requests that foreign pages can make a browser send', () => {
  const SIMPLE = ['text/plain', 'application/x-www-form-urlencoded', 'multipart/form-data', undefined];
  const WRITES = ['Patient', 'Project', '', '$graphql', `/admin/projects/x/invite`, `/admin/projects/x/members/y`];

  test.each(WRITES)('change nothing: POST %s', async (path) => {
    const url = path.startsWith('/') ? `https://clinic.example${path}` : `${BASE}/${path}`;
    for (const type of SIMPLE) {
      const headers = { authorization: 'Bearer admin', ...(type === undefined ? {} : { 'content-type': type }) };
      const body = new TextEncoder().encode(
        JSON.stringify({ ...patient(), query: 'mutation { PatientDelete(id: "1") { id } }' }),
      );
      const { status } = await service.handler(new Request(url, { method: 'POST', headers, body }));
      expect([type, status]).toEqual([type, 415]);
    }
  });

  test('change nothing: GET of a mutation', async () => {
    const mutation = 'mutation { PatientCreate(res: { gender: "female" }) { id } }';
    expect((await call('GET', `$graphql?${new URLSearchParams({ query: mutation })}`)).status).toBe(405);
  });
});

describe('the content of answers', () => {
  test('reads and searches are reduced, and includes are returned with them', async () => {
    await call('PUT', 'Organization/org', { body: { resourceType: 'Organization', id: 'org', name: 'Clinic' } });
    const body = patient({
      id: 'part',
      birthDate: '1980-01-01',
      managingOrganization: { reference: 'Organization/org' },
    });
    await call('PUT', 'Patient/part', { body });
    const names = async (path: string): Promise<string[]> =>
      Object.keys((await call('GET', path)).body as object).sort();
    expect(await names('Patient/part?_elements=gender')).toEqual(['gender', 'id', 'meta', 'resourceType']);
    expect(await names('Patient/part?_summary=text')).toEqual(['id', 'meta', 'resourceType']);
    expect((await call('GET', 'Patient/part?_elements=nothing')).status).toBe(400);
    const found = (await call('GET', 'Patient?_id=part&_include=Patient:organization&_elements=gender')).body as Bundle;
    expect(found.entry?.map(({ fullUrl, search }) => [fullUrl, search?.mode])).toEqual([
      [`${BASE}/Patient/part`, 'match'],
      [`${BASE}/Organization/org`, 'include'],
    ]);
    expect(found.link![0]!.url).toContain('_include=Patient%3Aorganization&_elements=gender');
  });
});

test('decimals keep their text, also in reduced resources', async () => {
  const json = { 'content-type': 'application/fhir+json' };
  const text =
    '{"resourceType":"ChargeItem","id":"c","status":"billable","factorOverride":1.00,"quantity":{"value":2.50}}';
  expect((await call('PUT', 'ChargeItem/c', { body: text, headers: json })).text).toContain('"factorOverride":1.00');
  for (const path of [
    'ChargeItem/c',
    'ChargeItem/c?_elements=factorOverride',
    'ChargeItem?_elements=factorOverride',
    'ChargeItem?_summary=data',
  ]) {
    expect([path, (await call('GET', path)).text]).toEqual([path, expect.stringContaining('"factorOverride":1.00')]);
  }
  expect((await call('GET', 'ChargeItem/c?_elements=quantity')).text).toContain('{"value":2.50}');
});
