import { serverAudits } from 'graphql-http';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { createTestService, type TestService } from '../../src/test-service.js';
import { readPage } from '../support/pages.js';
import { HOSTS, openHost, type OpenHost } from './open-host.js';

/** ``| `warn` (a SHOULD) | `47DE` `80D8` |``: the audits that the draft of 2026-08-06 does not pass, with their results. */
const differing = new Map(
  [...readPage('graphql-over-http').matchAll(/^\| `(warn|notice)` .*? \| (.+) \|$/gm)].flatMap(([, result, ids]) =>
    [...ids!.matchAll(/\w{4}/g)].map(([id]) => [id, result!]),
  ),
);

let host: OpenHost;
let draft: TestService;
beforeAll(async () => {
  host = await openHost(HOSTS[0]![1]);
  draft = await createTestService({ config: { graphqlOverHttp: '2026-08-06' } });
});
afterAll(() => Promise.all([host.stop(), draft.close()]));

const audits = serverAudits({
  url: () => `${host.url}/fhir/R4/$graphql`,
  fetchFn: (url: string, init: RequestInit = {}) => {
    const headers = new Headers(init.headers);
    headers.set('authorization', `Bearer ${host.administrator}`);
    return fetch(url, { ...init, headers });
  },
});
const auditsInDraft = serverAudits({
  url: () => `${draft.baseUrl}/$graphql`,
  fetchFn: (url: string, init?: RequestInit) => draft.fetch(url, init),
});

describe('the audits of graphql-http', () => {
  test('are as many as graphql-over-http.md says', () => {
    expect(readPage('graphql-over-http')).toContain(`passes all ${audits.length} audits`);
  });

  test.each(audits)('$id: $name', async ({ fn }) => {
    expect(await fn()).toMatchObject({ status: 'ok' });
  });

  test('of the draft of 2026-08-06 differ only where that draft does, and never in a MUST', async () => {
    const results = await Promise.all(auditsInDraft.map(async ({ id, fn }) => [id, (await fn()).status]));
    expect(results).toEqual(audits.map(({ id }) => [id, differing.get(id) ?? 'ok']));
    expect(audits.filter(({ id, name }) => name.startsWith('MUST') && differing.has(id))).toEqual([]);
  });
});
