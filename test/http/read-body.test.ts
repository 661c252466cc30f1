import { describe, expect, test, vi } from 'vitest';
import { headerOf, mediaTypeOf } from '../../src/http/http-types.js';
import { readGraphqlRequest, readJsonBody } from '../../src/http.js';
import { bodyText, readBundleBody } from '../../src/http/read-body.js';

const request = (body: unknown): { headers: object; body: unknown } => ({ headers: {}, body });

describe('readJsonBody', () => {
  test.each<[unknown, unknown]>([
    ['{"a":"ä"}', { a: 'ä' }],
    [Buffer.from('{"a":"ä"}'), { a: 'ä' }],
    [new TextEncoder().encode('[1]'), [1]],
    [{ a: 1 }, { a: 1 }],
    ['null', null],
    [0, 0],
  ])('reads %j', (body, value) => {
    expect(readJsonBody(request(body) as never)).toEqual(value);
    expect(readJsonBody(request(body) as never, 10)).toEqual(value);
    return expect(readBundleBody(request(body) as never, 10)).resolves.toEqual(value);
  });

  test.each<[unknown, string]>([
    [undefined, 'The request has no body'],
    [null, 'The request has no body'],
    ['', 'The body is not JSON'],
    ['{"family":"Brook"', 'The body is not JSON'],
    [new Uint8Array([0x22, 0xc3, 0x22]), 'The body is not UTF-8'],
  ])('refuses %j without quoting it', (body, message) => {
    expect(() => readJsonBody(request(body) as never, 10)).toThrow(
      expect.objectContaining({ code: 'invalid', message }),
    );
    return expect(readBundleBody(request(body) as never, 10)).rejects.toMatchObject({ code: 'invalid', message });
  });
});

test('bodyText is for texts and bytes', () => {
  expect(['a', Buffer.from('a'), { a: 1 }, undefined].map((body) => bodyText(request(body) as never))).toEqual([
    'a',
    'a',
    undefined,
    undefined,
  ]);
});

test('header names are case-insensitive, and count once', () => {
  expect(headerOf({ headers: { 'If-Match': 'W/"1"' } }, 'if-match')).toBe('W/"1"');
  expect(headerOf({ headers: { accept: ['a', 'b'] } }, 'accept')).toBe('a');
  expect(headerOf({ headers: new Headers([['Accept', 'a']]) }, 'accept')).toBe('a');
  expect(headerOf({ headers: new Headers() }, 'accept')).toBeUndefined();
  expect(headerOf({ headers: { 'x-accept': 'a' } }, 'accept')).toBeUndefined();
});

test.each([
  ['Application/JSON; charset=utf-8', 'application/json'],
  [' text/plain ', 'text/plain'],
  ['; charset=utf-8', undefined],
  ['', undefined],
  [undefined, undefined],
])('the media type of %j is %j', (header, type) => {
  expect(mediaTypeOf(header)).toBe(type);
});

describe('the number of values', () => {
  test('is counted before a body is parsed', () => {
    const parse = vi.spyOn(JSON, 'parse');
    const body = `{"list":[${'{},'.repeat(9)}{}], "text":"[,,\\"{"}`;
    expect(readJsonBody(request(body) as never, 13)).toMatchObject({ text: '[,,"{' });
    parse.mockClear();
    expect(() => readJsonBody(request(body) as never, 12)).toThrow(
      expect.objectContaining({ code: 'too-costly', status: 422, details: { max: 12 } }),
    );
    for (const hostile of ['['.repeat(5_000), '[[],'.repeat(5_000), `[${'0,'.repeat(5_000)}`, '{"a":'.repeat(5_000)]) {
      expect(() => readJsonBody(request(hostile) as never, 1_000)).toThrow('The body has more than 1000 values');
    }
    expect(parse).not.toHaveBeenCalled();
    parse.mockRestore();
  });

  test('of a query is that of its variables', async () => {
    const headers = { 'content-type': 'application/json' };
    const ask = (values: number): Promise<unknown> => {
      const body = JSON.stringify({ query: '{ PatientList { id } }', variables: { list: Array(values).fill(0) } });
      return readGraphqlRequest(new Request('https://clinic.example/$graphql', { method: 'POST', headers, body }));
    };
    expect(await ask(50_000)).toMatchObject({ query: '{ PatientList { id } }' });
    await expect(ask(51_000)).rejects.toMatchObject({ code: 'too-costly' });
  });
});
