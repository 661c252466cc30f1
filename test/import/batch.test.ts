import { describe, expect, test, vi } from 'vitest';
import { FhirError, importBundle } from '../../src/index.js';
import { ask, batch, contents, faultOf, memoryContext, post, put, statuses } from './harness.js';

describe('a batch', () => {
  test('has pages of at most 1,000 resources, and no empty list of entries', async () => {
    const context = memoryContext();
    const result = await importBundle(
      batch(ask('GET', 'Patient?_count=1001'), ask('GET', 'Patient?_count=1000'), ask('GET', 'Patient/none')),
      context,
    );
    const [long, empty, missing] = result.bundle.entry!;
    const textOf = (one: typeof long): unknown =>
      (one!.response!.outcome as { readonly issue: readonly { readonly details?: object }[] }).issue[0]!.details;
    expect(textOf(long)).toMatchObject({ text: expect.stringContaining('at most 1000 are allowed') as string });
    expect(empty!.resource).toEqual({ resourceType: 'Bundle', type: 'searchset', total: 0 });
    expect(textOf(missing)).toEqual({ text: 'Patient/none was not found' });
  });

  test('writes the valid entries and reports the others, entry by entry', async () => {
    const context = memoryContext();
    const result = await importBundle(
      batch(
        put({ resourceType: 'Patient', id: 'a' }),
        post({ resourceType: 'Pateint' }),
        put({ resourceType: 'Patient', id: 'b' }, { ifMatch: 'W/"7"' }),
        put({ resourceType: 'Patient', id: 'c' }),
        ask('GET', 'Patient/a'),
        ask('GET', 'Patient/none'),
        ask('PATCH', 'Patient/a'),
        ask('DELETE', 'Patient/a', { ifMatch: 'W/"7"' }),
      ),
      context,
    );
    expect(result.bundle.type).toBe('batch-response');
    expect(statuses(result)).toEqual([
      '201 Created',
      '404 Not Found',
      '412 Precondition Failed',
      '201 Created',
      '200 OK',
      '404 Not Found',
      '400 Bad Request',
      '412 Precondition Failed',
    ]);
    expect(result).toMatchObject({ created: 2, updated: 0, deleted: 0, failed: 5 });
    expect(result.bundle.entry![1]!.response!.outcome).toMatchObject({
      resourceType: 'OperationOutcome',
      issue: [{ severity: 'error', code: 'not-found', details: { text: expect.stringContaining('"Pateint"') } }],
    });
    expect(Object.keys(await contents(context.store))).toEqual(['Patient/a', 'Patient/c']);
  });

  test('rewrites links between its entries', async () => {
    const context = memoryContext();
    await importBundle(
      batch(
        put({ resourceType: 'Observation', id: 'o', status: 'final', subject: { reference: 'urn:uuid:p' } }),
        post({ resourceType: 'Patient' }, { fullUrl: 'urn:uuid:p' }),
      ),
      context,
    );
    expect((await contents(context.store))['Observation/o']).toMatchObject({ subject: { reference: 'Patient/p' } });
  });

  test('can write one resource twice: the later entry wins, even over the stored version', async () => {
    const context = memoryContext();
    await importBundle(batch(put({ resourceType: 'Patient', id: 'p', active: true })), context);
    const result = await importBundle(
      batch(
        put({ resourceType: 'Patient', id: 'p', active: false }),
        put({ resourceType: 'Patient', id: 'p', active: true }),
      ),
      context,
    );
    expect(result).toMatchObject({ updated: 2, unchanged: 0 });
    expect((await contents(context.store))['Patient/p']).toMatchObject({ active: true });
  });

  test('finds by a condition a resource of an earlier entry', async () => {
    const context = memoryContext();
    const patient = (id: string): ReturnType<typeof post> =>
      post({ resourceType: 'Patient', id, identifier: [{ value: '1' }] }, { ifNoneExist: 'identifier=1' });
    const result = await importBundle(batch(patient('first'), patient('second'), patient('third')), context);
    expect(statuses(result)).toEqual(['201 Created', '200 OK', '200 OK']);
    expect(Object.keys(await contents(context.store))).toEqual(['Patient/first']);
  });

  test('needs one commit while nothing fails', async () => {
    const context = memoryContext();
    const commits = vi.spyOn(context.store, 'commit');
    await importBundle(
      batch(...Array.from({ length: 50 }, (_, index) => put({ resourceType: 'Patient', id: `p${index}` }))),
      context,
    );
    expect(commits).toHaveBeenCalledTimes(1);
  });

  test('ends when the store is down, which is not an error of an entry', async () => {
    const context = memoryContext();
    context.store.commit = () => Promise.reject(new FhirError('unavailable', 'The store is down'));
    const fault = await faultOf(importBundle(batch(put({ resourceType: 'Patient', id: 'p' })), context));
    expect(fault.code).toBe('unavailable');
  });

  test('hides the internal errors of a store', async () => {
    const context = memoryContext();
    context.store.commit = () => Promise.reject(new TypeError('secret internals'));
    const result = await importBundle(batch(put({ resourceType: 'Patient', id: 'p' })), context);
    expect(statuses(result)).toEqual(['500 Internal Server Error']);
    expect(JSON.stringify(result)).not.toContain('secret');
  });
});
