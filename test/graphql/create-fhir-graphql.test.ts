import { describe, expect, test } from 'vitest';
import {
  type AuditRecord,
  createAllowList,
  createFhirGraphql,
  createRepository,
  executeFhirGraphql,
  explainFhirGraphql,
  FhirError,
  MemoryStore,
  printFhirSchema,
  systemCaller,
} from '../../src/index.js';

const caller = systemCaller('clinic');

async function storeWithAnn(): Promise<MemoryStore> {
  const store = new MemoryStore();
  await createRepository({ store, caller }).update({ resourceType: 'Patient', id: 'ann', gender: 'female' });
  return store;
}

const QUERIES = [
  ['a read', '{ Patient(id: "ann") { id gender birthDate } }', {}],
  ['variables', 'query ($id: ID!) { Patient(id: $id) { gender } }', { variables: { id: 'ann' } }],
  ['an operation by name', 'query A { PatientList { id } } query B { PatientList { gender } }', { operationName: 'B' }],
  ['a focus', '{ gender }', { focus: 'Patient/ann' }],
  ['a refused mutation', 'mutation { PatientDelete(id: "ann") }', { readonly: true }],
  ['a mistake', '{ Patient(id: "ann") { gendre } }', {}],
  ['an aborted request', '{ PatientList { id } }', { signal: AbortSignal.abort() }],
  ['a limit', '{ PatientList { name { given extension { url } } } }', {}],
  ['introspection', '{ __type(name: "Patient") { name } }', {}],
] as const;

describe('a service', () => {
  test.each(QUERIES)('answers and explains %s like the function without a service', async (_, query, request) => {
    const store = await storeWithAnn();
    const config = { store, dialect: 'hl7', limits: { depth: 3 }, reportCost: true, introspection: false } as const;
    const service = createFhirGraphql(config);
    expect(await service.execute(query, { caller, ...request })).toEqual(
      await executeFhirGraphql(query, { ...config, caller, ...request }),
    );
    const outcomes = await Promise.allSettled([
      service.explain(query, { caller, ...request }),
      explainFhirGraphql(query, { ...config, caller, ...request }),
    ]);
    const [one, other] = outcomes.map((outcome) =>
      outcome.status === 'fulfilled' ? outcome.value : (outcome.reason as FhirError).outcome,
    );
    expect(one).toEqual(other);
  });

  test('uses only the options of a request from a request', async () => {
    const store = await storeWithAnn();
    const records: AuditRecord[] = [];
    const documents = createAllowList({ patients: '{ PatientList { id } }' });
    const service = createFhirGraphql({ store, documents, audit: (record) => void records.push(record) });
    const hostile = {
      caller,
      store: new MemoryStore(),
      documents: undefined,
      audit: undefined,
      limits: { depth: 1 },
      dialect: 'hl7',
      reportCost: true,
    };
    expect(await service.execute({ documentId: 'patients' }, hostile)).toEqual({
      data: { PatientList: [{ id: 'ann' }] },
    });
    expect((await service.execute('{ PatientList { gender } }', hostile)).errors?.[0]?.extensions.code).toBe(
      'forbidden',
    );
    expect(records).toHaveLength(2);
  });

  test('checks its limits once, and does not change with the original options', async () => {
    const store = await storeWithAnn();
    let reads = 0;
    const limits = {
      get depth() {
        reads += 1;
        return 2;
      },
    };
    const config = { store, limits };
    const service = createFhirGraphql(config);
    const before = reads;
    Object.assign(config, { store: new MemoryStore(), dialect: 'none' });
    for (let round = 0; round < 3; round += 1) {
      expect(await service.execute('{ PatientList { id } }', { caller })).toEqual({
        data: { PatientList: [{ id: 'ann' }] },
      });
    }
    expect(reads).toBe(before);
    expect(
      (await service.execute('{ PatientList { name { period { start } } } }', { caller })).errors?.[0]?.extensions
        .details,
    ).toMatchObject({ limit: 'depth', max: 2 });
  });

  test('rejects a request without a caller as a response', async () => {
    const service = createFhirGraphql({ store: new MemoryStore() });
    const { errors } = await service.execute('{ PatientList { id } }', {} as never);
    expect(errors?.[0]?.extensions.code).toBe('unauthenticated');
  });

  test('prints the schema of the types that introspection shows', () => {
    const store = new MemoryStore();
    const service = createFhirGraphql({ store, introspection: { types: ['Patient'] } });
    expect(service.printSchema()).toBe(printFhirSchema({ types: ['Patient'] }));
    expect(service.printSchema({ types: ['Basic'] })).toBe(printFhirSchema({ types: ['Basic'] }));
  });
});

describe('a service is refused', () => {
  test.each([undefined, null, {}, { store: {} }])('without a store: %j', (config) => {
    expect(() => createFhirGraphql(config as never)).toThrow(TypeError);
  });

  test.each([
    [{ dialect: 'hl8' }, 'The dialect must be "standard" or "hl7"'],
    [{ dialekt: 'hl7' }, 'There is no option called "dialekt". Did you mean "dialect"?'],
    [{ caller }, 'There is no option called "caller".'],
    [{ limits: { depht: 3 } }, 'There is no limit called "depht"'],
    [{ limits: { depth: 0 } }, 'Limit "depth" must be a number above 0'],
    [{ limits: { depth: '3' } }, 'Limit "depth" must be a number above 0'],
    [{ limits: { depth: Number.NaN } }, 'Limit "depth" must be a number above 0'],
    [{ limits: null }, 'limits must be an object'],
    [{ baseUrl: 'https://clinic.example/fhir' }, 'baseUrl must be the one that the store was opened with'],
    [{ documents: {} }, 'documents.find must be a function'],
    [{ introspection: 'no' }, 'introspection must be an object'],
    [{ introspection: { types: ['Patient', 'Pateint'] } }, 'introspection.types names no resource type by "Pateint"'],
    [{ introspection: { types: 'Patient' } }, 'introspection.types must be a list of resource types'],
    [{ resolveReference: true }, 'resolveReference must be a function'],
    [{ resolveIdentifiers: 'yes' }, 'resolveIdentifiers must be a boolean'],
    [{ reportCost: 1 }, 'reportCost must be a boolean'],
    [{ audit: {} }, 'audit must be a function'],
  ])('with %j', (options, message) => {
    const make = (): unknown => createFhirGraphql({ store: new MemoryStore(), ...options } as never);
    expect(make).toThrow(FhirError);
    expect(make).toThrow(message);
  });

  test('not for undefined options', async () => {
    const store = await storeWithAnn();
    const options = {
      dialect: undefined,
      limits: undefined,
      baseUrl: undefined,
      documents: undefined,
      audit: undefined,
    };
    const service = createFhirGraphql({ store, ...options, introspection: undefined, resolveReference: undefined });
    expect(await service.execute('{ PatientList { id } }', { caller })).toEqual({
      data: { PatientList: [{ id: 'ann' }] },
    });
  });
});
