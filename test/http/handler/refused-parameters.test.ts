import { expect, test } from 'vitest';
import { createFhirHandler } from '../../../src/http.js';
import { type AuditRecord, MemoryStore, systemCaller } from '../../../src/index.js';

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

const two = { 'if-match': 'W/"1", W/"2"', 'content-type': 'application/fhir+json' };
const notStar = { 'if-none-match': 'W/"1"', 'content-type': 'application/fhir+json' };
const raw = { 'if-none-exist': 'family=\u00d6', 'content-type': 'application/fhir+json' };
const text = { 'content-type': 'text/plain' };
const json = { 'content-type': 'application/fhir+json' };

test.each<[string, string, string, Record<string, string>, string, object]>([
  ['create', 'POST', 'Patient', raw, '{"resourceType":"Patient"}', { type: 'Patient' }],
  ['create', 'POST', 'Patient', text, '{"resourceType":"Patient"}', { type: 'Patient' }],
  ['create', 'POST', 'Patient', json, '{', { type: 'Patient' }],
  ['update', 'PUT', 'Patient/a', two, '{}', { type: 'Patient', id: 'a' }],
  ['update', 'PUT', 'Patient/a', notStar, '{}', { type: 'Patient', id: 'a' }],
  ['update', 'PUT', 'Patient/a', json, '{"resourceType":"Patient","id":"b"}', { type: 'Patient', id: 'a' }],
  ['update', 'PUT', 'Patient?active=true', two, '{}', { type: 'Patient' }],
  ['patch', 'PATCH', 'Patient/a', two, '[]', { type: 'Patient', id: 'a' }],
  ['patch', 'PATCH', 'Patient?active=true', text, '[]', { type: 'Patient' }],
  ['delete', 'DELETE', 'Patient/a', two, '', { type: 'Patient', id: 'a' }],
  ['delete', 'DELETE', 'Patient?active=true', two, '', { type: 'Patient' }],
])('a %s that is refused for its headers or body has an audit record (%s %s)', async (...one) => {
  const [interaction, method, path, headers, body, target] = one;
  const records: AuditRecord[] = [];
  const handler = createFhirHandler({
    store: new MemoryStore(),
    baseUrl: 'https://clinic.example/fhir/R4',
    signIn: () => systemCaller('clinic'),
    audit: (record) => void records.push(record),
  });
  const request = { method, headers, ...(method === 'DELETE' ? {} : { body }) };
  const { status } = await handler(new Request(`https://clinic.example/fhir/R4/${path}`, request));
  expect([400, 415]).toContain(status);
  expect(records).toMatchObject([{ interaction, outcome: { success: false }, who: { kind: 'system' } }]);
  expect(records[0]).toHaveProperty('targets', [target]);
});
