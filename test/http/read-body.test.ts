import { describe, expect, test } from 'vitest';
import { headerOf, mediaTypeOf } from '../../src/http/http-types.js';
import { bodyText, readJsonBody } from '../../src/http/read-body.js';

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
  });

  test.each<[unknown, string]>([
    [undefined, 'The request has no body'],
    [null, 'The request has no body'],
    ['', 'The body is not JSON'],
    ['{"family":"Brook"', 'The body is not JSON'],
    [new Uint8Array([0x22, 0xc3, 0x22]), 'The body is not UTF-8'],
  ])('refuses %j without quoting it', (body, message) => {
    expect(() => readJsonBody(request(body) as never)).toThrow(expect.objectContaining({ code: 'invalid', message }));
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

test('headers have names in any case, and count once', () => {
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
