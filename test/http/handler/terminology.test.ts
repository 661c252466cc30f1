import type { AccessPolicy, Resource } from '@medplum/fhirtypes';
import { beforeAll, describe, expect, test } from 'vitest';
import { createFhirHandler } from '../../../src/http.js';
import { createFhirGraphql, executeFhirGraphql, MemoryStore, signIn, systemCaller } from '../../../src/index.js';
import { type Tracer, withTelemetry } from '../../../src/telemetry.js';
import { projectTerminology, withTerminology } from '../../../src/terminology.js';
import { codeOf } from '../../repository/harness.js';
import { ANIMALS, filter, SETS, SYSTEM, valueSet } from '../../terminology/resources.js';
import { BASE, openService, type Service } from './open-service.js';

const MAMMALS = `${SETS}mammals`;
const POLICY: AccessPolicy = {
  resourceType: 'AccessPolicy',
  name: 'Mammals',
  resource: [
    { resourceType: 'Observation', criteria: `Observation?code:in=${MAMMALS}` },
    // A policy is expanded with the rights of trusted code, a search with those of the caller.
    { resourceType: 'ValueSet' },
    { resourceType: 'CodeSystem' },
  ],
};
const terminology = projectTerminology();
const store = new MemoryStore();
let service: Service;
let vet: string;

beforeAll(async () => {
  service = await openService({ store, terminology });
  const { trusted } = service;
  for (const resource of [ANIMALS, valueSet('mammals', filter('concept', 'is-a', 'mammal'))]) {
    await trusted.update(resource as Resource);
  }
  for (const code of ['cat', 'bird', 'bat']) {
    const coding = [{ system: SYSTEM, code }];
    await trusted.update({ resourceType: 'Observation', id: code, status: 'final', code: { coding } });
  }
  const policy = (await service.call('POST', 'AccessPolicy', { body: POLICY })).body as AccessPolicy;
  const members = (await trusted.search('ProjectMembership', '')).entry!.map(({ resource }) => resource!);
  const nurse = members.find((one) => one.resourceType === 'ProjectMembership' && one.access !== undefined)!;
  vet = nurse.id!;
  const access = [{ policy: { reference: `AccessPolicy/${policy.id}` } }];
  await trusted.update({ ...nurse, access });
});

const filtered = `{ ObservationList(_filter: "code in ${MAMMALS}") { id } }`;
const ANSWER = { data: { ObservationList: [{ id: 'bat' }, { id: 'cat' }] } };

const graphqlPath = (query: string): string => `$graphql?query=${encodeURIComponent(query)}`;

function idsOf(bundle: unknown): unknown {
  return (bundle as { entry?: { resource: { id: string } }[] }).entry?.map(({ resource }) => resource.id);
}

describe('terminology as an option', () => {
  test('is accepted by a handler, for GraphQL and REST', async () => {
    expect((await service.call('GET', graphqlPath(filtered))).body).toEqual(ANSWER);
    const found = await service.call('GET', `Observation?code:below=${SYSTEM}|mammal`);
    expect(idsOf(found.body)).toEqual(['bat', 'cat']);
  });

  test('is accepted by a GraphQL service, alone and in a handler, and by a single request', async () => {
    const caller = systemCaller(service.project);
    const graphql = createFhirGraphql({ store, terminology });
    expect(await graphql.execute(filtered, { caller })).toEqual(ANSWER);
    expect(await executeFhirGraphql(filtered, { store, terminology, caller })).toEqual(ANSWER);
    const over = await openOver({ graphql });
    expect(await (await over(new Request(`${BASE}/${graphqlPath(filtered)}`), { caller })).json()).toEqual(ANSWER);
    const rest = await over(new Request(`${BASE}/Observation?code:in=${MAMMALS}`), { caller });
    expect(idsOf(await rest.json())).toEqual(['bat', 'cat']);
    await expect(openOver({ graphql, terminology })).rejects.toThrow('terminology belongs to the service in graphql');
  });

  test('answers a member with a policy that uses :in, signed in over the store that signIn receives', async () => {
    const handler = await openOver({
      terminology,
      signIn: (_, { store: given }) => signIn(given, { membership: vet }),
    });
    const ask = async (path: string): Promise<unknown> => (await handler(new Request(`${BASE}/${path}`))).json();
    expect(await ask(graphqlPath('{ ObservationList { id } }'))).toEqual(ANSWER);
    expect(idsOf(await ask('Observation'))).toEqual(['bat', 'cat']);
    expect(await ask(graphqlPath('{ Observation(id: "bird") { id } }'))).toMatchObject({ data: { Observation: null } });
    expect(await codeOf(signIn(store, { membership: vet }))).toBe('policy-invalid');
  });

  test('keeps the telemetry of the store', async () => {
    const spans: string[] = [];
    const span = {
      setAttribute: () => span,
      setStatus: () => span,
      recordException: () => undefined,
      end: () => undefined,
    };
    const tracer = { startActiveSpan: (name: string, ...rest: unknown[]) => (spans.push(name), (rest.at(-1) as (one: object) => unknown)(span)) }; // prettier-ignore
    const observed = withTelemetry(store, { tracer: tracer as unknown as Tracer });
    const graphql = createFhirGraphql({ store: observed, terminology });
    await graphql.execute(filtered, { caller: systemCaller(service.project) });
    expect(spans).toContain('fhirgraph.graphql');
    expect(spans).toContain('search Observation');
  });

  test('is checked when the service is created', () => {
    for (const given of [null, 'tx', {}, { ...terminology, lookup: 1 }]) {
      expect(() => createFhirGraphql({ store, terminology: given as never })).toThrow(/^terminology/);
    }
  });
});

test('gives a store with every optional part of the original store', async () => {
  const view = withTerminology(store, terminology);
  const optional = ['accessEpoch', 'explain', 'pendingParameters', 'removal', 'typeHistory'] as const;
  const partsOf = (one: Partial<typeof view>): unknown => optional.filter((name) => one[name] !== undefined);
  expect(partsOf(view)).toEqual(partsOf(store));
  expect(await view.accessEpoch!()).toBe(await store.accessEpoch());
});

async function openOver(more: Partial<Parameters<typeof createFhirHandler>[0]>): Promise<Service['handler']> {
  return createFhirHandler({ store, baseUrl: BASE, audit: false, signIn: () => undefined, ...more });
}
