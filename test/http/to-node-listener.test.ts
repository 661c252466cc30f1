import { once } from 'node:events';
import { Agent, createServer, type IncomingMessage, request as httpRequest, type Server } from 'node:http';
import { connect, type AddressInfo } from 'node:net';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { toNodeListener } from '../../src/http.js';
import { readBoundedBody } from '../../src/http/read-body.js';
import { createTestService, type TestService } from '../../src/test-service.js';
import { until } from '../support/until.js';

// Requests as they are on the wire, which no client of the web would send.

let service: TestService;
let server: Server;
beforeAll(async () => {
  service = await createTestService({ data: [{ resourceType: 'Patient', id: 'ann' }] });
  const listener = toNodeListener((request) => service.handler(request, { caller: service.administrator }));
  server = createServer(listener).listen(0, '127.0.0.1');
  await once(server, 'listening');
});
afterAll(async () => {
  server.close();
  server.closeAllConnections();
  await service.close();
});

/** Sends bytes as they are. @returns the status and the text of the first issue */
async function sendRaw(text: string): Promise<readonly [status: number, text: string | undefined]> {
  const socket = connect((server.address() as AddressInfo).port, '127.0.0.1');
  socket.end(text);
  let answer = '';
  for await (const chunk of socket) answer += String(chunk);
  const status = Number(/^HTTP\/1\.1 (\d{3})/.exec(answer)?.[1] ?? 0);
  return [status, /"text":"((?:[^"\\]|\\.)*)"/.exec(answer)?.[1]];
}

const get = (target: string, method = 'GET'): ReturnType<typeof sendRaw> =>
  sendRaw(`${method} ${target} HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n`);

test('an answer has its length in bytes', async () => {
  const { port } = server.address() as AddressInfo;
  const url = `http://127.0.0.1:${port}/fhir/R4/Patient`;
  const body = JSON.stringify({ resourceType: 'Patient', name: [{ text: 'Zoë 😀' }] });
  const created = await fetch(url, { method: 'POST', headers: { 'content-type': 'application/fhir+json' }, body });
  const text = await created.text();
  expect(JSON.parse(text)).toMatchObject({ name: [{ text: 'Zoë 😀' }] });
  expect(created.headers.get('content-length')).toBe(String(Buffer.byteLength(text)));
});

describe('the path of a request', () => {
  test.each([
    '/fhir/R4/Patient/../Practitioner',
    '/fhir/R4/../../admin/projects',
    '/fhir/R4/Patient/%2e%2E/Practitioner',
    '/fhir/R4/./Patient',
    '/fhir/R4/Patient/..',
    '/fhir/R4/Patient/..?name=x',
    String.raw`/fhir/R4/Patient\..\Practitioner`,
    'http://evil.example/fhir/R4/../Patient',
  ])('%s is 400, because a proxy may have decided by it', async (target) => {
    const [status, text] = await get(target);
    expect([status, text]).toEqual([400, expect.stringContaining('The path of the request must not contain')]);
  });

  test.each([
    ['/fhir/R4/Patient/ann', 200],
    ['/fhir/R4/Patient?name=../x', 200],
    ['/fhir/R4/Patient/a..b', 404],
    ['/fhir/R4/Patient/...', 404],
    ['http://evil.example/fhir/R4/Patient/ann', 200],
    ['//evil.example/fhir/R4/Patient', 404],
    ['http://user@x/fhir/R4/Patient', 400],
    ['*', 400],
  ])('%s is %d', async (target, status) => {
    expect((await get(target))[0]).toBe(status);
  });
});

test.each([
  ['TRACE', 405],
  ['PURGE', 405],
  ['OPTIONS', 204],
])('%s is answered', async (method, status) => {
  expect((await get('/fhir/R4/Patient', method))[0]).toBe(status);
});

test('a body with a wrong length, or with two lengths, is refused', async () => {
  const head = 'POST /fhir/R4/Patient HTTP/1.1\r\nhost: x\r\ncontent-type: application/fhir+json\r\n';
  const smuggled = `${head}content-length: 5\r\ntransfer-encoding: chunked\r\n\r\n0\r\n\r\n`;
  expect((await sendRaw(smuggled))[0]).toBe(400);
  const expecting = `${head}expect: coffee\r\nconnection: close\r\ncontent-length: 0\r\n\r\n`;
  expect((await sendRaw(expecting))[0]).toBe(417);
  expect(service.errors).toEqual([]);
});

test('a connection can be used after a request that was refused without reading its long body', async () => {
  const agent = new Agent({ keepAlive: true, maxSockets: 1 });
  const { port } = server.address() as AddressInfo;
  const ports = new Set<number | undefined>();
  const post = async (length: number): Promise<number | undefined> => {
    const path = '/fhir/R4/Nothing';
    const request = httpRequest({ agent, port, path, method: 'POST', headers: { 'content-length': length } });
    request.end(Buffer.alloc(length));
    const [response] = (await once(request, 'response')) as [IncomingMessage];
    ports.add(response.socket.localPort);
    response.resume();
    await once(response, 'end');
    return response.statusCode;
  };
  expect([await post(1), await post(3_000_000), await post(1), await post(3_000_000)]).toEqual([404, 404, 404, 404]);
  expect(ports.size).toBe(1);
  agent.destroy();
});

describe('the signal of a request', () => {
  const signals: AbortSignal[] = [];
  const closed: Promise<unknown>[] = [];
  let answer: (response: Response) => void;
  let open: Server;
  beforeAll(async () => {
    const listener = toNodeListener((request) => {
      signals.push(request.signal);
      return new Promise((resolve) => (answer = resolve));
    });
    open = createServer((request, response) => {
      closed.push(once(response, 'close'));
      listener(request, response);
    }).listen(0, '127.0.0.1');
    await once(open, 'listening');
  });
  afterAll(() => void open.close());

  test.each([
    ['ends nothing once the answer was sent', true],
    ['ends the work when the client goes away before', false],
  ])('%s', async (_, isAnswered) => {
    const count = signals.length;
    const socket = connect((open.address() as AddressInfo).port, '127.0.0.1');
    socket.write('GET / HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n');
    await until(() => signals.length > count);
    if (isAnswered) answer(new Response('done'));
    else socket.destroy();
    socket.resume();
    await closed.at(-1);
    expect(signals.at(-1)!.aborted).toBe(!isAnswered);
    answer(new Response());
  });
});

describe('the body of a request', () => {
  /** The result of the handler, or of a function of the host, for one request with parts that are sent in turn. */
  async function answerTo(
    answer: (request: Request) => Promise<string>,
    parts: readonly string[],
    before: (incoming: IncomingMessage) => Promise<unknown> = async () => undefined,
  ): Promise<string> {
    const read = Promise.withResolvers<string>();
    read.promise.catch(() => undefined);
    const listener = toNodeListener(async (request) => {
      await answer(request).then(read.resolve, read.reject);
      return new Response();
    });
    const open = createServer((incoming, response) => void before(incoming).then(() => listener(incoming, response)));
    await once(open.listen(0, '127.0.0.1'), 'listening');
    const socket = connect((open.address() as AddressInfo).port, '127.0.0.1');
    socket.on('error', () => undefined);
    socket.write('POST / HTTP/1.1\r\nhost: x\r\ntransfer-encoding: chunked\r\n\r\n');
    for (const part of parts) {
      socket.write(`${part.length.toString(16)}\r\n${part}\r\n`);
      await new Promise((resolve) => setTimeout(resolve, 5));
    }
    if (parts.at(-1) !== '') socket.destroy();
    return read.promise.finally(() => {
      socket.destroy();
      open.close();
    });
  }
  const bounded = async (request: Request): Promise<string> =>
    Buffer.from(await readBoundedBody(request, 10)).toString();

  test.each([
    ['in parts', bounded, ['one', 'two', '']],
    ['that is empty', bounded, ['']],
    ['as a stream', (request: Request) => request.text(), ['one', 'two', '']],
    [
      'that the host reads a copy of first',
      async (request: Request) => `${await request.clone().text()}+${await bounded(request)}`,
      ['one', ''],
    ],
  ])('%s', async (_, read, parts) => {
    const text = parts.join('');
    expect((await answerTo(read, parts)).split('+')).toSatisfy((texts: string[]) => texts.every((one) => one === text));
  });

  test('that another reader of node:http has consumed is empty', async () => {
    const take = async (incoming: IncomingMessage): Promise<unknown> => {
      incoming.resume();
      return once(incoming, 'end');
    };
    expect(await answerTo(bounded, ['one', ''], take)).toBe('');
  });

  test('can be read once', async () => {
    const twice = async (request: Request): Promise<string> => (await bounded(request)) + (await request.text());
    await expect(answerTo(twice, ['one', ''])).rejects.toThrow(TypeError);
  });

  test('cannot be longer than allowed, and nothing is read beyond', async () => {
    await expect(answerTo(bounded, ['one', 'two', 'three', 'four', ''])).rejects.toMatchObject({ status: 413 });
  });

  test('ends when its client disconnects', async () => {
    await expect(answerTo(bounded, ['one'])).rejects.toMatchObject({ code: 'aborted' });
  });
});
