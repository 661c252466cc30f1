import { serverAudits } from 'graphql-http';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { createTestService, type TestService } from '../../src/test-service.js';
import { readPage } from '../support/pages.js';
import { HOSTS, openHost, type OpenHost } from './open-host.js';

/** ``| `22EB` | SHOULD accept … | ok | ok |`` */
const documented = [
  ...readPage('graphql-over-http-audits').matchAll(/^\| `(\w{4})` \| (.+?) +\| (\w+) +\| (\w+) +\|$/gm),
].map(([, id, name, result, inDraft]) => ({ id, name, result, inDraft }));

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
  test('are listed in graphql-over-http-audits.md', () => {
    expect(documented.map(({ id, name }) => [id, name])).toEqual(audits.map(({ id, name }) => [id, name]));
  });

  test.each(audits)('$id: $name', async ({ id, fn }) => {
    const result = await fn();
    expect(result).toMatchObject({ status: documented.find((one) => one.id === id)?.result });
  });

  test('of the draft of 2026-08-06 differ only where that draft does, and never in a MUST', async () => {
    const results = await Promise.all(auditsInDraft.map(async ({ id, fn }) => [id, (await fn()).status]));
    expect(results).toEqual(documented.map(({ id, inDraft }) => [id, inDraft]));
    expect(documented.filter(({ name, inDraft }) => name!.startsWith('MUST') && inDraft !== 'ok')).toEqual([]);
  });
});
