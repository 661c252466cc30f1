import { expect, test } from 'vitest';
import type { AuditRecord } from '../../../src/audit/audit-record.js';
import { createFhirHandler } from '../../../src/http/handler/create-fhir-handler.js';
import { systemCaller } from '../../../src/access/caller.js';
import { MemoryStore } from '../../../src/stores/memory/store.js';

test.each([
  ['read', 'Patient/a?_elements=nonsense', { type: 'Patient', id: 'a' }],
  ['read', 'Patient/a?_summary=nonsense', { type: 'Patient', id: 'a' }],
  ['read', 'Binary/b?_elements=nonsense', { type: 'Binary', id: 'b' }],
  ['history', 'Patient/a/_history?_count=nonsense', { type: 'Patient', id: 'a' }],
  ['history', 'Patient/_history?_count=nonsense', { type: 'Patient' }],
  ['search', 'Patient?_elements=nonsense', { type: 'Patient' }],
  ['search', 'Patient/a/$everything?_count=nonsense', { type: 'Patient', id: 'a' }],
])('a refused %s has an audit record (%s)', async (interaction, path, target) => {
  const records: AuditRecord[] = [];
  const handler = createFhirHandler({
    store: new MemoryStore(),
    baseUrl: 'https://clinic.example/fhir/R4',
    signIn: () => systemCaller('clinic'),
    audit: (record) => void records.push(record),
  });
  const { status } = await handler(new Request(`https://clinic.example/fhir/R4/${path}`));
  expect(status).toBe(400);
  expect(records).toMatchObject([
    { interaction, targets: [target], outcome: { success: false, code: 'invalid' }, who: { kind: 'system' } },
  ]);
});
