import type { Binary, Bundle } from '@medplum/fhirtypes';
import fc from 'fast-check';
import { beforeAll, describe, expect, test } from 'vitest';
import { decodeBase64, encodeBase64 } from '../../../src/platform/bytes.js';
import { cases } from '../../support/chance.js';
import { BASE, idOf, openService, outcomeText, type Answer, type Service } from './open-service.js';

let service: Service;
beforeAll(async () => {
  service = await openService();
  await service.trusted.update({ resourceType: 'Patient', id: 'ann', gender: 'male' });
  // Members do not choose ids of Binaries.
  for (const id of ['letter', 'image', 'secret']) {
    await service.trusted.update({ resourceType: 'Binary', id, contentType: 'text/plain', data: 'AAAA' });
  }
});

const PNG = new Uint8Array([0x89, 0x50, 0x4e, 0x47, 0, 0xff, 0xfe, 10]);

/** Sends bytes. */
function upload(method: string, path: string, type: string, body: BodyInit, headers: object = {}): Promise<Response> {
  return service.handler(
    new Request(`${BASE}/${path}`, {
      method,
      body,
      headers: { authorization: 'Bearer admin', 'content-type': type, ...headers },
    }),
  );
}

async function bytesOf(path: string, headers: object = {}): Promise<readonly [number, string | null, Uint8Array]> {
  const sent = { authorization: 'Bearer admin', ...headers };
  const response = await service.handler(new Request(`${BASE}/${path}`, { headers: sent }));
  return [response.status, response.headers.get('content-type'), new Uint8Array(await response.arrayBuffer())];
}

async function stored(id: string): Promise<Binary> {
  return await service.trusted.read('Binary', id);
}

describe('a body of any media type', () => {
  test('becomes a Binary, and is returned byte for byte', async () => {
    const created = await upload('POST', 'Binary?_filename=x.png', 'image/png', PNG, {
      'x-security-context': 'Patient/ann',
    });
    const { id, data, ...rest } = (await created.json()) as Binary;
    expect([created.status, created.headers.get('location')]).toEqual([201, `${BASE}/Binary/${id}/_history/1`]);
    expect(rest).toMatchObject({ contentType: 'image/png', securityContext: { reference: 'Patient/ann' } });
    expect(rest).not.toHaveProperty('url');
    expect(data).toBe(Buffer.from(PNG).toString('base64'));
    expect(await bytesOf(`Binary/${id}`)).toEqual([200, 'image/png', PNG]);
    expect(await bytesOf(`Binary/${id}/_history/1`)).toEqual([200, 'image/png', PNG]);
    const read = await service.call('GET', `Binary/${id}`, { headers: { accept: '*/*' } });
    expect(Object.fromEntries(read.headers)).toMatchObject({
      etag: 'W/"1"',
      'x-security-context': 'Patient/ann',
      'content-security-policy': "default-src 'none'; sandbox",
      'x-content-type-options': 'nosniff',
      'cache-control': 'no-store',
    });
    expect((await service.call('GET', `Binary/${id}`, { headers: { 'if-none-match': 'W/"1"' } })).status).toBe(304);
    const head = await service.call('HEAD', `Binary/${id}`);
    expect([head.status, head.headers.get('content-type'), head.text]).toEqual([200, 'image/png', '']);
  });

  test('replaces the content by PUT', async () => {
    const first = await upload('PUT', 'Binary/letter', 'text/plain; charset=utf-8', 'Grüße');
    expect(first.status).toBe(200);
    const second = await upload('PUT', 'Binary/letter', 'application/pdf', '%PDF', { 'if-match': 'W/"2"' });
    expect(second.status).toBe(200);
    expect((await upload('PUT', 'Binary/letter', 'application/pdf', '%PDF', { 'if-match': 'W/"2"' })).status).toBe(412);
    expect(await bytesOf('Binary/letter')).toEqual([200, 'application/pdf', new TextEncoder().encode('%PDF')]);
    expect(await bytesOf('Binary/letter/_history/2')).toEqual([
      200,
      'text/plain; charset=utf-8',
      new TextEncoder().encode('Grüße'),
    ]);
  });

  test('is content even if it is JSON or XML; FHIR JSON is the Binary itself', async () => {
    const json = await upload('POST', 'Binary', 'application/json', '{"resourceType":"Patient"}');
    const { id } = (await json.json()) as Binary;
    expect((await stored(id!)).contentType).toBe('application/json');
    expect(await bytesOf(`Binary/${id}`)).toEqual([
      200,
      'application/json',
      new TextEncoder().encode('{"resourceType":"Patient"}'),
    ]);
    const body = { resourceType: 'Binary', contentType: 'image/png', data: encodeBase64(PNG) };
    const resource = idOf(await service.call('POST', 'Binary', { body }));
    expect(await bytesOf(`Binary/${resource}`)).toEqual([200, 'image/png', PNG]);
    const wrong = await service.call('POST', 'Binary', { body: { resourceType: 'Patient' } });
    expect([wrong.status, outcomeText(wrong)]).toEqual([400, 'The body must be a Binary, as the URL says']);
    expect((await upload('POST', 'Binary', 'application/fhir+xml', '<Binary/>')).status).toBe(415);
    expect((await upload('POST', 'Patient', 'image/png', PNG)).status).toBe(415);
  });

  test('is refused if it is too long, compressed or without a type', async () => {
    const small = await openService({ maxBodyBytes: 8 });
    const sent = { authorization: 'Bearer admin', 'content-type': 'image/png' };
    const post = async (body: BodyInit, headers: object = {}): Promise<number> =>
      (await small.handler(new Request(`${BASE}/Binary`, { method: 'POST', body, headers: { ...sent, ...headers } })))
        .status;
    expect([await post(PNG), await post(new Uint8Array(9))]).toEqual([201, 413]);
    expect(await post(PNG, { 'content-encoding': 'gzip' })).toBe(415);
    for (const type of ['', 'png', 'image/', '/png', 'image/png\u00e4', `image/${'x'.repeat(300)}`]) {
      expect([type, await post(PNG, { 'content-type': type })]).toEqual([type, 415]);
    }
    for (const context of ['', 'ann', 'Patient/', '#x', 'urn:uuid:1', 'Patient/ann b']) {
      expect([context, await post(PNG, { 'x-security-context': context })]).toEqual([context, 400]);
    }
    // A context elsewhere is a reference, but grants nothing.
    expect(await post(PNG, { 'x-security-context': 'https://other.example/Patient/1' })).toBe(403);
  });

  test('of a type that browsers send to other sites without preflight needs a header', async () => {
    const signedIn = await openService({ signIn: () => undefined });
    const caller = (await import('../../../src/access/caller.js')).systemCaller(signedIn.project);
    for (const type of ['text/plain', 'application/x-www-form-urlencoded', 'multipart/form-data; boundary=x']) {
      const send = async (headers: object): Promise<number> => {
        const init = { method: 'POST', body: 'x', headers: { 'content-type': type, ...headers } };
        return (await signedIn.handler(new Request(`${BASE}/Binary`, init), { caller })).status;
      };
      expect([type, await send({}), await send({ authorization: 'Basic eDp5' })]).toEqual([type, 415, 415]);
      expect([await send({ 'x-requested-with': 'app' }), await send({ authorization: 'Bearer x' })]).toEqual([
        201, 201,
      ]);
    }
  });

  test('is returned with any bytes', async () => {
    await fc.assert(
      fc.asyncProperty(fc.uint8Array({ minLength: 1, maxLength: 200 }), async (bytes) => {
        const { id } = (await (await upload('POST', 'Binary', 'image/png', new Uint8Array(bytes))).json()) as Binary;
        expect((await bytesOf(`Binary/${id}`))[2]).toEqual(new Uint8Array(bytes));
      }),
      { numRuns: cases(200, 40) },
    );
  });
});

describe('a Binary is FHIR JSON', () => {
  const accepted = async (accept: string | undefined, query = ''): Promise<string> => {
    const headers = accept === undefined ? {} : { accept };
    const answer: Answer = await service.call('GET', `Binary/image${query}`, { headers });
    return answer.status === 200 ? answer.headers.get('content-type')! : String(answer.status);
  };

  test('if the client asks for it', async () => {
    await upload('PUT', 'Binary/image', 'image/png', PNG);
    const fhir = 'application/fhir+json; charset=utf-8';
    for (const accept of [
      undefined,
      '',
      '*/*',
      'image/*',
      'image/png',
      'text/html, */*;q=0.1',
      'application/json, */*',
    ]) {
      expect([accept, await accepted(accept)]).toEqual([accept, 'image/png']);
    }
    for (const accept of ['application/fhir+json', 'application/fhir+json, */*; q=0.1']) {
      expect([accept, await accepted(accept)]).toEqual([accept, fhir]);
    }
    expect(await accepted('application/json')).toBe('application/json; charset=utf-8');
    expect(await accepted('application/fhir+json;q=0.5, image/png')).toBe('image/png');
    expect([await accepted('text/html'), await accepted('application/fhir+xml')]).toEqual(['406', '406']);
    expect([await accepted('image/png', '?_format=json'), await accepted('*/*', '?_format=image/png')]).toEqual([
      fhir,
      'image/png',
    ]);
    expect(await accepted('*/*', '?_format=xml')).toBe('406');
    expect(await accepted('*/*', '?_summary=true')).toBe(fhir);
  });

  test('if it has no content', async () => {
    const types: (string | undefined)[] = [];
    for (const binary of [
      { contentType: 'image/png' },
      { contentType: 'image/png', data: 'no base64!' },
      { contentType: 'image/png\r\nx: y', data: 'AAAA' },
      { contentType: 'none', data: 'AAAA' },
    ]) {
      await service.trusted.update({ resourceType: 'Binary', id: 'odd', ...binary });
      const answer = await service.call('GET', 'Binary/odd');
      types.push(answer.headers.get('content-type')!);
    }
    expect(new Set(types)).toEqual(new Set(['application/fhir+json; charset=utf-8']));
  });

  test('in searches, histories and Bundles', async () => {
    const { body } = await service.call('GET', 'Binary?_id=image');
    expect((body as Bundle).entry?.[0]?.resource).toMatchObject({ contentType: 'image/png', data: encodeBase64(PNG) });
  });
});

test('MedplumClient receives a URL for the attachments that it creates from it', async () => {
  const created = await upload('POST', 'Binary', 'image/png', PNG, { 'x-medplum': 'extended' });
  const { id, url } = (await created.json()) as Binary;
  expect(url).toBe(`${BASE}/Binary/${id}`);
  expect(await stored(id!)).not.toHaveProperty('url');
});

test('a Binary is visible to callers who see its security context', async () => {
  const created = await upload('POST', 'Binary', 'image/png', PNG, { 'x-security-context': 'Patient/ann' });
  const { id } = (await created.json()) as Binary;
  expect((await bytesOf(`Binary/${id}`))[0]).toBe(200);
  await service.trusted.delete('Patient', 'ann');
  expect((await bytesOf(`Binary/${id}`))[0]).toBe(404);
});

test('a caller who cannot see a Binary receives nothing of it, and a caller who cannot create a Binary sends nothing', async () => {
  await upload('PUT', 'Binary/secret', 'image/png', PNG);
  const answers = await Promise.all(
    ['secret', 'nothere'].map(async (id) => {
      const { status, text, headers } = await service.call('GET', `Binary/${id}`, { as: 'nurse' });
      return [status, text.replaceAll(id, ':id'), [...headers]];
    }),
  );
  expect(answers[0]).toEqual(answers[1]);
  expect((await upload('POST', 'Binary', 'image/png', PNG, { authorization: 'Bearer nurse' })).status).toBe(403);
});

test('base64 without Buffer, as in browsers, is the same', () => {
  const { Buffer: own } = globalThis;
  const bytes = Uint8Array.from({ length: 100_000 }, (_, index) => (index * 7919) % 256);
  const text = encodeBase64(bytes);
  try {
    (globalThis as { Buffer?: unknown }).Buffer = undefined;
    expect(encodeBase64(bytes)).toBe(text);
    // Comparing a hundred thousand bytes by toEqual takes a second.
    const decoded = decodeBase64(`${text.slice(0, 8)}\n ${text.slice(8)}`)!;
    expect([decoded.length, decoded.findIndex((byte, index) => byte !== bytes[index])]).toEqual([bytes.length, -1]);
  } finally {
    globalThis.Buffer = own;
  }
  for (const wrong of ['a', 'abc', 'ab=c', '====', 'ab-_', 'äaaa']) expect(decodeBase64(wrong)).toBeUndefined();
});
