import { ApolloClient, gql, HttpLink, InMemoryCache } from '@apollo/client';
import { Client, fetchExchange } from '@urql/core';
import { cacheExchange } from '@urql/exchange-graphcache';
import { readFileSync } from 'node:fs';
import relay from 'relay-runtime';
import { describe, expect, test } from 'vitest';
import { dataIdFromObject, getDataID, keys, possibleTypes } from '../../src/client.js';
import { readGraphqlRequest } from '../../src/http.js';
import { executeFhirGraphql, toHttpResponse } from '../../src/index.js';
import { R4 } from '../../src/store.js';
import { caller, openClinic, put, type Sample } from '../graphql/harness.js';

// The caches of three clients, each over the engine, with two patients whose prescriptions contain a medication "med".

const URL = 'http://localhost/$graphql';

function prescription(patient: string, text: string, dose: number): Sample {
  const amount = { numerator: { value: dose } };
  return {
    resourceType: 'MedicationRequest',
    id: `for-${patient}`,
    subject: { reference: `Patient/${patient}` },
    contained: [{ resourceType: 'Medication', id: 'med', code: { text }, amount }],
    dosageInstruction: [{ id: '1', text: `${dose} a day` }],
  };
}

async function open() {
  const clinic = await openClinic([prescription('ann', 'aspirin', 1), prescription('bob', 'morphine', 500)]);
  const send: typeof fetch = async (input, init) => {
    const request = readGraphqlRequest({
      url: String(input),
      method: init?.method ?? 'GET',
      headers: { 'content-type': 'application/json' },
      body: init?.body,
    });
    const result = await executeFhirGraphql(request.query, { ...request, store: clinic.store, caller });
    const { status, headers, body } = toHttpResponse(result);
    return new Response(body, { status, headers });
  };
  return { store: clinic.store, send };
}

const NAMES = `query Names($patient: String) { MedicationRequestList(patient: [$patient]) {
  __typename id cache_key dosageInstruction { __typename id text }
  contained { __typename cache_key ... on Medication { id code { __typename text } } }
} }`;
const DOSES = `query Doses($patient: String) { MedicationRequestList(patient: [$patient]) {
  __typename id cache_key
  contained { __typename cache_key ... on Medication { id amount { __typename numerator { __typename value } } } }
} }`;
const ANN = { patient: 'Patient/ann' };
const BOB = { patient: 'Patient/bob' };

type Contained = {
  readonly code?: { readonly text: string };
  readonly amount?: { readonly numerator: { readonly value: number } };
};
type Answer =
  | {
      readonly MedicationRequestList: readonly {
        readonly contained: readonly Contained[];
        readonly dosageInstruction?: readonly { readonly text: string }[];
      }[];
    }
  | null
  | undefined;

function name(answer: unknown): string | undefined {
  return (answer as Answer)?.MedicationRequestList[0]?.contained[0]?.code?.text;
}
function dose(answer: unknown): number | undefined {
  return (answer as Answer)?.MedicationRequestList[0]?.contained[0]?.amount?.numerator.value;
}

describe("Apollo Client's cache", () => {
  async function names(cache: InMemoryCache) {
    const { send, store } = await open();
    const client = new ApolloClient({ cache, link: new HttpLink({ uri: URL, fetch: send }) });
    await client.query({ query: gql(NAMES), variables: ANN });
    await client.query({ query: gql(NAMES), variables: BOB });
    await client.query({ query: gql(DOSES), variables: BOB });
    return { client, store };
  }

  test("shows one patient's medication for another's if it keys by id", async () => {
    const { client } = await names(new InMemoryCache());
    expect(name(client.readQuery({ query: gql(NAMES), variables: ANN }))).toBe('morphine');
    expect(dose(client.readQuery({ query: gql(DOSES), variables: ANN }))).toBe(500);
  });

  test('distinguishes them by cache_key', async () => {
    const { client, store } = await names(new InMemoryCache({ dataIdFromObject, possibleTypes }));
    const kept = client.readQuery({ query: gql(NAMES), variables: ANN });
    expect(name(kept)).toBe('aspirin');
    expect((kept as NonNullable<Answer>).MedicationRequestList[0]!.dosageInstruction![0]!.text).toBe('1 a day');
    expect(name(client.readQuery({ query: gql(NAMES), variables: BOB }))).toBe('morphine');
    expect(dose((await client.query({ query: gql(DOSES), variables: ANN })).data)).toBe(1);
    // The same id in the next version is another medication: nothing of it is put beside the old name.
    await put(store, [prescription('ann', 'warfarin', 7)]);
    const after = await client.query({ query: gql(DOSES), variables: ANN, fetchPolicy: 'network-only' });
    expect(dose(after.data)).toBe(7);
    expect(name(client.readQuery({ query: gql(NAMES), variables: ANN }))).not.toBe('aspirin');
  });

  test('has one entry for a resource that several queries return', async () => {
    const cache = new InMemoryCache({ dataIdFromObject, possibleTypes });
    await names(cache);
    const entries = Object.keys(cache.extract()).filter((key) => key.startsWith('MedicationRequest/for-bob'));
    expect(entries.sort()).toEqual([
      'MedicationRequest/for-bob',
      expect.stringMatching(/^MedicationRequest\/for-bob\/_history\/[^#]+#med$/),
    ]);
  });
});

describe("urql's Graphcache", () => {
  async function client(options: Parameters<typeof cacheExchange>[0]) {
    const { send } = await open();
    const client = new Client({
      url: URL,
      preferGetMethod: false,
      fetch: send,
      exchanges: [cacheExchange(options), fetchExchange],
    });
    for (const [query, variables] of [
      [NAMES, ANN],
      [NAMES, BOB],
      [DOSES, BOB],
    ] as const) {
      expect((await client.query(query, variables).toPromise()).error).toBeUndefined();
    }
    return client;
  }

  test("shows one patient's medication for another's if it keys by id", async () => {
    const urql = await client({ logger: () => undefined });
    expect(name(urql.readQuery(NAMES, ANN)?.data)).toBe('morphine');
    expect(dose(urql.readQuery(DOSES, ANN)?.data)).toBe(500);
  });

  test('distinguishes them by cache_key, and warns of no type without', async () => {
    const said: string[] = [];
    const urql = await client({ keys, logger: (_, message) => void said.push(message) });
    const kept = urql.readQuery(NAMES, ANN)?.data as NonNullable<Answer>;
    expect(name(kept)).toBe('aspirin');
    expect(kept.MedicationRequestList[0]!.dosageInstruction![0]!.text).toBe('1 a day');
    expect(name(urql.readQuery(NAMES, BOB)?.data)).toBe('morphine');
    expect(dose((await urql.query(DOSES, ANN).toPromise()).data)).toBe(1);
    expect(said.filter((message) => message.includes('Invalid key'))).toEqual([]);
  });
});

describe("Relay's store", () => {
  const compiled = (file: string): relay.ConcreteRequest =>
    JSON.parse(
      readFileSync(new globalThis.URL(`relay/${file}.json`, import.meta.url), 'utf8'),
    ) as relay.ConcreteRequest;
  const MEDICATIONS = compiled('clinicMedicationsQuery');
  const RELAY_DOSES = compiled('clinicDosesQuery');

  async function environment(options: object) {
    const { send } = await open();
    const network = relay.Network.create(async ({ text }, variables) => {
      const response = await send(URL, { method: 'POST', body: JSON.stringify({ query: text, variables }) });
      return (await response.json()) as relay.GraphQLResponse;
    });
    const relayEnvironment = new relay.Environment({
      network,
      store: new relay.Store(new relay.RecordSource(), { gcReleaseBufferSize: 10 }),
      ...options,
    });
    const fetched = async (request: relay.ConcreteRequest, variables: relay.Variables): Promise<unknown> => {
      const operation = relay.createOperationDescriptor(request, variables);
      relayEnvironment.retain(operation);
      await relayEnvironment.execute({ operation }).toPromise();
      return relayEnvironment.lookup(operation.fragment).data;
    };
    const kept = (request: relay.ConcreteRequest, variables: relay.Variables): unknown =>
      relayEnvironment.lookup(relay.createOperationDescriptor(request, variables).fragment).data;
    await fetched(MEDICATIONS, ANN);
    await fetched(MEDICATIONS, BOB);
    await fetched(RELAY_DOSES, BOB);
    return { fetched, kept };
  }

  test("shows one patient's medication for another's if it keys by id", async () => {
    const { kept } = await environment({});
    expect(name(kept(MEDICATIONS, ANN))).toBe('morphine');
  });

  test('distinguishes them by cache_key, which the compiler selects', async () => {
    const { fetched, kept } = await environment({ getDataID });
    expect(name(kept(MEDICATIONS, ANN))).toBe('aspirin');
    expect(name(kept(MEDICATIONS, BOB))).toBe('morphine');
    expect(dose(kept(RELAY_DOSES, ANN))).toBeUndefined();
    expect(dose(await fetched(RELAY_DOSES, ANN))).toBe(1);
    expect(dose(kept(RELAY_DOSES, BOB))).toBe(500);
  });
});

describe('the exports of the entry for clients', () => {
  test('cover every resource type', () => {
    expect(possibleTypes).toEqual({ Resource: [...R4.resourceTypes] });
  });

  test('give no key to an object without cache_key', () => {
    for (const object of [{}, { id: '1' }, { cache_key: null }, { cache_key: '' }, { cache_key: 7 }]) {
      expect(dataIdFromObject(object)).toBeUndefined();
      expect(getDataID(object, 'Patient')).toBeUndefined();
      expect(keys['Patient']!(object)).toBeNull();
    }
    expect(keys['HumanName']!({ cache_key: 'Patient/1' })).toBe('Patient/1');
    expect(Object.keys(keys)).toEqual([]);
  });
});
