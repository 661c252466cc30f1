import { serverAudits } from 'graphql-http';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { HOSTS, openHost, type OpenHost } from './open-host.js';
import { readPage } from '../support/pages.js';

/** ``| `22EB` | SHOULD accept … | ok |`` */
const documented = [...readPage('graphql-over-http-audits').matchAll(/^\| `(\w{4})` \| (.+?) +\| (\w+) +\|$/gm)].map(
  ([, id, name, result]) => ({ id, name, result }),
);

let host: OpenHost;
beforeAll(async () => {
  host = await openHost(HOSTS[0]![1]);
});
afterAll(() => host.stop());

const audits = serverAudits({
  url: () => `${host.url}/fhir/R4/$graphql`,
  fetchFn: (url: string, init: RequestInit = {}) => {
    const headers = new Headers(init.headers);
    headers.set('authorization', `Bearer ${host.administrator}`);
    return fetch(url, { ...init, headers });
  },
});

describe('the audits of graphql-http', () => {
  test('are listed in graphql-over-http-audits.md', () => {
    expect(documented.map(({ id, name }) => [id, name])).toEqual(audits.map(({ id, name }) => [id, name]));
  });

  test.each(audits)('$id: $name', async ({ id, fn }) => {
    const result = await fn();
    expect(result).toMatchObject({ status: documented.find((one) => one.id === id)?.result });
  });
});
