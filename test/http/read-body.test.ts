import { afterEach, describe, expect, test } from 'vitest';
import { PARSED_PARTS } from '../../src/fhir/json/parse-in-turns.js';
import { headerOf, mediaTypeOf } from '../../src/http/http-types.js';
import { bodyText, readJsonBody, readJsonBodyInTurns } from '../../src/http/read-body.js';
import { readGraphqlRequest } from '../../src/http/read-graphql-request.js';
import { PACE } from '../../src/platform/loop-turn.js';
import { countTurns } from '../support/count-turns.js';

const { long, size } = PARSED_PARTS;
const { turnMs } = PACE;

afterEach(() => {
  Object.assign(PARSED_PARTS, { long, size });
  PACE.turnMs = turnMs;
});

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
    return expect(readJsonBodyInTurns(request(body) as never)).resolves.toEqual(value);
  });

  test.each<[unknown, string]>([
    [undefined, 'The request has no body'],
    [null, 'The request has no body'],
    ['', 'The body is not JSON'],
    ['{"family":"Brook"', 'The body is not JSON'],
    [new Uint8Array([0x22, 0xc3, 0x22]), 'The body is not UTF-8'],
  ])('refuses %j without quoting it', (body, message) => {
    expect(() => readJsonBody(request(body) as never)).toThrow(expect.objectContaining({ code: 'invalid', message }));
    return expect(readJsonBodyInTurns(request(body) as never)).rejects.toMatchObject({ code: 'invalid', message });
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

describe('a long body', () => {
  const list = Array.from({ length: 50 }, (_, n) => ({ n }));

  test('is parsed in turns with other work', async () => {
    Object.assign(PARSED_PARTS, { long: 100, size: 20 });
    PACE.turnMs = 0;
    const { result, turns } = await countTurns(() => readJsonBodyInTurns(request(JSON.stringify({ list })) as never));
    expect(result).toEqual({ list });
    expect(turns).toBeGreaterThan(10);
  });

  test('of the Request of a query is parsed in turns, too', async () => {
    Object.assign(PARSED_PARTS, { long: 100, size: 20 });
    PACE.turnMs = 0;
    const body = JSON.stringify({ query: '{ PatientList { id } }', variables: { list } });
    const headers = { 'content-type': 'application/json' };
    const { result, turns } = await countTurns(() =>
      readGraphqlRequest(new Request('https://clinic.example/$graphql', { method: 'POST', headers, body })),
    );
    expect(result.variables).toEqual({ list });
    expect(turns).toBeGreaterThan(10);
  });

  test('that nests deeper than any resource is refused', async () => {
    PARSED_PARTS.long = 100;
    const body = `${'['.repeat(5_000)}${']'.repeat(5_000)}`;
    await expect(readJsonBodyInTurns(request(body) as never)).rejects.toMatchObject({ code: 'invalid' });
  });
});
