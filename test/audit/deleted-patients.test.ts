import type { Bundle } from '@medplum/fhirtypes';
import { expect, test } from 'vitest';
import {
  type AuditRecord,
  createAuditLog,
  createRepository,
  erasePatient,
  eraseResource,
  executeFhirGraphql,
  MemoryStore,
  type Repository,
  searchAuditLog,
  systemCaller,
} from '../../src/index.js';
import { onceTestEnds } from '../support/after-tests.js';

/** A project with an audit of its requests. */
async function open() {
  const store = new MemoryStore();
  onceTestEnds(() => store.close());
  const log = createAuditLog({ store, gather: 0 });
  const records: AuditRecord[] = [];
  const audit = async (record: AuditRecord): Promise<void> => {
    records.push(record);
    await log.audit(record);
  };
  const context = { store, caller: systemCaller('clinic'), audit, reason: 'patient-request' } as const;
  const repository = createRepository(context);
  const { id } = await repository.create({ resourceType: 'Patient', name: [{ family: 'Hill' }] });
  const subject = { reference: `Patient/${id}` };
  const observation = await repository.create({ resourceType: 'Observation', status: 'final', code: {}, subject });
  records.length = 0;
  const patients = (): unknown[] => records.splice(0).map((one) => [one.interaction, one.patients?.ids ?? []]);
  return { context, repository, id, observation: observation.id, patients };
}

const entry = (method: 'GET' | 'DELETE', url: string): Bundle => ({
  ...{ resourceType: 'Bundle', type: 'transaction', entry: [{ request: { method, url } }] },
});
const asked = (work: Promise<unknown>): Promise<unknown> => work.catch(() => undefined);

test.each<readonly [string, (repository: Repository, id: string) => Promise<unknown>]>([
  ['delete', (repository, id) => repository.delete('Patient', id)],
  ['transaction', (repository, id) => repository.transaction(entry('DELETE', `Patient/${id}`))],
])('a %s that deletes a Patient names it among the patients', async (interaction, remove) => {
  const { repository, id, patients } = await open();
  await remove(repository, id);
  expect(patients()).toEqual([[interaction, [id]]]);
  // Nothing exists any more, and no patient is affected.
  await repository.transaction(entry('DELETE', 'Patient/never'));
  expect(patients()).toEqual([['transaction', []]]);
});

test('an erased resource of the compartment names the patients of all its versions', async () => {
  const { context, repository, id, observation, patients } = await open();
  const other = await repository.create({ resourceType: 'Patient' });
  const subject = { reference: `Patient/${other.id}` };
  await repository.update({ resourceType: 'Observation', id: observation, status: 'final', code: {}, subject });
  await repository.delete('Observation', observation);
  patients();
  await eraseResource('Observation', observation, context);
  expect(patients()).toEqual([['erase-resource', [other.id, id]]]);
});

test.each(['deleted', 'erased'] as const)(
  'a search for a Patient in the log finds the requests for a Patient that is %s',
  async (state) => {
    const { context, repository, id, patients } = await open();
    if (state === 'erased') await erasePatient(id, context);
    else await repository.delete('Patient', id);
    patients();
    await asked(repository.read('Patient', id));
    await asked(repository.vread('Patient', id, '2'));
    await repository.history('Patient', id);
    await executeFhirGraphql(`{ Patient(id: "${id}") { id } }`, context);
    expect(patients()).toEqual(['read', 'vread', 'history', 'graphql'].map((interaction) => [interaction, [id]]));
    await asked(repository.read('Patient', 'never'));
    await executeFhirGraphql('{ Patient(id: never) { id } }', context);
    expect(patients()).toEqual(['read', 'graphql'].map((interaction) => [interaction, []]));
    const { entry: events = [] } = await searchAuditLog(`patient=Patient/${id}&_sort=_id`, context);
    const names = events.map(({ resource }) => resource!.subtype![0]!.display ?? resource!.subtype![0]!.code);
    expect(names).toEqual([
      ...['create', 'create', state === 'erased' ? 'erase-patient' : 'delete'],
      ...['read', 'vread', 'history-instance', 'graphql'],
    ]);
  },
);
