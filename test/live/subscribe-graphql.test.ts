import type { Observation } from '@medplum/fhirtypes';
import { subscribe as subscribeByServer, parse } from 'graphql';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import {
  type AuditRecord,
  createFhirGraphql,
  createRepository,
  explainFhirGraphql,
  type FhirGraphqlResult,
  MemoryStore,
  printFhirSchema,
  type Repository,
  subscribeFhirGraphql,
  systemCaller,
  validateFhirGraphql,
} from '../../src/index.js';

let store: MemoryStore;
let repository: Repository;
let over: AbortController;
const caller = systemCaller('clinic');

beforeEach(async () => {
  store = new MemoryStore();
  over = new AbortController();
  repository = createRepository({ store, caller });
  await repository.update({ resourceType: 'Patient', id: 'p1', name: [{ family: 'Adams' }] });
});

afterEach(async () => {
  over.abort();
  await store.close();
});

const pulse = (id: string, more: Partial<Observation> = {}): Observation => ({
  resourceType: 'Observation',
  id,
  status: 'final',
  code: { text: 'pulse' },
  subject: { reference: 'Patient/p1' },
  ...more,
});

async function begin(query: string, more: object = {}): Promise<AsyncGenerator<FhirGraphqlResult>> {
  const results = await subscribeFhirGraphql(query, { store, caller, signal: over.signal, ...more });
  if (Symbol.asyncIterator in results) return results;
  throw new Error(JSON.stringify(results));
}

const QUERY = `subscription Pulse($patient: String) {
  ObservationChanges(patient: $patient, status: "final") {
    event id resource { valueQuantity { value } subject { resource { ... on Patient { name { family } } } } }
  }
}`;

describe('subscribeFhirGraphql', () => {
  test('a result for each event, with what is below its resource, and a position', async () => {
    const results = await begin(
      'subscription { ObservationChanges(patient: "p1") { event id resource { id subject { resource { ... on Patient { name { family } } } } } } }',
    );
    await repository.update(pulse('o1'));
    expect((await results.next()).value).toEqual({
      data: {
        ObservationChanges: {
          event: 'enter',
          id: 'o1',
          resource: { id: 'o1', subject: { resource: { name: [{ family: 'Adams' }] } } },
        },
      },
      extensions: { position: expect.any(String) as string },
    });
    await repository.delete('Observation', 'o1');
    expect((await results.next()).value).toMatchObject({
      data: { ObservationChanges: { event: 'leave', id: 'o1', resource: null } },
    });
  });

  test('an update comes only if the selection can show it', async () => {
    const results = await begin('subscription { ObservationChanges { event id resource { status } } }');
    await repository.update(pulse('o1'));
    await results.next();
    await repository.update(pulse('o1', { note: [{ text: 'not selected' }] }));
    await repository.update(pulse('o1', { status: 'amended' }));
    const { value } = await results.next();
    expect(value).toMatchObject({ data: { ObservationChanges: { event: 'update', resource: { status: 'amended' } } } });
  });

  test('it goes on after a position', async () => {
    const first = await begin('subscription { ObservationChanges { id } }');
    await repository.update(pulse('o1'));
    const { value } = await first.next();
    await first.return(undefined);
    await repository.update(pulse('o2'));
    const after = (value as FhirGraphqlResult).extensions!.position;
    const again = await begin('subscription { ObservationChanges { id } }', { after });
    expect((await again.next()).value).toMatchObject({ data: { ObservationChanges: { id: 'o2' } } });
  });

  test('one result with errors where it cannot begin', async () => {
    const failures = async (query: string, more: object = {}): Promise<unknown> => {
      const result = await subscribeFhirGraphql(query, { store, caller, ...more });
      return 'errors' in result ? result.errors.map(({ extensions }) => extensions.code) : 'begun';
    };
    expect(await failures('subscription { ObservationChanges(subject: ) { id } }')).toEqual(['invalid']);
    expect(await failures('subscription { ObservationChanges(_count: 1) { id } }')).toEqual(['invalid']);
    expect(await failures('subscription { a: PatientChanges { id } b: TaskChanges { id } }')).toEqual(['invalid']);
    expect(await failures('{ PatientList { id } }')).toEqual(['unsupported']);
    expect(await failures('subscription { PatientChanges(_filter: "organization.name eq \\"x\\"") { id } }')).toEqual([
      'unsupported',
    ]);
    expect(await failures('subscription { PatientChanges { id } }', { caller: undefined })).toEqual([
      'unauthenticated',
    ]);
  });

  test('what ends it is the last result', async () => {
    const results = await begin('subscription { ObservationChanges { id } }', { after: 'of another store' });
    const { value } = await results.next();
    expect((value as FhirGraphqlResult).errors![0]!.extensions.code).toBe('reset');
    expect(await results.next()).toEqual({ done: true, value: undefined });
  });

  test('a record of what each batch shows', async () => {
    const records: AuditRecord[] = [];
    const results = await begin(QUERY, {
      variables: { patient: 'p1' },
      audit: (record: AuditRecord) => void records.push(record),
    });
    await repository.update(pulse('o1'));
    await results.next();
    expect(records).toHaveLength(1);
    expect(records[0]).toMatchObject({
      interaction: 'graphql',
      returned: { total: 2 },
      patients: { total: 1, ids: ['p1'] },
      outcome: { success: true },
    });
  });
});

describe('tools know subscriptions', () => {
  test('the schema, validation and explanations', async () => {
    const sdl = printFhirSchema({ types: ['Patient', 'Subscription'] });
    expect(sdl).toContain('subscription: Subscriptions');
    expect(
      /PatientChanges\([^]*?\): PatientChange!/
        .exec(sdl)?.[0]
        .match(/^ {4}\w+(?=:)/gm)
        ?.map((name) => name.trim()),
    ).toContain('family');
    const { errors, operations } = await validateFhirGraphql(QUERY);
    expect(errors).toEqual([]);
    expect(operations).toMatchObject([{ name: 'Pulse', operation: 'subscription', leastCost: 0 }]);
    const { plan } = await explainFhirGraphql(QUERY, { store, caller, variables: { patient: 'p1' } });
    expect(plan.calls.map(({ path }) => path)).toEqual(['ObservationChanges', 'ObservationChanges.subject.resource']);
  });

  test('the executable schema, for GraphQL servers', async () => {
    const { schema } = createFhirGraphql({ store, introspection: { types: ['Patient'] } });
    const document = parse('subscription { PatientChanges { event id resource { name { family } } } }');
    const results = (await subscribeByServer({
      schema,
      document,
      contextValue: { caller, signal: over.signal },
    })) as AsyncGenerator;
    await repository.update({ resourceType: 'Patient', id: 'p2', name: [{ family: 'Baker' }] });
    expect((await results.next()).value).toEqual({
      data: { PatientChanges: { event: 'enter', id: 'p2', resource: { name: [{ family: 'Baker' }] } } },
    });
    await results.return(undefined);
  });
});
