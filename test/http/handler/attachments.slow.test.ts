import type { Bundle, DocumentReference } from '@medplum/fhirtypes';
import { expect, test } from 'vitest';
import { importNdjson, MemoryStore, type ResourceStore, systemCaller } from '../../../src/index.js';
import { SqliteStore } from '../../../src/sqlite.js';
import { onceTestEnds } from '../../support/after-tests.js';
import { temporaryFolder } from '../../stores/temporary-folder.js';
import { type Answer, openService } from './open-service.js';

const fileNamed = temporaryFolder();

const STORES: readonly (readonly [string, () => ResourceStore])[] = [
  ['memory', () => new MemoryStore()],
  ['a file of SQLite', () => new SqliteStore(fileNamed('attachments.db'))],
];

test.each(STORES)('an attachment of 10 MB passes all doors: %s', async (_, open) => {
  const store = open();
  onceTestEnds(() => store.close());
  const service = await openService({ store, limits: { variablesSize: 20_000_000 } });
  const data = Buffer.alloc(10_000_000, 'a PDF, say').toString('base64');
  const document = (title: string): DocumentReference => ({
    resourceType: 'DocumentReference',
    status: 'current',
    description: title,
    content: [{ attachment: { contentType: 'application/pdf', data, title } }],
  });
  const dataIn = ({ body }: Answer): unknown => (body as DocumentReference).content[0]!.attachment.data;
  const { status, body } = await service.call('POST', 'DocumentReference', { body: document('REST') });
  const path = `DocumentReference/${(body as { id: string }).id}`;
  expect([status, dataIn(await service.call('GET', path))]).toEqual([201, data]);
  const patch = [{ op: 'replace', path: '/content/0/attachment/title', value: 'patched' }];
  const headers = { 'content-type': 'application/json-patch+json' };
  expect(dataIn(await service.call('PATCH', path, { body: patch, headers }))).toBe(data);
  const request = { method: 'POST', url: 'DocumentReference' };
  const bundle = { resourceType: 'Bundle', type: 'transaction', entry: [{ resource: document('Bundle'), request }] };
  expect((await service.call('POST', '', { body: bundle })).status).toBe(200);
  const query = `mutation ($res: DocumentReferenceInput!) {
    DocumentReferenceCreate(res: $res) { content { attachment { data } } }
  }`;
  const mutation = await service.call('POST', '$graphql', {
    body: { query, variables: { res: document('GraphQL') } },
    headers: { 'content-type': 'application/json' },
  });
  expect(mutation.body).toMatchObject({ data: { DocumentReferenceCreate: { content: [{ attachment: { data } }] } } });
  const caller = systemCaller(service.project);
  expect(await importNdjson(JSON.stringify(document('line')), { store, caller })).toMatchObject({ imported: 1 });
  await service.trusted.create(document('code'));
  const found = await service.call('GET', 'DocumentReference?_elements=description');
  const titles = (found.body as Bundle<DocumentReference>).entry!.map(({ resource }) => resource!.description);
  expect(titles.toSorted()).toEqual(['Bundle', 'GraphQL', 'REST', 'code', 'line']);
  const raw = await service.call('POST', 'Binary', {
    body: 'x'.repeat(10_000_000),
    headers: { 'content-type': 'text/plain' },
  });
  const { id } = JSON.parse(raw.text) as { id: string };
  const read = await service.call('GET', `Binary/${id}`, { headers: { accept: 'text/plain' } });
  expect([read.status, read.text.length]).toEqual([200, 10_000_000]);
});
