import { beforeAll, describe, expect, test } from 'vitest';
import { toNodeListener } from '../../../src/http.js';
import { importNdjson, MemoryStore, serverCaller } from '../../../src/index.js';
import { storeWith } from '../../support/store-with.js';
import { openService, type Service } from './open-service.js';

let service: Service;
let admin: string;
let searches = 0;

beforeAll(async () => {
  const inner = new MemoryStore();
  const store = storeWith(inner, {
    search(query, options) {
      if (query.type === 'Basic') searches += 1;
      return inner.search(query, options);
    },
    typeHistory: (query, options) => inner.typeHistory(query, options),
    removal: inner.removal,
  });
  service = await openService({
    store,
    describeRequest: ({ headers }) => ({
      purpose: headers.get('x-purpose') ?? undefined,
      requestId: headers.get('x-request-id') ?? undefined,
    }),
  });
  admin = `/admin/projects/${service.project}`;
});

const reason = 'entered-in-error';

describe('permanent removal', () => {
  test('erases a resource, a patient with its compartment, and old versions', async () => {
    const { trusted } = service;
    const ann = await trusted.create({ resourceType: 'Patient', gender: 'female' });
    const note = { resourceType: 'Basic', code: { text: 'x' } } as const;
    const basic = await trusted.create(note);
    const subject = { reference: `Patient/${ann.id}` };
    const seen = await trusted.create({ resourceType: 'Observation', status: 'final', code: { text: 'x' }, subject });
    const call = async (name: string, body: object): Promise<readonly unknown[]> => {
      const answer = await service.call('POST', `${admin}/${name}`, { body, as: 'operator' });
      return [answer.status, answer.body];
    };
    expect(await call('erase-resource', { type: 'Basic', id: basic.id, reason })).toEqual([
      200,
      { resource: `Basic/${basic.id}`, versions: 1, versionId: '2' },
    ]);
    await trusted.update({ ...ann, active: true });
    const olderThan = new Date(Date.now() + 86_400_000).toISOString();
    expect(await call('purge-history', { olderThan, type: 'Patient' })).toEqual([200, { versions: 1 }]);
    const dry = { id: ann.id, reason, dryRun: true };
    const erased = [`Observation/${seen.id}`, `Patient/${ann.id}`];
    expect(await call('erase-patient', dry)).toMatchObject([200, { erased, kept: [], versions: 0 }]);
    expect((await service.call('GET', `Patient/${ann.id}`)).status).toBe(200);
    expect(await call('erase-patient', { ...dry, dryRun: false })).toMatchObject([200, { erased, versions: 2 }]);
    expect((await service.call('GET', `Patient/${ann.id}`)).status).toBe(410);
  });

  const bodies = {
    'erase-resource': { type: 'Patient', id: 'x', reason },
    'erase-patient': { id: 'x', reason },
    'purge-history': { olderThan: '2100-01-01T00:00:00Z' },
  } as const;

  test.each(Object.entries(bodies))('%s is only for super administrators without policies', async (name, body) => {
    const { id } = await service.trusted.create({ resourceType: 'Patient', gender: 'female' });
    for (const [as, status] of [
      ['admin', 403],
      ['nurse', 403],
      [null, 401],
    ] as const) {
      expect(
        (await service.call('POST', `${admin}/${name}`, { body: { ...body, ...('id' in body ? { id } : {}) }, as }))
          .status,
      ).toBe(status);
    }
    expect((await service.trusted.read('Patient', id)).id).toBe(id);
    expect((await service.call('GET', `${admin}/${name}`, { as: 'operator' })).status).toBe(405);
    const path = `/admin/projects/fhirgraph-audit-log/${name}`;
    expect((await service.call('POST', path, { body, as: 'operator' })).status).toBe(403);
    // A page of another origin can send a form without being asked.
    const form = { body: JSON.stringify(body), headers: { 'content-type': 'text/plain' }, as: 'operator' };
    expect((await service.call('POST', `${admin}/${name}`, form)).status).toBe(415);
  });

  test.each([
    ['erase-resource', { type: 'Patient', id: 'x' }, 400],
    ['erase-resource', { type: 'Patient', id: '../x', reason }, 400],
    ['erase-resource', { type: 'Pati\u0000ent', id: 'x', reason }, 400],
    ['erase-resource', { type: ['Patient'], id: { x: 1 }, reason }, 400],
    ['erase-resource', { type: 'Project', id: 'x', reason }, 403],
    ['erase-resource', { type: 'Patient', id: 'nobody', reason }, 404],
    ['erase-resource', { type: 'Patient', id: 'x', reason: 'because of Ann Hill' }, 400],
    ['erase-resource', { type: 'Patient', id: 'x', reason, project: 'operations' }, 400],
    ['erase-patient', { id: 'nobody', reason }, 404],
    ['erase-patient', { id: 'x', reason, dryrun: true }, 400],
    ['erase-patient', { id: 'x', reason, dryRun: 'false' }, 400],
    ['erase-patient', { id: 'x', reason, keepTypes: 'AuditEvent' }, 400],
    ['erase-patient', { id: 'x', reason, shared: 'all' }, 400],
    ['purge-history', {}, 400],
    ['purge-history', { olderThan: 'soon' }, 400],
    ['purge-history', { olderThan: '2020-01-01', keep: 0 }, 400],
    ['purge-history', { olderThan: '2020-01-01', onProgress: 1 }, 400],
    ['purge-history', [], 400],
  ])('%s refuses %j', async (name, body, status) => {
    const answer = await service.call('POST', `${admin}/${name}`, { body, as: 'operator' });
    expect(answer.status).toBe(status);
    expect(answer.text).not.toContain('Ann Hill');
  });
});

describe('exports', () => {
  const linesOf = (text: string): readonly string[] => text.split('\n').filter((line) => line !== '');

  test('are NDJSON that creates the same project elsewhere', async () => {
    const answer = await service.call('GET', `${admin}/export?history=true`, { as: 'operator' });
    expect([answer.status, answer.headers.get('content-type')]).toEqual([200, 'application/fhir+ndjson']);
    const { failed } = await importNdjson([answer.text], {
      ...{ store: new MemoryStore(), caller: serverCaller(service.project), deletions: true },
    });
    expect(failed).toBe(0);
    expect(linesOf(answer.text)[0]).toContain('"resourceType":"Project"');
    expect((await service.call('HEAD', `${admin}/export`, { as: 'operator' })).text).toBe('');
  });

  test('are only for super administrators, with a status instead of a partial answer', async () => {
    for (const [as, path, status] of [
      ['admin', `${admin}/export`, 403],
      ['nurse', `${admin}/export`, 403],
      [null, `${admin}/export`, 401],
      ['operator', '/admin/projects/nowhere/export', 404],
      ['operator', `${admin}/export?history=yes`, 400],
    ] as const) {
      expect((await service.call('GET', path, { as })).status).toBe(status);
    }
  });

  const request = (): Request =>
    new Request(`https://clinic.example${admin}/export`, { headers: { authorization: 'Bearer operator' } });

  test('read a page when the client asks for it, and end when the client disconnects', async () => {
    const text = 'x'.repeat(2000);
    for (let id = 0; id < 250; id++) {
      await service.trusted.update({ resourceType: 'Basic', id: `b${id}`, code: { text } });
    }
    searches = 0;
    const reader = (await service.handler(request())).body!.getReader();
    let read = '';
    while (!read.includes('"Basic"')) read += new TextDecoder().decode((await reader.read()).value);
    expect(searches).toBe(1);
    service.audit.length = 0;
    await reader.cancel();
    expect(searches).toBe(1);
    expect(service.audit).toMatchObject([{ interaction: 'export-project' }]);
  });

  test('through a listener of Node.js, wait for a client that reads slowly, and stop when it disconnects', async () => {
    const events = new Map<string, () => void>();
    const chunks: Uint8Array[] = [];
    let ended = false;
    const outgoing = {
      writeHead: () => undefined,
      write: (chunk: Uint8Array) => {
        chunks.push(chunk);
        return false;
      },
      end: () => (ended = true),
      on: (event: string, listener: () => void) => events.set(event, joined(events.get(event), listener)),
      destroy: () => undefined,
      writableFinished: false,
    };
    searches = 0;
    const incoming = {
      ...{ method: 'GET', url: `${admin}/export`, headers: { authorization: 'Bearer operator' } },
      async *[Symbol.asyncIterator]() {
        // No body.
      },
    };
    toNodeListener(service.handler)(incoming, outgoing);
    while (chunks.length === 0) await turn();
    for (let time = 0; time < 20; time++) await turn();
    expect([chunks.length, ended]).toEqual([1, false]);
    while (searches < 2) {
      const before = chunks.length;
      events.get('drain')!();
      while (chunks.length === before) await turn();
    }
    events.get('close')!();
    while (!ended) await turn();
    expect(searches).toBe(2);
  });

  test('that fail in the middle are cut off', async () => {
    const inner = new MemoryStore();
    let left = Infinity;
    const store = storeWith(inner, {
      search(query, options) {
        if (query.type === 'Basic' && (left -= 1) < 0) throw new Error('lost');
        return inner.search(query, options);
      },
    });
    const other = await openService({ store });
    for (let id = 0; id < 150; id++) {
      await other.trusted.update({ resourceType: 'Basic', id: `b${id}`, code: { text: 'x' } });
    }
    left = 1;
    const answer = await other.handler(
      new Request(`https://clinic.example/admin/projects/${other.project}/export`, {
        headers: { authorization: 'Bearer operator' },
      }),
    );
    expect(answer.status).toBe(200);
    await expect(answer.text()).rejects.toThrow();
    expect(other.errors).toHaveLength(1);
  });
});

test('every record has the purpose and the id of the request that the host states', async () => {
  service.audit.length = 0;
  const headers = { 'x-purpose': 'TREAT', 'x-request-id': 'r-1' };
  await service.call('GET', 'Patient', { headers });
  await service.call('POST', '$graphql', { headers, body: { query: '{ PatientList { id } }', purpose: 'HMARKT' } });
  await service.call('GET', '/admin/projects', { headers, as: 'operator' });
  await service.call('POST', `${admin}/erase-resource`, {
    ...{ headers, as: 'operator', body: { type: 'Patient', id: 'x', reason } },
  });
  expect(service.audit.map(({ interaction, purpose, requestId }) => [interaction, purpose, requestId])).toEqual([
    ['search', 'TREAT', 'r-1'],
    ['graphql', 'TREAT', 'r-1'],
    ['list-projects', 'TREAT', 'r-1'],
    ['erase-resource', 'TREAT', 'r-1'],
  ]);
  // Without the option no header counts.
  const plain = await openService();
  await plain.call('GET', 'Patient', { headers });
  expect([plain.audit[0]?.purpose, plain.audit[0]?.requestId]).toEqual([undefined, undefined]);
});

function joined(first: (() => void) | undefined, second: () => void): () => void {
  return () => {
    first?.();
    second();
  };
}

const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));
