import { describe, expect, test } from 'vitest';
import type { AccessPolicy, Resource } from '@medplum/fhirtypes';
import { executeFhirGraphql, MemoryStore, serverCaller } from '../../src/index.js';
import { extendDefinitions, R4 } from '../../src/definitions.js';
import { member, repositoryOf, signedIn, system } from '../repository/harness.js';
import { searchParameter } from '../definitions/search-parameters.js';

type Rules = NonNullable<AccessPolicy['resource']>;

const ANN = { resourceType: 'Patient', id: 'ann', birthDate: '1980-02-03', gender: 'female' } as const;
const BEN = { resourceType: 'Patient', id: 'ben', birthDate: '1990-02-03', gender: 'male' } as const;

const PARAMETERS: readonly (readonly [base: string, code: string, expression: string])[] = [
  ['Patient', 'born-cast', '(Patient as DomainResource).birthDate'],
  ['Patient', 'born-as', 'Patient.as(DomainResource).birthDate'],
  ['Patient', 'born-of-type', 'Patient.ofType(DomainResource).birthDate'],
  ['Patient', 'born-resource', '(Patient as Resource).birthDate.first()'],
  ['Patient', 'born-of-contained', 'Patient.contained.ofType(Patient).birthDate'],
  ['Patient', 'born-of-any-contained', 'Patient.contained.birthDate.first()'],
  ['Bundle', 'born-in-entry', 'Bundle.entry.resource.ofType(Patient).birthDate'],
  ['Bundle', 'born-in-any-entry', 'Bundle.entry.resource.birthDate.first()'],
  ['Bundle', 'born-in-bundle', 'Bundle.entry.resource.ofType(Bundle).entry.resource.ofType(Patient).birthDate'],
  ['Bundle', 'born-selected', 'Bundle.entry.select(resource.birthDate)'],
  ['Bundle', 'gender-in-entry', 'Bundle.entry.resource.ofType(Patient).gender'],
  ['Parameters', 'born-in-part', 'Parameters.parameter.part.resource.ofType(Patient).birthDate'],
];

const bundle = (id: string, resource: object): object => ({
  ...{ resourceType: 'Bundle', id, type: 'collection', entry: [{ fullUrl: `urn:${id}`, resource }] },
});

const RESOURCES = [
  ...[ANN, BEN],
  { resourceType: 'Patient', id: 'holder', contained: [{ ...ANN, id: 'inner' }] },
  bundle('flat', ANN),
  bundle('deep', bundle('inner', ANN)),
  { resourceType: 'Parameters', id: 'parts', parameter: [{ name: 'a', part: [{ name: 'b', resource: ANN }] }] },
  { resourceType: 'Observation', id: 'of-ann', status: 'final', code: {}, subject: { reference: 'Patient/ann' } },
  { resourceType: 'Observation', id: 'of-ben', status: 'final', code: {}, subject: { reference: 'Patient/ben' } },
];

async function clinic(): Promise<MemoryStore> {
  const searchParameters = PARAMETERS.map(([base, code, expression]) =>
    searchParameter({ code, base, type: code.startsWith('gender') ? 'token' : 'date', expression }),
  );
  const store = new MemoryStore({ model: await extendDefinitions(R4, { searchParameters }) });
  const trusted = await system(store);
  for (const resource of RESOURCES) await trusted.update(resource as unknown as Resource);
  return store;
}

const everything: Rules = ['Bundle', 'Parameters', 'Observation'].map((resourceType) => ({ resourceType }));
const shown: Rules = [...everything, { resourceType: 'Patient' }];
const hidden: Rules = [...everything, { resourceType: 'Patient', hiddenFields: ['birthDate'] }];

describe('own search parameters under hidden fields', () => {
  test.each(PARAMETERS)('%s?%s finds what the caller is shown', async (type, code) => {
    const store = await clinic();
    const value = code.startsWith('gender') ? 'female' : '1980-02-03';
    const found = async (rules: Rules): Promise<readonly unknown[]> => {
      const mine = await member(store, { rules });
      const counts: unknown[] = [];
      for (const query of [`${code}=${value}`, `${code}:missing=false`, `_filter=${code} eq ${value}`]) {
        counts.push((await mine.search(type as 'Patient', `${query}&_total=accurate`)).total);
      }
      return counts;
    };
    expect((await found(shown)).every((count) => count !== 0)).toBe(true);
    expect(await found(hidden)).toEqual(code.startsWith('gender') ? await found(shown) : [0, 0, 0]);
  });

  test('chains, _has, sorting and GraphQL have no hidden values either', async () => {
    const store = await clinic();
    const answers = async (rules: Rules): Promise<readonly unknown[]> => {
      const caller = await signedIn(store, { rules });
      const mine = repositoryOf(store, caller);
      const ids = async (type: string, query: string): Promise<unknown> =>
        (await mine.search(type as 'Patient', query)).entry?.map(({ resource }) => resource?.id) ?? [];
      const query = `{ PatientList(born_cast: "1980-02-03") { id } PatientConnection(born_as: "1980-02-03") { count } }`;
      return [
        await ids('Observation', 'subject:Patient.born-cast=1980-02-03'),
        await ids('Patient', '_has:Observation:subject:_id=of-ann&born-as=1980-02-03'),
        await ids('Patient', '_id=ann,ben&_sort=-born-of-type'),
        (await executeFhirGraphql(query, { store, caller })).data,
      ];
    };
    const found = { PatientList: [{ id: 'ann' }], PatientConnection: { count: 1 } };
    expect(await answers(shown)).toEqual([['of-ann'], ['ann'], ['ben', 'ann'], found]);
    const none = { PatientList: [], PatientConnection: { count: 0 } };
    expect(await answers(hidden)).toEqual([[], [], ['ann', 'ben'], none]);
  });

  test('a parameter that reads the secrets of a resource inside finds nothing, for trusted code too', async () => {
    const expressions = [
      'Bundle.entry.resource.ofType(ClientApplication).secret',
      'Bundle.entry.resource.secret.first()',
      'Bundle.descendants().ofType(string)',
    ];
    const searchParameters = expressions.map((expression, index) =>
      searchParameter({ code: `secret-${index}`, base: 'Bundle', type: 'string', expression }),
    );
    const store = new MemoryStore({ model: await extendDefinitions(R4, { searchParameters }) });
    const trusted = await system(store);
    const client = { resourceType: 'ClientApplication', id: 'app', name: 'App', secret: 'hush' };
    await trusted.update(bundle('backup', client) as unknown as Resource);
    for (const mine of [trusted, repositoryOf(store, serverCaller('clinic')), await member(store, { rules: shown })]) {
      for (const index of expressions.keys())
        expect((await mine.search('Bundle', `secret-${index}=hush&_total=accurate`)).total, expressions[index]).toBe(0);
    }
    expect((await trusted.search('Bundle', 'secret-2=collection&_total=accurate')).total).toBe(1);
  });

  test('hiding an element that only a component reads through %resource takes the composite, too', async () => {
    const store = await clinic();
    const trusted = await system(store);
    await trusted.update({
      resourceType: 'MolecularSequence',
      id: 'm',
      coordinateSystem: 0,
      referenceSeq: { chromosome: { coding: [{ code: '7' }] }, windowStart: 1 },
      variant: [{ start: 3, end: 5 }],
    });
    const count = async (...hiddenFields: string[]): Promise<unknown> => {
      const mine = await member(store, { rules: [{ resourceType: 'MolecularSequence', hiddenFields }] });
      return (await mine.search('MolecularSequence', 'chromosome-variant-coordinate=7$3$5&_total=accurate')).total;
    };
    expect([await count(), await count('referenceSeq.chromosome'), await count('type')]).toEqual([1, 0, 1]);
  });

  test('hiding a choice inside a contained resource hides each form of it', async () => {
    const store = await clinic();
    const trusted = await system(store);
    const contained = [{ resourceType: 'Patient', id: 'c', gender: 'male', deceasedBoolean: true } as const];
    await trusted.update({ resourceType: 'Observation', id: 'o', status: 'final', code: {}, contained });
    const mine = await member(store, {
      rules: [{ resourceType: 'Observation', hiddenFields: ['contained.deceased'] }],
    });
    expect((await mine.read('Observation', 'o')).contained).toEqual([
      { resourceType: 'Patient', id: 'c', gender: 'male' },
    ]);
  });
});
