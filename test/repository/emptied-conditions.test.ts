import type { Organization } from '@medplum/fhirtypes';
import { describe, expect, test } from 'vitest';
import { executeFhirGraphql, MemoryStore, type ResourceStore, serverCaller } from '../../src/index.js';
import { below, createRandom, oneOf } from '../support/kit.js';
import { createFhirHandler } from '../../src/http.js';
import { SEED } from '../support/chance.js';
import { codeOf, overStores, system } from './harness.js';

const BASE = 'http://clinic.example/fhir';
/** Of which nothing is left. */
const NOTHING = ['-', '*', '%', '.', '"', "'", '´', '\u0301', '\u200b', '\u00ad', '\ufeff', ' '];

/** Texts of punctuation, accents and what nobody sees, as a search has them. */
function emptied(count: number): readonly string[] {
  const random = createRandom(SEED);
  return Array.from({ length: count }, () =>
    encodeURIComponent(Array.from({ length: 1 + below(3, random) }, () => oneOf(NOTHING, random)).join('')),
  );
}

/** Conditions that had a value, until nothing was left of it. */
function conditions(): readonly string[] {
  return emptied(12).flatMap((text) => [
    `name=${text}`,
    `name:contains=${text}`,
    `name=North,${text}`,
    `partof.name=${text}`,
    `_has:Patient:organization:name=${text}`,
    `address=${text}&active=true`,
    `_filter=${encodeURIComponent(`name sw ${JSON.stringify(decodeURIComponent(text))}`)}`,
  ]);
}

const EMPTY = [
  '',
  '?',
  'name=',
  'name=&active=true',
  '_id=',
  'identifier=|',
  'active=',
  '_filter=',
  '_id:missing=false',
];

/** The only Organization, which any empty condition would match. */
const NORTH: Organization = {
  resourceType: 'Organization',
  id: 'north',
  name: 'North',
  active: true,
  address: [{ city: 'Bern' }],
};

async function versions(store: ResourceStore): Promise<unknown> {
  const { matches } = await store.search({ project: 'clinic', type: 'Organization', criteria: { kind: 'all' } });
  const patients = await store.search({ project: 'clinic', type: 'Patient', criteria: { kind: 'all' } });
  return [matches.map(({ resource, versionId }) => [resource.id, versionId]), patients.matches.length];
}

overStores('a condition of which nothing is left', (open) => {
  test(`writes nothing (seed ${SEED})`, async () => {
    const store = open();
    const repository = await system(store);
    await repository.update(NORTH);
    await repository.update({
      resourceType: 'Patient',
      id: 'ann',
      name: [{ family: 'Hill' }],
      managingOrganization: { reference: 'Organization/north' },
    });
    const before = await versions(store);
    const other = { resourceType: 'Organization', name: 'Other' } as const;
    for (const condition of [...EMPTY, ...conditions()]) {
      const codes = [
        await codeOf(repository.conditionalDelete('Organization', condition)),
        await codeOf(repository.conditionalUpdate(other, condition)),
        await codeOf(repository.conditionalPatch('Organization', condition, [{ op: 'remove', path: '/name' }])),
        await codeOf(repository.create(other, { ifNoneExist: condition })),
      ];
      if (condition !== '' && condition !== '?') {
        const reference = `Organization?${condition}`;
        const entry = (request: object, resource?: object): object => ({ request, ...(resource && { resource }) });
        const patient = { resourceType: 'Patient', managingOrganization: { reference } };
        for (const one of [
          entry({ method: 'DELETE', url: reference }),
          entry({ method: 'PUT', url: reference }, other),
          entry({ method: 'POST', url: 'Organization', ifNoneExist: condition }, other),
          entry({ method: 'POST', url: 'Patient' }, patient),
        ]) {
          const bundle = { resourceType: 'Bundle', type: 'transaction', entry: [one] } as never;
          codes.push(await codeOf(repository.transaction(bundle)));
        }
      }
      expect([condition, codes.filter((code) => code !== 'invalid')]).toEqual([condition, []]);
    }
    expect(await versions(store)).toEqual(before);
  });
});

describe('over HTTP and GraphQL', () => {
  test('a condition of which nothing is left writes nothing', async () => {
    const store = new MemoryStore();
    const repository = await system(store);
    await repository.update(NORTH);
    const before = await versions(store);
    const handler = createFhirHandler({
      store,
      baseUrl: BASE,
      audit: false,
      signIn: () => Promise.resolve(serverCaller('clinic')),
    });
    const send = async (method: string, path: string, headers: Record<string, string> = {}): Promise<number> => {
      const body = method === 'DELETE' ? null : JSON.stringify({ resourceType: 'Organization', name: 'Other' });
      const type = { 'content-type': 'application/fhir+json' };
      return (await handler(new Request(`${BASE}/${path}`, { method, body, headers: { ...type, ...headers } }))).status;
    };
    for (const condition of [...EMPTY.filter((one) => one !== '?' && one !== ''), ...conditions()]) {
      const statuses = [
        await send('DELETE', `Organization?${condition}`),
        await send('PUT', `Organization?${condition}`),
        await send('POST', 'Organization', { 'If-None-Exist': condition }),
      ];
      expect([condition, statuses]).toEqual([condition, [400, 400, 400]]);
      const { errors } = await executeFhirGraphql(
        'mutation ($text: String) { OrganizationCreate(res: { name: "Other" }, ifNoneExist: $text) { id } }',
        { store, caller: serverCaller('clinic'), mutations: true, variables: { text: condition } } as never,
      );
      expect([condition, errors?.[0]?.extensions?.['code']]).toEqual([condition, 'invalid']);
    }
    expect(await versions(store)).toEqual(before);
  });
});
