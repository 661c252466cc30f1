import { expect, test } from 'vitest';
import { type Caller, type ResourceStore, systemCaller } from '../../src/index.js';
import { carryOutWrites } from '../../src/interactions/carry-out-writes.js';
import { guardStore } from '../../src/access/guarded-store.js';
import type { WriteOutcome, WriteRequest } from '../../src/interactions/write-request.js';
import { faultOf, overStores, signedIn, system } from '../repository/harness.js';

const IDENTIFIER = [{ system: 'urn:mrn', value: '1' }];
const CONDITION = 'identifier=urn:mrn|1';

function patient(id?: string, more: object = {}): object {
  return { resourceType: 'Patient', ...(id === undefined ? {} : { id }), ...more };
}

function carryOut(store: ResourceStore, caller: Caller, requests: readonly WriteRequest[]) {
  return carryOutWrites(requests, { store: guardStore(store, caller), options: {} });
}

/** The outcome of each request: its status, and the id of its resource. */
function told(outcomes: readonly WriteOutcome[]): string[] {
  return outcomes.map((outcome) =>
    outcome.status === 'deleted' ? `deleted ${outcome.key.id}` : `${outcome.status} ${outcome.resource.id!}`,
  );
}

overStores('writes of one commit', (open) => {
  const callers: readonly (readonly [string, (store: ResourceStore) => Promise<Caller>])[] = [
    ['trusted code', () => Promise.resolve(systemCaller('clinic'))],
    ['a member', (store) => signedIn(store, { rules: [{ resourceType: 'Patient' }] })],
  ];

  test.each(callers)('each see the effects of earlier writes, for %s', async (_, callerOf) => {
    const store = open();
    const trusted = await system(store);
    const outcomes = await carryOut(store, await callerOf(store), [
      { interaction: 'update', resource: patient('p', { gender: 'female' }) },
      {
        interaction: 'patch',
        key: { type: 'Patient', id: 'p' },
        operations: [
          { op: 'test', path: '/gender', value: 'female' },
          { op: 'add', path: '/birthDate', value: '2001' },
        ],
      },
      { interaction: 'update', resource: patient('q') },
      { interaction: 'delete', key: { type: 'Patient', id: 'q' } },
      { interaction: 'delete', key: { type: 'Patient', id: 'q' } },
    ]);
    expect(told(outcomes)).toEqual(['created p', 'updated p', 'created q', 'deleted q', 'deleted q']);
    expect(await trusted.read('Patient', 'p')).toMatchObject({
      gender: 'female',
      birthDate: '2001',
      meta: { versionId: '2' },
    });
    expect((await faultOf(trusted.read('Patient', 'q'))).code).toBe('gone');
  });

  test.each(callers)('a condition is met by an earlier write, for %s', async (_, callerOf) => {
    const store = open();
    const trusted = await system(store);
    const create: WriteRequest = {
      interaction: 'create',
      resource: patient(undefined, { identifier: IDENTIFIER }),
      ifNoneExist: CONDITION,
    };
    const [first, second, third] = await carryOut(store, await callerOf(store), [create, create, create]);
    expect([first!.status, second!.status, third!.status]).toEqual(['created', 'matched', 'matched']);
    expect(told([second!, third!])).toEqual(told([first!, first!]).map((text) => text.replace('created', 'matched')));
    expect((await trusted.search('Patient', '_summary=count')).total).toBe(1);
  });

  test.each(callers)('a condition is no longer met after an earlier write, for %s', async (_, callerOf) => {
    const store = open();
    const trusted = await system(store);
    await trusted.update({ resourceType: 'Patient', id: 'old', identifier: IDENTIFIER });
    await trusted.update({ resourceType: 'Patient', id: 'other', identifier: [{ system: 'urn:mrn', value: '2' }] });
    const outcomes = await carryOut(store, await callerOf(store), [
      { interaction: 'delete', key: { type: 'Patient', id: 'old' } },
      { interaction: 'update', resource: patient('other') },
      { interaction: 'create', resource: patient(undefined, { identifier: IDENTIFIER }), ifNoneExist: CONDITION },
      { interaction: 'create', resource: patient(), ifNoneExist: 'identifier=urn:mrn|2' },
    ]);
    expect(outcomes.map(({ status }) => status)).toEqual(['deleted', 'updated', 'created', 'created']);
  });

  test.each(callers)('a condition that a stored and a new resource meet is refused, for %s', async (_, callerOf) => {
    const store = open();
    const trusted = await system(store);
    await trusted.update({ resourceType: 'Patient', id: 'old', identifier: IDENTIFIER });
    const fault = await faultOf(
      carryOut(store, await callerOf(store), [
        { interaction: 'update', resource: patient('new', { identifier: IDENTIFIER }) },
        { interaction: 'create', resource: patient(), ifNoneExist: CONDITION },
      ]),
    );
    expect([fault.code, fault.details?.['index']]).toEqual(['precondition-failed', 1]);
    expect((await trusted.search('Patient', '_summary=count')).total).toBe(1);
  });

  test.each<[string, number, WriteRequest]>([
    ['not-found', 1, { interaction: 'delete', key: { type: 'Patient', id: 'never' } }],
    ['not-found', 1, { interaction: 'patch', key: { type: 'Patient', id: 'never' }, operations: [] }],
    ['not-found', 1, { interaction: 'delete', key: { type: 'Patient', id: 'no id' } }],
    ['precondition-failed', 1, { interaction: 'update', resource: patient('p'), ifMatch: '7' }],
    ['precondition-failed', 1, { interaction: 'delete', key: { type: 'Patient', id: 'p' }, ifMatch: '7' }],
    ['invalid', 1, { interaction: 'create', resource: patient(), ifNoneExist: '' }],
    ['invalid', 1, { interaction: 'create', resource: { resourceType: 'Nothing' } }],
    ['invalid', 1, { interaction: 'update', resource: patient() }],
  ])('%s of request %i undoes the others: %j', async (code, index, request) => {
    const store = open();
    const trusted = await system(store);
    await trusted.update({ resourceType: 'Patient', id: 'p' });
    for (const caller of [systemCaller('clinic'), await signedIn(store, { rules: [{ resourceType: 'Patient' }] })]) {
      const first: WriteRequest = { interaction: 'update', resource: patient('first') };
      const fault = await faultOf(carryOut(store, caller, [first, request]));
      expect([fault.code, fault.details?.['index']]).toEqual([code, index]);
      expect((await faultOf(trusted.read('Patient', 'first'))).code).toBe('not-found');
    }
  });

  test('report that the writer cannot read the resource', async () => {
    const store = open();
    await system(store);
    const caller = await signedIn(store, {
      rules: [{ resourceType: 'Patient', interaction: ['create'] }],
    });
    const [outcome] = await carryOut(store, caller, [
      { interaction: 'create', resource: patient(undefined, { gender: 'male' }) },
    ]);
    expect(outcome).toMatchObject({ status: 'created', unreadable: true, resource: { gender: 'male' } });
  });
});
