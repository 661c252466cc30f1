import { describe, expect, test } from 'vitest';
import {
  ask,
  contents,
  faultOf,
  importAll,
  memoryContext,
  post,
  put,
  statuses,
  transaction,
  versions,
} from './harness.js';
import { importBundle } from '../../src/index.js';
import type { WriteResult } from '../../src/store.js';
import { storeWith } from '../support/store-with.js';

const PAT = 'urn:uuid:6f0a3c1e-0000-4000-8000-000000000001';
const OBS = 'urn:uuid:6f0a3c1e-0000-4000-8000-000000000002';

describe('ids', () => {
  test('are kept if the resource has one', async () => {
    const context = memoryContext();
    await importAll(context, post({ resourceType: 'Patient', id: 'ann' }, { fullUrl: PAT }));
    expect(Object.keys(await contents(context.store))).toEqual(['Patient/ann']);
  });

  test('are taken from a urn:uuid fullUrl, else from an http fullUrl, else are new', async () => {
    const context = memoryContext();
    await importAll(
      context,
      post({ resourceType: 'Patient' }, { fullUrl: PAT }),
      post({ resourceType: 'Organization' }, { fullUrl: 'http://kit.example/fhir/Organization/acme' }),
      post({ resourceType: 'Practitioner' }, { fullUrl: 'urn:oid:1.2.3.4' }),
      post({ resourceType: 'Location' }),
    );
    expect(Object.keys(await contents(context.store))).toEqual([
      expect.stringMatching(/^Location\/[0-9a-f-]{36}$/),
      'Organization/acme',
      'Patient/6f0a3c1e-0000-4000-8000-000000000001',
      expect.stringMatching(/^Practitioner\/[0-9a-f-]{36}$/),
    ]);
  });
});

describe('references', () => {
  test('by urn:uuid become Type/id, forwards and in circles', async () => {
    const context = memoryContext();
    await importAll(
      context,
      post({ resourceType: 'Observation', id: 'o', status: 'final', subject: { reference: PAT } }, { fullUrl: OBS }),
      post(
        {
          resourceType: 'Patient',
          id: 'p',
          contact: [{ organization: { reference: 'urn:oid:1.2.3' } }],
          link: [{ other: { reference: PAT }, type: 'seealso' }],
        },
        { fullUrl: PAT },
      ),
      post({ resourceType: 'Organization', id: 'x' }, { fullUrl: 'urn:oid:1.2.3' }),
    );
    const found = await contents(context.store);
    expect(found['Observation/o']).toMatchObject({ subject: { reference: 'Patient/p' } });
    expect(found['Patient/p']).toMatchObject({
      contact: [{ organization: { reference: 'Organization/x' } }],
      link: [{ other: { reference: 'Patient/p' } }],
    });
  });

  test('by the absolute fullUrl of an entry become relative, versions kept', async () => {
    const context = memoryContext();
    const base = 'http://kit.example/fhir';
    await importAll(
      context,
      put({ resourceType: 'Organization', id: 'x' }, { fullUrl: `${base}/Organization/x` }),
      put({
        resourceType: 'Patient',
        id: 'p',
        managingOrganization: { reference: `${base}/Organization/x` },
        generalPractitioner: [
          { reference: `${base}/Organization/x/_history/2` },
          { reference: `${base}/Organization/other` },
        ],
      }),
    );
    expect((await contents(context.store))['Patient/p']).toMatchObject({
      managingOrganization: { reference: 'Organization/x' },
      generalPractitioner: [{ reference: 'Organization/x/_history/2' }, { reference: `${base}/Organization/other` }],
    });
  });

  test('without a target are kept', async () => {
    const context = memoryContext();
    const generalPractitioner = [
      { reference: 'Practitioner/ghost' },
      { reference: 'urn:uuid:none' },
      { reference: '#in' },
    ];
    await importAll(context, post({ resourceType: 'Patient', id: 'p', generalPractitioner }));
    expect((await contents(context.store))['Patient/p']).toMatchObject({ generalPractitioner });
  });

  test('inside contained resources and extensions are rewritten too', async () => {
    const context = memoryContext();
    await importAll(
      context,
      post({ resourceType: 'Patient', id: 'p' }, { fullUrl: PAT }),
      post({
        resourceType: 'Basic',
        id: 'b',
        contained: [{ resourceType: 'Observation', id: 'in', subject: { reference: PAT } }],
        extension: [{ url: 'http://kit.example/who', valueReference: { reference: PAT } }],
      }),
    );
    expect((await contents(context.store))['Basic/b']).toMatchObject({
      contained: [{ subject: { reference: 'Patient/p' } }],
      extension: [{ valueReference: { reference: 'Patient/p' } }],
    });
  });
});

describe('links outside references', () => {
  test('are rewritten in uri, url and narrative, not in canonical and string', async () => {
    const context = memoryContext();
    const values = (link: string): object[] => [
      { url: 'http://kit.example/a', valueUri: link },
      { url: 'http://kit.example/b', valueUrl: link },
      { url: 'http://kit.example/c', valueUuid: link },
      { url: 'http://kit.example/d', valueCanonical: link },
      { url: 'http://kit.example/e', valueString: link },
    ];
    await importAll(
      context,
      post({ resourceType: 'Patient', id: 'p' }, { fullUrl: PAT }),
      post({
        resourceType: 'Basic',
        id: 'b',
        extension: values(PAT),
        identifier: [{ system: 'urn:ietf:rfc:3986', value: PAT }],
        text: {
          status: 'generated',
          div: `<div><a class="x" href="${PAT}">one</a> <img src='${PAT}'/> <p title="${PAT}">${PAT}</p></div>`,
        },
      }),
    );
    expect((await contents(context.store))['Basic/b']).toMatchObject({
      extension: [
        { valueUri: 'Patient/p' },
        { valueUrl: 'Patient/p' },
        { valueUuid: 'Patient/p' },
        { valueCanonical: PAT },
        { valueString: PAT },
      ],
      identifier: [{ value: PAT }],
      text: {
        div: `<div><a class="x" href="Patient/p">one</a> <img src='Patient/p'/> <p title="${PAT}">${PAT}</p></div>`,
      },
    });
  });

  test('do not change canonical URLs, even if they equal a fullUrl', async () => {
    const context = memoryContext();
    const url = 'http://kit.example/CodeSystem/colors';
    await importAll(
      context,
      put({ resourceType: 'CodeSystem', id: 'colors', url, status: 'active', content: 'complete' }, { fullUrl: url }),
      put({
        resourceType: 'Basic',
        id: 'b',
        code: { coding: [{ system: url, code: 'red' }] },
        extension: [{ url: 'http://kit.example/a', valueUrl: url }],
      }),
    );
    const found = await contents(context.store);
    expect(found['CodeSystem/colors']).toMatchObject({ url });
    expect(found['Basic/b']).toMatchObject({
      code: { coding: [{ system: url }] },
      extension: [{ valueUrl: 'CodeSystem/colors' }],
    });
  });
});

describe('importing again', () => {
  const bundle = transaction(
    post(
      { resourceType: 'Patient', id: 'p', active: true, meta: { tag: [{ code: 'x' }], versionId: '99' } },
      { fullUrl: PAT },
    ),
    post({ resourceType: 'Observation', id: 'o', status: 'final', subject: { reference: PAT } }),
  );

  test('the same content writes nothing', async () => {
    const context = memoryContext();
    expect(await importBundle(bundle, context)).toMatchObject({ created: 2, updated: 0, unchanged: 0 });
    const before = await versions(context.store);
    const again = await importBundle(bundle, context);
    expect(again).toMatchObject({ created: 0, updated: 0, unchanged: 2 });
    expect(statuses(again)).toEqual(['200 OK', '200 OK']);
    expect(await versions(context.store)).toEqual(before);
  });

  test('changed content creates the next version', async () => {
    const context = memoryContext();
    await importBundle(bundle, context);
    const result = await importAll(context, post({ resourceType: 'Patient', id: 'p', active: false }));
    expect(result).toMatchObject({ created: 0, updated: 1 });
    expect((await contents(context.store))['Patient/p']).toEqual({ resourceType: 'Patient', id: 'p', active: false });
    expect(
      (await context.store.history({ project: 'clinic', type: 'Patient', id: 'p' }, { offset: 0, limit: 9 })).total,
    ).toBe(2);
  });

  test('does not change the given Bundle', async () => {
    const text = JSON.stringify(bundle);
    await importBundle(bundle, memoryContext());
    expect(JSON.stringify(bundle)).toBe(text);
  });
});

describe('the response', () => {
  test('answers entry by entry: create, update, delete, read, vread, search', async () => {
    const context = memoryContext();
    await importAll(
      context,
      put({ resourceType: 'Patient', id: 'old' }),
      put({ resourceType: 'Patient', id: 'kept', active: true }),
    );
    const result = await importAll(
      context,
      ask('GET', 'Patient/new'),
      ask('GET', 'Patient?active=true&_sort=_id'),
      put({ resourceType: 'Patient', id: 'kept', active: true, gender: 'female' }),
      post({ resourceType: 'Patient', id: 'new', active: true }),
      ask('DELETE', 'Patient/old'),
      ask('DELETE', 'Patient/never'),
      ask('HEAD', 'Patient/new'),
    );
    expect(result.bundle.type).toBe('transaction-response');
    expect(statuses(result)).toEqual([
      '200 OK',
      '200 OK',
      '200 OK',
      '201 Created',
      '204 No Content',
      '204 No Content',
      '200 OK',
    ]);
    expect(result).toMatchObject({ created: 1, updated: 1, deleted: 1, unchanged: 0, failed: 0 });
    const [read, search, updated, created, , , head] = result.bundle.entry!;
    expect(read!.resource).toMatchObject({ resourceType: 'Patient', id: 'new' });
    expect(search!.resource).toMatchObject({
      type: 'searchset',
      total: 2,
      entry: [{ resource: { id: 'kept', gender: 'female' } }, { resource: { id: 'new' } }],
    });
    expect(updated!.response!.location).toMatch(/^Patient\/kept\/_history\/.+$/);
    expect(created!.response).toMatchObject({
      location: expect.stringMatching(/^Patient\/new\/_history\/.+$/),
      etag: expect.stringMatching(/^W\/".+"$/),
      lastModified: expect.stringMatching(/^\d{4}-.*Z$/),
    });
    expect(head!.resource).toBeUndefined();
    expect(Object.keys(await contents(context.store))).toEqual(['Patient/kept', 'Patient/new']);
  });

  test('of an empty Bundle is empty', async () => {
    expect((await importAll(memoryContext())).bundle).toEqual({
      resourceType: 'Bundle',
      type: 'transaction-response',
      entry: [],
    });
    expect(await importBundle({ resourceType: 'Bundle', type: 'transaction' }, memoryContext())).toMatchObject({
      created: 0,
    });
  });

  test('is 304 for a reader who has the version', async () => {
    const context = memoryContext();
    const { bundle } = await importAll(context, put({ resourceType: 'Patient', id: 'p' }));
    const ifNoneMatch = bundle.entry![0]!.response!.etag;
    const result = await importAll(context, ask('GET', 'Patient/p', { ifNoneMatch }));
    expect(statuses(result)).toEqual(['304 Not Modified']);
    expect(result.bundle.entry![0]!.resource).toBeUndefined();
  });

  test('reads a version', async () => {
    const context = memoryContext();
    const { bundle } = await importAll(context, put({ resourceType: 'Patient', id: 'p', active: true }));
    const location = bundle.entry![0]!.response!.location!;
    await importAll(context, put({ resourceType: 'Patient', id: 'p', active: false }));
    const result = await importAll(context, ask('GET', location));
    expect(result.bundle.entry![0]!.resource).toMatchObject({ active: true });
  });
});

describe('preconditions', () => {
  test('ifMatch accepts only the current version', async () => {
    const context = memoryContext();
    const first = await importAll(context, put({ resourceType: 'Patient', id: 'p' }));
    const ifMatch = first.bundle.entry![0]!.response!.etag!;
    await importAll(context, put({ resourceType: 'Patient', id: 'p', active: true }, { ifMatch }));
    const before = await versions(context.store);
    const fault = await faultOf(
      importAll(
        context,
        put({ resourceType: 'Patient', id: 'q' }),
        put({ resourceType: 'Patient', id: 'p', active: true }, { ifMatch }),
      ),
    );
    expect(fault).toMatchObject({ code: 'precondition-failed', details: { entries: [1] } });
    expect(await versions(context.store)).toEqual(before);
  });

  test('ifNoneMatch * creates and never updates', async () => {
    const context = memoryContext();
    const entry = put({ resourceType: 'Patient', id: 'p', active: true }, { ifNoneMatch: '*' });
    expect(await importAll(context, entry)).toMatchObject({ created: 1 });
    expect((await faultOf(importAll(context, entry))).code).toBe('precondition-failed');
  });

  test('ifMatch guards a deletion', async () => {
    const context = memoryContext();
    await importAll(context, put({ resourceType: 'Patient', id: 'p' }));
    const fault = await faultOf(importAll(context, ask('DELETE', 'Patient/p', { ifMatch: 'W/"none"' })));
    expect(fault.code).toBe('precondition-failed');
    expect(Object.keys(await contents(context.store))).toEqual(['Patient/p']);
  });
});

test('deletions run first: a condition can use the id again', async () => {
  const context = memoryContext();
  const identifier = [{ system: 's', value: '1' }];
  await importAll(context, put({ resourceType: 'Patient', id: 'old', identifier }));
  const result = await importAll(
    context,
    post({ resourceType: 'Patient', id: 'new', identifier }, { ifNoneExist: 'identifier=s|1' }),
    ask('DELETE', 'Patient/old'),
  );
  expect(statuses(result)).toEqual(['201 Created', '204 No Content']);
  expect(Object.keys(await contents(context.store))).toEqual(['Patient/new']);
});

test.each(['transaction', 'batch'])('a %s reads none of the written resources again', async (type) => {
  const context = memoryContext();
  let reads = 0;
  const counted = (result: WriteResult): WriteResult => {
    if (result.kind !== 'put') return result;
    const { kind, created, versionId, lastUpdated } = result;
    return {
      kind,
      created,
      versionId,
      lastUpdated,
      get resource() {
        reads += 1;
        return result.resource;
      },
    };
  };
  const store = storeWith(context.store, {
    commit: async (writes, options) => (await context.store.commit(writes, options)).map(counted),
  });
  const entry = [post({ resourceType: 'Patient', id: 'p' }), put({ resourceType: 'Observation', id: 'o' })];
  const result = await importBundle({ resourceType: 'Bundle', type, entry }, { ...context, store });
  expect(result.bundle.entry?.map(({ response }) => response?.location)).toEqual([
    'Patient/p/_history/1',
    'Observation/o/_history/1',
  ]);
  expect(reads).toBe(0);
});
