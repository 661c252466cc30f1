import { describe, expect, test } from 'vitest';
import { parseJson } from '../../src/http.js';
import { type FhirError, importBundle } from '../../src/index.js';
import { ask, contents, faultOf, importAll, type Json, memoryContext, post, put, transaction } from './harness.js';

const GOOD = put({ resourceType: 'Patient', id: 'good' });

describe('a transaction with faulty entries', () => {
  test('lists the first thousand of them, and reads no entry after one more', async () => {
    let read = 0;
    const faulty = {
      get request() {
        read += 1;
        return undefined;
      },
    };
    const reading = async (count: number): Promise<FhirError> => {
      read = 0;
      const entry = [...Array.from({ length: count }, () => faulty), GOOD];
      return faultOf(importBundle({ resourceType: 'Bundle', type: 'transaction', entry }, memoryContext()));
    };
    const fault = await reading(3_000);

    expect(fault.outcome.issue).toHaveLength(1_000);
    expect(fault.outcome.issue[999]).toMatchObject({ expression: ['Bundle.entry[999].resource'] });
    expect(fault.details?.['entries']).toEqual(Array.from({ length: 1_000 }, (_, index) => index));
    expect(fault.message).toContain('Bundle.entry[0]');
    expect(fault.message).toMatch(/\(and at least 1000 more of 3001 entries\)$/);
    expect(read).toBe(1_001);
    expect((await reading(1_000)).message).toMatch(/\(and 999 more of 1001 entries\)$/);
    expect(read).toBe(1_000);
  });

  test('has no effect and has one issue per faulty entry', async () => {
    const context = memoryContext();
    await importAll(context, put({ resourceType: 'Patient', id: 'before', active: true }));
    const before = await contents(context.store);
    const fault = await faultOf(
      importAll(
        context,
        GOOD,
        put({ resourceType: 'Patient', id: 'before', active: false }),
        post({ resourceType: 'Pateint' }),
        ask('DELETE', 'Patient/before2'),
        post({ resourceType: 'Patient', id: 'no blanks' }),
      ),
    );
    expect(fault).toMatchObject({ code: 'not-found', status: 404, details: { entries: [2, 4] } });
    expect(fault.outcome.issue).toEqual([
      {
        severity: 'error',
        code: 'not-found',
        details: { text: expect.stringMatching(/^Entry 2: .*"Pateint"/) },
        expression: ['Bundle.entry[2].resource'],
      },
      {
        severity: 'error',
        code: 'invalid',
        details: { text: expect.stringMatching(/^Entry 4: The id of the Patient/) },
        expression: ['Bundle.entry[4].resource'],
      },
    ]);
    expect(await contents(context.store)).toEqual(before);
  });

  const circle: { [name: string]: unknown } = { resourceType: 'Patient' };
  circle['extension'] = [circle];
  let deep: unknown = {};
  for (let level = 0; level < 100_000; level++) deep = [deep];

  test.each<[string, Json, string]>([
    ['no request', { resource: { resourceType: 'Patient' } }, 'needs "request"'],
    ['no method', { resource: {}, request: { url: 'Patient' } }, 'needs request.method'],
    ['an unknown method', ask('STEAL', 'Patient/1'), 'Unknown request.method "STEAL"'],
    ['a method named like a prototype key', ask('constructor', 'Patient/1'), 'Unknown request.method'],
    ['no url', { request: { method: 'GET' } }, 'needs request.url'],
    [
      'POST with an id',
      { resource: { resourceType: 'Patient' }, request: { method: 'POST', url: 'Patient/1' } },
      'expected "Type"',
    ],
    [
      'PUT without one',
      { resource: { resourceType: 'Patient' }, request: { method: 'PUT', url: 'Patient' } },
      'expected "Type/id"',
    ],
    ['a bad id in the url', ask('DELETE', 'Patient/a_b'), 'DELETE does not fit'],
    ['too long a path', ask('GET', 'Patient/1/_history/2/3'), 'GET does not fit'],
    ['no resource', { request: { method: 'POST', url: 'Patient' } }, 'must be a JSON object, not missing'],
    ['an array for a resource', { resource: [], request: { method: 'POST', url: 'Patient' } }, 'not an array'],
    ['no resourceType', { resource: {}, request: { method: 'POST', url: 'Patient' } }, 'must name its type'],
    [
      'a type that the url contradicts',
      put({ resourceType: 'Group', id: '1' }, { url: 'Patient/1' }),
      'names Patient, the resource is a Group',
    ],
    ['an id that the url contradicts', put({ resourceType: 'Patient', id: '2' }, { url: 'Patient/1' }), 'names id "1"'],
    [
      'a meta that is not an object',
      post({ resourceType: 'Patient', meta: 'x' }),
      '"meta" of the Patient must be an object',
    ],
    ['a circle', post(circle), 'nested more than 100 levels'],
    ['nesting without end', post({ resourceType: 'Patient', extension: deep }), 'nested more than 100 levels'],
    [
      '__proto__ as an element',
      post(JSON.parse('{"resourceType":"Patient","name":[{"__proto__":{}}]}') as Json),
      '"__proto__" is not',
    ],
    ['a fullUrl that is not text', { ...GOOD, fullUrl: 7 }, '"fullUrl" of the entry must be a string'],
    [
      'an ifMatch that is not an entity tag',
      put({ resourceType: 'Patient', id: '1' }, { ifMatch: 'not a tag' }),
      'must be an entity tag',
    ],
    ['an unknown search parameter', post({ resourceType: 'Patient' }, { ifNoneExist: 'nmae=x' }), 'nmae'],
    ['an entry that is null', null as unknown as Json, 'must be an object'],
  ])('refuses %s', async (_name, entry, message) => {
    const context = memoryContext();
    const fault = await faultOf(importAll(context, GOOD, entry));
    expect(fault).toMatchObject({ code: 'invalid', details: { entries: [1] } });
    expect(fault.message).toContain(message);
    expect(await contents(context.store)).toEqual({});
  });

  test('accepts resources as deep as the commit does, and no deeper', async () => {
    const nested = (levels: number): Json => {
      let value: unknown = 'x';
      // The resource and the list of extensions are two of the levels.
      for (let level = 2; level < levels; level += 1) value = level % 2 === 0 ? { a: value } : [value];
      return { resourceType: 'Patient', id: 'deep', extension: [value] };
    };
    const context = memoryContext();
    for (const type of ['transaction', 'batch']) {
      const { bundle } = await importBundle({ resourceType: 'Bundle', type, entry: [put(nested(100)), ask('DELETE', 'Patient/x')] }, context); // prettier-ignore
      expect(bundle.entry?.[0]?.response?.status, type).toMatch(/^20/);
    }
    const fault = await faultOf(importAll(context, put(nested(101))));
    expect(fault.message).toContain('nested more than 100 levels');
    const { bundle } = await importBundle({ resourceType: 'Bundle', type: 'batch', entry: [put(nested(101))] }, context); // prettier-ignore
    expect(JSON.stringify(bundle.entry)).toContain('nested more than 100 levels');
  });

  test.each([
    ['operations', ask('GET', 'Patient/1/$everything')],
    ['history', ask('GET', 'Patient/1/_history')],
  ])('reports that %s is not supported', async (_name, entry) => {
    expect((await faultOf(importAll(memoryContext(), entry))).code).toBe('unsupported');
  });

  test('refuses one resource in two entries, also through a condition', async () => {
    const context = memoryContext();
    await importAll(context, put({ resourceType: 'Patient', id: 'p', identifier: [{ value: '1' }] }));
    for (const entries of [
      [put({ resourceType: 'Patient', id: 'p' }), post({ resourceType: 'Patient', id: 'p', active: true })],
      [
        put({ resourceType: 'Patient', identifier: [{ value: '1' }] }, { url: 'Patient?identifier=1' }),
        put({ resourceType: 'Patient', id: 'p' }),
      ],
    ]) {
      const fault = await faultOf(importAll(context, ...entries));
      expect(fault.code).toBe('invalid');
      expect(fault.message).toContain('the same resource (Patient/p) as entry');
    }
  });

  test('refuses one fullUrl in two entries', async () => {
    const fault = await faultOf(
      importAll(
        memoryContext(),
        post({ resourceType: 'Patient' }, { fullUrl: 'urn:uuid:1' }),
        post({ resourceType: 'Group' }, { fullUrl: 'urn:uuid:1' }),
      ),
    );
    expect(fault).toMatchObject({ code: 'invalid', details: { entries: [1] } });
    expect(fault.message).toContain('same fullUrl as entry 0');
  });

  test('is undone by a read that finds nothing', async () => {
    const context = memoryContext();
    const missing = await faultOf(importAll(context, GOOD, ask('GET', 'Patient/none')));
    expect(missing).toMatchObject({ code: 'not-found', details: { entries: [1] } });
    await importAll(context, put({ resourceType: 'Patient', id: 'p' }));
    const gone = await faultOf(importAll(context, GOOD, ask('DELETE', 'Patient/p'), ask('GET', 'Patient/p')));
    expect(gone).toMatchObject({ code: 'gone', details: { entries: [2] } });
    expect(Object.keys(await contents(context.store))).toEqual(['Patient/p']);
  });
});

describe('a value that is not a transaction', () => {
  test.each([[null], ['text'], [[]], [{}], [{ resourceType: 'Patient' }]])('%j is refused', async (value) => {
    const fault = await faultOf(importBundle(value as never, memoryContext()));
    expect(fault).toMatchObject({ code: 'invalid', message: expect.stringContaining('Expected a Bundle') });
  });

  test.each(['collection', 'searchset', 'history', 'document', 'message', undefined])(
    'a Bundle of type %s is refused',
    async (type) => {
      const fault = await faultOf(importBundle({ resourceType: 'Bundle', type, entry: [GOOD] }, memoryContext()));
      expect(fault).toMatchObject({ code: 'invalid', message: expect.stringContaining('"transaction" and "batch"') });
    },
  );

  test('an entry list that is not a list is refused', async () => {
    const fault = await faultOf(importBundle({ resourceType: 'Bundle', type: 'batch', entry: {} }, memoryContext()));
    expect(fault.message).toBe('Bundle.entry must be an array');
  });
});

test('is refused without a caller', async () => {
  const { store } = memoryContext();
  const fault = await faultOf(importBundle(transaction(GOOD), { store } as never));
  expect(fault.code).toBe('unauthenticated');
});

test('is not written if the signal has been aborted', async () => {
  const context = memoryContext();
  const fault = await faultOf(importBundle(transaction(GOOD), { ...context, signal: AbortSignal.abort() }));
  expect(fault.code).toBe('aborted');
  expect(await contents(context.store)).toEqual({});
});

describe('parseJson', () => {
  test('reads JSON behind a byte order mark', () => {
    expect(parseJson('\uFEFF{"a":[1]}')).toEqual({ a: [1] });
  });

  test.each([
    ['{"name": "Ann",}', 'unexpected character at column 16', { line: 1, column: 16, offset: 15 }],
    ['{\n  "name": oops\n}', 'unexpected character at line 2, column 11', { line: 2, column: 11, offset: 12 }],
    ['{"name": "Ann"', 'it ends too early at column 15', { line: 1, column: 15, offset: 14 }],
    ['', 'it ends too early at column 1', { line: 1, column: 1, offset: 0 }],
  ])('reports the position of the error in %j, without quoting it', (text, message, details) => {
    expect(() => parseJson(text)).toThrowError(
      expect.objectContaining({ code: 'invalid', message: `Not valid JSON: ${message}`, details }),
    );
  });
});
