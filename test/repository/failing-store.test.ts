import { expect, test } from 'vitest';
import { MemoryStore, type Repository, systemCaller } from '../../src/index.js';
import { faultOf, repositoryOf, system } from './harness.js';

const PATIENT = { resourceType: 'Patient', id: 'p' } as const;
const ENTRY = { resource: PATIENT, request: { method: 'PUT', url: 'Patient/p' } } as const;

const CALLS: readonly (readonly [string, (repository: Repository) => Promise<unknown>])[] = [
  ['create', (repository) => repository.create(PATIENT)],
  ['read', (repository) => repository.read('Patient', 'p')],
  ['vread', (repository) => repository.vread('Patient', 'p', '1')],
  ['update', (repository) => repository.update(PATIENT)],
  ['patch', (repository) => repository.patch('Patient', 'p', [{ op: 'add', path: '/active', value: true }])],
  ['delete', (repository) => repository.delete('Patient', 'p')],
  ['conditionalUpdate', (repository) => repository.conditionalUpdate(PATIENT, 'identifier=x')],
  ['conditionalPatch', (repository) => repository.conditionalPatch('Patient', 'identifier=x', [])],
  ['conditionalDelete', (repository) => repository.conditionalDelete('Patient', 'identifier=x')],
  ['search', (repository) => repository.search('Patient')],
  ['history', (repository) => repository.history('Patient', 'p')],
  ['typeHistory', (repository) => repository.typeHistory('Patient')],
  ['systemHistory', (repository) => repository.systemHistory()],
  ['subscribe', (repository) => repository.subscribe('Patient')[Symbol.asyncIterator]().next()],
  [
    'transaction',
    (repository) => repository.transaction({ resourceType: 'Bundle', type: 'transaction', entry: [ENTRY] }),
  ],
  ['batch', (repository) => repository.transaction({ resourceType: 'Bundle', type: 'batch', entry: [ENTRY] })],
];

test('every method of a repository is called', async () => {
  const methods = Object.keys(await system(new MemoryStore()));
  expect(
    CALLS.map(([name]) => name)
      .filter((name) => name !== 'batch')
      .sort(),
  ).toEqual(methods.sort());
});

test.each(CALLS)('%s over a failing store is an internal error, with the failure as its cause', async (_, call) => {
  const store = new MemoryStore();
  await system(store);
  const failure = new Error('the disk is on fire');
  const fail = (): Promise<never> => Promise.reject(failure);
  Object.assign(store, {
    read: fail,
    search: fail,
    searchByReference: fail,
    commit: fail,
    history: fail,
    typeHistory: fail,
    changes: fail,
  });
  const fault = await faultOf(call(repositoryOf(store, systemCaller('clinic'))));
  expect([fault.code, fault.message, fault.cause]).toEqual(['internal', 'Internal error', failure]);
});
