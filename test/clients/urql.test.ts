import { cacheExchange, Client, CombinedError, fetchExchange } from '@urql/core';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { HOSTS, openHost, type OpenHost } from '../hosts/open-host.js';
import { ADD, CHART, PAGE } from '../tools/tool-schema.js';

// urql as an application would use it, against a host over loopback.

let host: OpenHost;
let client: Client;
const requests: Request[] = [];
beforeAll(async () => {
  host = await openHost(HOSTS[0]![1]);
  client = new Client({
    url: `${host.url}/fhir/R4/$graphql`,
    exchanges: [cacheExchange, fetchExchange],
    preferGetMethod: true,
    fetchOptions: () => ({ headers: { authorization: `Bearer ${host.administrator}` } }),
    fetch: (input, init) => {
      const request = new Request(input, init);
      requests.push(request);
      return fetch(request);
    },
  });
});
afterAll(() => host.stop());

test('writes by POST, reads by GET, from its cache the second time', async () => {
  const patient = { birthDate: '1970-05-17', name: [{ use: 'official', family: 'Brook' }] };
  const added = await client.mutation(ADD, { patient }).toPromise();
  expect([added.error, added.data.PatientCreate.birthDate]).toEqual([undefined, '1970-05-17']);
  const { id } = added.data.PatientCreate as { id: string };
  const chart = await client.query(CHART, { id }).toPromise();
  expect(chart.error).toBeUndefined();
  // urql selects the type of every object, to know which queries to send again.
  expect(chart.data.Patient).toMatchObject({
    __typename: 'Patient',
    birthDate: '1970-05-17',
    official: [{ __typename: 'HumanName', family: 'Brook', given: null }],
    ObservationList: [],
  });
  expect((await client.query(CHART, { id }).toPromise()).data).toEqual(chart.data);
  const page = await client.query(PAGE, {}).toPromise();
  expect(page.data.PatientConnection).toMatchObject({ count: 1, next: null, edges: [{ resource: { id } }] });
  expect(requests.map(({ method }) => method)).toEqual(['POST', 'GET', 'GET']);
});

test('receives errors with their codes', async () => {
  const wrong = await client.query('{ PatientList { nothing } }', {}).toPromise();
  expect(wrong.error).toBeInstanceOf(CombinedError);
  expect(wrong.error?.response).toMatchObject({ status: 400 });
  expect(wrong.error?.graphQLErrors).toMatchObject([
    { message: 'Cannot query field "nothing" on type "Patient".', extensions: { code: 'invalid' } },
  ]);
  const missing = await client.query(CHART, { id: 'nobody' }).toPromise();
  expect(missing.data).toEqual({ Patient: null });
  expect(missing.error?.graphQLErrors).toMatchObject([{ path: ['Patient'], extensions: { code: 'not-found' } }]);
});
