import { createHash } from 'node:crypto';
import { parse } from 'graphql';
import { afterEach, beforeAll, describe, expect, test, vi } from 'vitest';
import { documentFromRequest } from '../../src/http.js';
import {
  createAllowList,
  createAutomaticDocuments,
  executeFhirGraphql,
  FhirError,
  type FhirGraphqlContext,
  type PersistedDocuments,
} from '../../src/index.js';
import { errorCodeOf, type RequestedDocument } from '../../src/graphql/documents/documents.js';
import { caller, failures, messages, openClinic, type Clinic } from './harness.js';

const QUERY = '{ Patient(id: "ann") { gender } }';
const OTHER = '{ Patient(id: "ann") { birthDate } }';
const FOUND = { data: { Patient: { gender: 'female' } } };

let clinic: Clinic;
beforeAll(async () => {
  clinic = await openClinic([{ resourceType: 'Patient', id: 'ann', gender: 'female', birthDate: '1980-02-03' }]);
});
afterEach(() => vi.restoreAllMocks());

function sha256(text: string): string {
  return createHash('sha256').update(text).digest('hex');
}

function ask(query: unknown, documents?: PersistedDocuments, more?: Partial<FhirGraphqlContext>) {
  return executeFhirGraphql(query as string, { store: clinic.store, caller, documents, ...more });
}

describe('a closed list of documents', () => {
  const documents = createAllowList({ [sha256(QUERY)]: QUERY, 'short-name': OTHER, parsed: parse(QUERY) });

  test.each<readonly [string, RequestedDocument]>([
    ['its hash', { documentId: sha256(QUERY) }],
    ['its hash with prefix', { documentId: `sha256:${sha256(QUERY)}` }],
    ['its hash in upper case', { documentId: sha256(QUERY).toUpperCase() }],
    ['its hash and text', { documentId: sha256(QUERY), query: QUERY }],
    ['its text', QUERY],
    ['the id of a parsed document', { documentId: 'parsed' }],
  ])('executes a document by %s', async (_, requested) => {
    expect(await ask(requested, documents)).toEqual(FOUND);
  });

  test('executes a document by an id that is not a hash, with its text or without', async () => {
    const answer = { data: { Patient: { birthDate: '1980-02-03' } } };
    expect(await ask({ documentId: 'short-name' }, documents)).toEqual(answer);
    expect(await ask({ documentId: 'short-name', query: OTHER }, documents)).toEqual(answer);
  });

  test('accepts a Map and pairs too', async () => {
    for (const pairs of [new Map([['a', QUERY]]), [['a', QUERY] as const]]) {
      expect(await ask({ documentId: 'a' }, createAllowList(pairs))).toEqual(FOUND);
    }
  });

  test.each<readonly [string, RequestedDocument, string]>([
    ['an unknown text', '{ PatientList { id } }', 'forbidden'],
    ['a known text with another space', `${QUERY} `, 'forbidden'],
    ['the text of a document under another name than its hash', OTHER, 'forbidden'],
    ['introspection', '{ __schema { queryType { name } } }', 'forbidden'],
    ['an unknown hash', { documentId: sha256('x') }, 'not-found'],
    ['an unknown hash with its text', { documentId: sha256('x'), query: 'x' }, 'not-found'],
    ['a known id with another text', { documentId: sha256(QUERY), query: OTHER }, 'invalid'],
    ['a name that every object inherits', { documentId: 'constructor' }, 'not-found'],
    ['__proto__', { documentId: '__proto__' }, 'not-found'],
    ['an empty id', { documentId: '' }, 'invalid'],
    ['an endless id', { documentId: 'x'.repeat(257) }, 'invalid'],
    ['no query at all', '', 'invalid'],
  ])('refuses %s', async (_, requested, code) => {
    const { store } = clinic;
    const calls = [vi.spyOn(store, 'read'), vi.spyOn(store, 'search')];
    expect(failures(await ask(requested, documents))).toEqual([code]);
    for (const call of calls) expect(call).not.toHaveBeenCalled();
  });

  test('executes the document of the list, whatever else a parsed document contains', async () => {
    const printed = '{\n  Patient(id: "ann") {\n    gender\n  }\n}';
    const list = createAllowList({ [sha256(printed)]: printed });
    expect(await ask(parse(QUERY), list)).toEqual(FOUND);
    expect(failures(await ask(parse(OTHER), list))).toEqual(['forbidden']);
    const forged = parse(QUERY, { noLocation: false });
    Object.assign(forged, { loc: { source: { body: printed } }, definitions: parse(OTHER).definitions });
    expect(failures(await ask(forged, list))).toEqual(['forbidden']);
  });

  test('does not look up a text that is too long to be executed', async () => {
    const find = vi.fn();
    const answer = await ask(' '.repeat(200) + QUERY, { find }, { limits: { queryLength: 100 } });
    expect(failures(answer)).toEqual(['too-costly']);
    expect(find).not.toHaveBeenCalled();
  });
});

describe('automatic persisted queries', () => {
  test('a hash is requested with its text once, and is enough from then on', async () => {
    const documents = createAutomaticDocuments();
    const first = await ask({ documentId: sha256(QUERY) }, documents);
    expect(first.data).toBeUndefined();
    expect(first.errors).toMatchObject([
      { message: 'PersistedQueryNotFound', extensions: { code: 'PERSISTED_QUERY_NOT_FOUND' } },
    ]);
    expect(await ask({ documentId: sha256(QUERY), query: QUERY }, documents)).toEqual(FOUND);
    expect(await ask({ documentId: sha256(QUERY) }, documents)).toEqual(FOUND);
  });

  test('any text is executed, and not stored without its hash', async () => {
    const documents = createAutomaticDocuments();
    expect(await ask(QUERY, documents)).toEqual(FOUND);
    expect(messages(await ask({ documentId: sha256(QUERY) }, documents))).toEqual(['PersistedQueryNotFound']);
  });

  test('a text under a wrong hash is neither executed nor stored', async () => {
    const documents = createAutomaticDocuments();
    expect(failures(await ask({ documentId: sha256(QUERY), query: OTHER }, documents))).toEqual(['invalid']);
    expect(failures(await ask({ documentId: 'named', query: QUERY }, documents))).toEqual(['invalid']);
    expect(messages(await ask({ documentId: sha256(QUERY) }, documents))).toEqual(['PersistedQueryNotFound']);
  });

  test('an invalid document is not stored', async () => {
    const add = vi.fn();
    const bad = '{ Nothing }';
    expect(failures(await ask({ documentId: sha256(bad), query: bad }, { find: () => undefined, add }))).toEqual([
      'invalid (1:3)',
    ]);
    expect(add).not.toHaveBeenCalled();
  });

  test('has no more documents and characters than its limits', async () => {
    const twoTexts = createAutomaticDocuments({ documents: 2 });
    for (const id of ['a', 'b', 'c']) await twoTexts.add!(id, QUERY);
    expect(['a', 'b', 'c'].map((id) => twoTexts.find(id))).toEqual([undefined, QUERY, QUERY]);
    const shortTexts = createAutomaticDocuments({ characters: 10 });
    for (const id of ['a', 'b', 'c']) await shortTexts.add!(id, 'xxxxx');
    expect(['a', 'b', 'c'].map((id) => shortTexts.find(id))).toEqual([undefined, 'xxxxx', 'xxxxx']);
    await shortTexts.add!('long', 'x'.repeat(11));
    expect(shortTexts.find('long')).toBeUndefined();
  });

  test('works over a cache of the host, which receives the signal', async () => {
    const shared = new Map<string, string>();
    const signals: unknown[] = [];
    const documents: PersistedDocuments = {
      async find(id, options) {
        signals.push(options?.signal);
        return Promise.resolve(shared.get(id));
      },
      async add(id, text) {
        await Promise.resolve();
        shared.set(id, text);
      },
    };
    const { signal } = new AbortController();
    await ask({ documentId: sha256(QUERY), query: QUERY }, documents, { signal });
    expect(await ask({ documentId: sha256(QUERY) }, documents, { signal })).toEqual(FOUND);
    expect(signals).toEqual([signal]);
  });

  test('a failed cache is an error of the request, with as much detail as the host allows', async () => {
    const broken = (error: Error): PersistedDocuments => ({ find: () => Promise.reject(error), add: () => undefined });
    const secret = await ask({ documentId: 'a' }, broken(new Error('redis://user:secret')));
    expect(failures(secret)).toEqual(['internal']);
    expect(JSON.stringify(secret)).not.toContain('secret');
    const known = await ask({ documentId: 'a' }, broken(new FhirError('unavailable', 'Later')));
    expect(messages(known)).toEqual(['Later']);
  });
});

describe('without documents', () => {
  test('an id alone is not supported, with the message that clients expect', async () => {
    expect((await ask({ documentId: sha256(QUERY) })).errors).toMatchObject([
      { message: 'PersistedQueryNotSupported', extensions: { code: 'PERSISTED_QUERY_NOT_SUPPORTED' } },
    ]);
  });

  test('a text is executed, with or without its hash', async () => {
    expect(await ask(QUERY)).toEqual(FOUND);
    expect(await ask({ documentId: sha256(QUERY), query: QUERY })).toEqual(FOUND);
    expect(failures(await ask({ documentId: sha256(OTHER), query: QUERY }))).toEqual(['invalid']);
  });
});

test('the audit trail has the codes of this library', async () => {
  const audit = vi.fn();
  await ask({ documentId: sha256(QUERY) }, createAutomaticDocuments(), { audit });
  expect(audit).toHaveBeenCalledWith(expect.objectContaining({ outcome: { success: false, code: 'not-found' } }));
  expect(errorCodeOf('PERSISTED_QUERY_NOT_SUPPORTED')).toBe('unsupported');
  expect(errorCodeOf('too-costly')).toBe('too-costly');
});

describe('the document of a request', () => {
  const hash = sha256(QUERY);

  test.each<readonly [string, { readonly [name: string]: unknown }, unknown]>([
    ['text', { query: QUERY }, QUERY],
    ['GraphQL over HTTP', { documentId: `sha256:${hash}` }, { documentId: hash }],
    ['Relay', { id: 'fd9a' }, { documentId: 'fd9a' }],
    ['Relay at its first users', { doc_id: 'fd9a', query: null }, { documentId: 'fd9a' }],
    ['Apollo', { extensions: { persistedQuery: { version: 1, sha256Hash: hash } } }, { documentId: hash }],
    [
      'Apollo, registering',
      { query: QUERY, extensions: { persistedQuery: { version: 1, sha256Hash: hash } } },
      { documentId: hash, query: QUERY },
    ],
    ['the same in two spellings', { documentId: `sha256:${hash}`, id: hash }, { documentId: hash }],
    ['other extensions', { query: QUERY, extensions: { tracing: {} } }, QUERY],
    ['nothing', {}, undefined],
    ['names that objects inherit', Object.create({ query: QUERY }) as Record<string, unknown>, undefined],
  ])('%s', (_, parameters, expected) => {
    expect(documentFromRequest(parameters)).toEqual(expected);
  });

  test.each([
    { query: 5 },
    { documentId: 5 },
    { documentId: '' },
    { id: 'a', doc_id: 'b' },
    { extensions: { persistedQuery: null, x: 1 }, id: ['a'] },
    { extensions: { persistedQuery: { version: 2, sha256Hash: hash } } },
    { extensions: { persistedQuery: { version: 1 } } },
    { extensions: { persistedQuery: [] } },
  ])('refuses %j', (parameters) => {
    expect(() => documentFromRequest(parameters)).toThrow(expect.objectContaining({ code: 'invalid' }) as Error);
  });
});
