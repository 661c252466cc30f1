import { expect, test } from 'vitest';
import { type AuditRecord, importBundle, importNdjson, MemoryStore, systemCaller } from '../../src/index.js';

const caller = systemCaller('clinic');

function observation(id: string, patient: string): object {
  const subject = { reference: `Patient/${patient}` };
  return { resourceType: 'Observation', id, status: 'final', code: { text: 'x' }, subject };
}

test('an import of a Bundle has one record: targets, patients, and the resources that GET entries return', async () => {
  const store = new MemoryStore();
  const records: AuditRecord[] = [];
  const audit = (record: AuditRecord): void => void records.push(record);
  await importBundle(
    {
      resourceType: 'Bundle',
      type: 'transaction',
      entry: [
        { resource: { resourceType: 'Patient', id: 'ann' }, request: { method: 'PUT', url: 'Patient/ann' } },
        { resource: observation('o1', 'bob'), request: { method: 'PUT', url: 'Observation/o1' } },
        { request: { method: 'GET', url: 'Patient/ann' } },
      ],
    },
    { store, caller, audit },
  );
  expect(records).toMatchObject([
    {
      interaction: 'import',
      who: { kind: 'system', project: 'clinic' },
      targets: [
        { type: 'Patient', id: 'ann', versionId: '1', interaction: 'update' },
        { type: 'Observation', id: 'o1', versionId: '1', interaction: 'update' },
        { type: 'Patient', id: 'ann', interaction: 'read' },
      ],
      results: 3,
      returned: { total: 1, resources: [{ type: 'Patient', id: 'ann', versionId: '1' }] },
      patients: { total: 2, ids: ['ann', 'bob'] },
      outcome: { success: true },
    },
  ]);
});

test('a refused Bundle has a record, too', async () => {
  const records: AuditRecord[] = [];
  const context = { store: new MemoryStore(), caller, audit: (record: AuditRecord) => void records.push(record) };
  await importBundle({ resourceType: 'Bundle', type: 'document' }, context).catch(() => undefined);
  expect(records).toMatchObject([{ interaction: 'import', outcome: { success: false, code: 'invalid' } }]);
});

test('an NDJSON import has one record per committed batch', async () => {
  const store = new MemoryStore();
  const records: AuditRecord[] = [];
  const lines = ['p1', 'p2', 'p3'].map((patient, index) => JSON.stringify(observation(`o${index}`, patient)));
  await importNdjson(lines.join('\n'), {
    store,
    caller,
    batchLines: 2,
    audit: (record) => void records.push(record),
  });
  // A batch may overtake another.
  records.sort((a, b) => b.results! - a.results!);
  expect(records.map(({ interaction, results, patients }) => [interaction, results, patients?.ids])).toEqual([
    ['import', 2, ['p1', 'p2']],
    ['import', 1, ['p3']],
  ]);
});

test('a batch with a refused required record ends the import, and the batch is in doubt', async () => {
  const store = new MemoryStore();
  const lines = ['p1', 'p2', 'p3'].map((patient, index) => JSON.stringify(observation(`o${index}`, patient)));
  const audit = (): Promise<void> => Promise.reject(new Error('down'));
  const imported = importNdjson(lines.join('\n'), { store, caller, batchLines: 1, audit, requireAudit: true });
  await expect(imported).rejects.toMatchObject({ code: 'unavailable', details: { audit: true, written: true } });
  const [first, second] = await store.read(['o0', 'o1'].map((id) => ({ project: 'clinic', type: 'Observation', id })));
  expect([first?.status, second?.status]).toEqual(['found', 'missing']);
});
