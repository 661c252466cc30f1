import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
import { until } from '../support/until.js';
import { HOSTS, openHost, type OpenHost } from './open-host.js';

const JSON_TYPE = { 'content-type': 'application/json' };

describe.each(HOSTS)('%s', (_, start) => {
  let host: OpenHost;
  beforeAll(async () => {
    host = await openHost(start);
  });
  afterAll(() => host.stop());

  const call = async (
    method: string,
    path: string,
    {
      body,
      token = host.administrator,
      headers = {},
    }: { body?: unknown; token?: string | null; headers?: object } = {},
  ): Promise<{ status: number; headers: Headers; body: unknown }> => {
    const response = await fetch(`${host.url}${path}`, {
      method,
      headers: {
        ...(body === undefined ? {} : JSON_TYPE),
        ...(token === null ? {} : { authorization: `Bearer ${token}` }),
        ...headers,
      },
      ...(body === undefined ? {} : { body: typeof body === 'string' ? body : JSON.stringify(body) }),
    });
    const text = await response.text();
    return { status: response.status, headers: response.headers, body: text === '' ? undefined : JSON.parse(text) };
  };
  const graphql = (query: string, more: object = {}): ReturnType<typeof call> =>
    call('POST', '/fhir/R4/$graphql', { body: { query, ...more } });
  const outcome = (text: unknown, code?: string): unknown => ({
    resourceType: 'OperationOutcome',
    issue: [{ severity: 'error', code: code ?? (expect.any(String) as unknown), details: { text } }],
  });

  test('answers GraphQL: by POST, by GET, as text, about an instance', async () => {
    const answer = { data: { PractitionerList: [{ name: [{ family: 'Stone' }] }] } };
    const query = 'query q($family: String) { PractitionerList(family: $family) { name { family } } }';
    const posted = await graphql(query, { variables: { family: 'stone' }, operationName: 'q' });
    expect([posted.status, posted.body]).toEqual([200, answer]);
    expect(posted.headers.get('content-type')).toBe('application/json; charset=utf-8');

    const search = new URLSearchParams({ query, variables: '{"family":"stone"}' });
    expect((await call('GET', `/fhir/R4/$graphql?${search}`)).body).toEqual(answer);
    const asText = await call('POST', '/fhir/R4/$graphql', {
      body: '{ PractitionerList { name { family } } }',
      headers: { 'content-type': 'application/graphql' },
    });
    expect(asText.body).toEqual(answer);
    const [{ id }] = (
      (await graphql('{ PractitionerList { id } }')).body as { data: { PractitionerList: [{ id: string }] } }
    ).data.PractitionerList;
    const about = await call('POST', `/fhir/R4/Practitioner/${id}/$graphql`, {
      body: { query: '{ name { family } }' },
    });
    expect(about.body).toEqual({ data: { name: [{ family: 'Stone' }] } });
  });

  test('negotiates the media type, with a status for each', async () => {
    const newer = { accept: 'application/graphql-response+json, application/json;q=0.9' };
    const wrong = { body: { query: '{ nothing }' } };
    const legacy = await call('POST', '/fhir/R4/$graphql', wrong);
    expect([legacy.status, legacy.headers.get('content-type')]).toEqual([200, 'application/json; charset=utf-8']);
    const modern = await call('POST', '/fhir/R4/$graphql', { ...wrong, headers: newer });
    expect([modern.status, modern.headers.get('content-type')]).toEqual([
      400,
      'application/graphql-response+json; charset=utf-8',
    ]);
    expect(modern.body).toEqual(legacy.body);
    const partial = await call('POST', '/fhir/R4/$graphql', {
      body: { query: '{ Patient(id: "x") { id } }' },
      headers: newer,
    });
    expect([partial.status, (partial.body as { data: unknown }).data]).toEqual([200, { Patient: null }]);
  });

  test('reports the caller', async () => {
    const query = { body: { query: '{ PatientList { id } }' } };
    const nobody = await call('POST', '/fhir/R4/$graphql', { ...query, token: null });
    expect([nobody.status, nobody.body]).toEqual([401, outcome('A bearer token is needed', 'login')]);
    expect(nobody.headers.get('www-authenticate')).toBe('Bearer');
    const user = { sub: 'User/x', project: host.project };
    const expired = await host.tokens.sign(user, '-1s');
    for (const token of ['x', 'a.b.c', expired, `${host.administrator}x`]) {
      const { status, body } = await call('POST', '/fhir/R4/$graphql', { ...query, token });
      expect([status, body]).toEqual([401, outcome('The token is not valid', 'login')]);
    }
    expect((await call('POST', '/fhir/R4/$graphql', { ...query, token: await host.tokens.sign(user) })).status).toBe(
      403,
    );
    const elsewhere = await host.tokens.sign({ ...user, project: 'other' });
    expect((await call('POST', '/fhir/R4/$graphql', { ...query, token: elsewhere })).status).toBe(403);
  });

  test('creates projects, invites, finds and removes members', async () => {
    const project = await call('POST', '/fhir/R4/Project', {
      body: { resourceType: 'Project', name: 'Hillside Clinic' },
      token: host.operator,
    });
    expect([project.status, project.body]).toMatchObject([201, { resourceType: 'Project', name: 'Hillside Clinic' }]);
    expect(project.headers.get('location')).toContain(`${host.url}/admin/projects/`);
    expect((await call('POST', '/fhir/R4/Project', { body: { resourceType: 'Project', name: 'x' } })).status).toBe(403);

    const body = { resourceType: 'Patient', firstName: 'Cleo', lastName: 'Brook', email: 'cleo@example.org' };
    const invited = await call('POST', `/admin/projects/${host.project}/invite`, { body });
    expect([invited.status, invited.body]).toMatchObject([
      200,
      { resourceType: 'ProjectMembership', profile: { display: 'Cleo Brook' } },
    ]);
    expect((await call('POST', `/admin/projects/${host.project}/invite`, { body })).status).toBe(409);
    expect(
      (await call('POST', `/admin/projects/${host.project}/invite`, { body: { ...body, firstName: '' } })).status,
    ).toBe(400);

    const members = async (search: string): Promise<string[]> => {
      const { entry = [] } = (await call('GET', `/fhir/R4/ProjectMembership?${search}`)).body as {
        entry?: { resource: { profile: { display: string } } }[];
      };
      return entry.map(({ resource }) => resource.profile.display);
    };
    expect(await members('profile-type=Patient')).toEqual(['Cleo Brook']);
    expect(await members('profile-type:not=Patient,Bot')).toEqual(['Ada Stone']);

    const { id, profile } = invited.body as { id: string; profile: { reference: string } };
    expect((await call('DELETE', `/admin/projects/${host.project}/members/${id}`)).status).toBe(204);
    expect(await members('profile-type=Patient')).toEqual([]);
    expect((await call('GET', `/fhir/R4/${profile.reference}`)).status).toBe(200);
  });

  test('reads and writes resources', async () => {
    const made = await call('POST', '/fhir/R4/Patient', { body: { resourceType: 'Patient', gender: 'female' } });
    const { id } = made.body as { id: string };
    expect([made.status, made.headers.get('etag')]).toEqual([201, 'W/"1"']);
    const read = await call('GET', `/fhir/R4/Patient/${id}`);
    expect(read.headers.get('content-type')).toBe('application/fhir+json; charset=utf-8');
    expect(new Date(read.headers.get('last-modified')!).getTime()).toBeGreaterThan(0);
    const update = { resourceType: 'Patient', id, gender: 'male' };
    const stale = await call('PUT', `/fhir/R4/Patient/${id}`, { body: update, headers: { 'if-match': 'W/"7"' } });
    expect(stale.status).toBe(412);
    expect((await call('PUT', `/fhir/R4/Patient/${id}`, { body: update })).headers.get('etag')).toBe('W/"2"');
    const patch = [{ op: 'replace', path: '/gender', value: 'other' }];
    expect((await call('PATCH', `/fhir/R4/Patient/${id}`, { body: patch })).body).toMatchObject({ gender: 'other' });
    const found = await call('GET', '/fhir/R4/Patient?gender=other');
    expect(found.body).toMatchObject({ resourceType: 'Bundle', entry: [{ resource: { id } }] });
    expect((await call('DELETE', `/fhir/R4/Patient/${id}`)).status).toBe(204);
    expect((await call('GET', `/fhir/R4/Patient/${id}`)).status).toBe(410);
    expect((await call('GET', `/fhir/R4/Patient/${id}/_history`)).body).toMatchObject({ type: 'history', total: 4 });
  });

  test('writes by mutations, but never by GET', async () => {
    const mutation = 'mutation { PatientCreate(res: { gender: "female" }) { gender } }';
    expect((await graphql(mutation)).body).toEqual({ data: { PatientCreate: { gender: 'female' } } });
    const before = await graphql('{ PatientConnection { count } }');
    const got = await call('GET', `/fhir/R4/$graphql?${new URLSearchParams({ query: mutation })}`);
    expect([got.status, got.headers.get('allow'), got.body]).toEqual([
      405,
      'POST',
      outcome('A mutation must be sent by POST'),
    ]);
    expect((await graphql('{ PatientConnection { count } }')).body).toEqual(before.body);
  });

  test('refuses invalid requests', async () => {
    const send = (body: unknown, headers: object = {}): ReturnType<typeof call> =>
      call('POST', '/fhir/R4/$graphql', { body, headers });
    expect([
      (await send('{')).status,
      (await send('[]')).status,
      (await send('null')).status,
      (await send('"x"')).status,
    ]).toEqual([400, 400, 400, 400]);
    expect((await send({})).body).toEqual(
      outcome('The request holds no "query", nor the id of a persisted document', 'invalid'),
    );
    expect((await send({ query: 7 })).status).toBe(400);
    expect((await send({ query: '{ PatientList { id } }', variables: [] })).status).toBe(400);
    expect((await send('query', { 'content-type': 'text/plain' })).status).toBe(415);
    expect((await send('{}', { 'content-type': 'application/json; charset=utf-16' })).status).toBe(415);
    expect((await call('PUT', '/fhir/R4/$graphql', { body: {} })).status).toBe(405);
    expect((await call('GET', '/fhir/R4/$graphql?query=%7B&variables=%7B')).status).toBe(400);
    expect((await call('GET', '/nowhere')).status).toBe(404);
    expect((await call('GET', '/fhir/R4/Nothing/1')).status).toBe(404);
    expect((await call('GET', '/fhir/R4/Patient/%E0%A4%A')).status).toBeGreaterThanOrEqual(400);
    const deep = `${'['.repeat(100_000)}${']'.repeat(100_000)}`;
    expect((await send(`{"query":"{ PatientList { id } }","variables":{"a":${deep}}}`)).status).toBeLessThan(500);
    expect((await send({ query: `{ ${'a'.repeat(6_000_000)} }` })).status).toBe(413);
  });

  test('reveals nothing about an internal error', async () => {
    const search = vi.spyOn(host.store, 'search').mockRejectedValue(new Error('the password is hunter2'));
    const read = vi.spyOn(host.store, 'read').mockRejectedValue(new Error('the password is hunter2'));
    const { status, body } = await call('GET', '/fhir/R4/Patient?_id=1');
    search.mockRestore();
    read.mockRestore();
    expect([status, body]).toEqual([500, outcome('Internal error', 'exception')]);
    expect(host.errors).toEqual([new Error('the password is hunter2')]);
  });

  test('stops the work when the client disconnects', async () => {
    let signal: AbortSignal | undefined;
    const search = host.store.search.bind(host.store);
    const spy = vi.spyOn(host.store, 'search').mockImplementation((query, options) => {
      if (query.type !== 'Patient') return search(query, options);
      return new Promise((_resolve, reject) => {
        signal = options?.signal;
        signal?.addEventListener('abort', () => reject(new Error('aborted')));
      });
    });
    const client = new AbortController();
    const gone = fetch(`${host.url}/fhir/R4/$graphql`, {
      method: 'POST',
      headers: { ...JSON_TYPE, authorization: `Bearer ${host.administrator}` },
      body: JSON.stringify({ query: '{ PatientList { id } }' }),
      signal: client.signal,
    });
    gone.catch(() => undefined);
    await until(() => signal !== undefined);
    client.abort();
    await until(() => signal!.aborted);
    spy.mockRestore();
  });
});
