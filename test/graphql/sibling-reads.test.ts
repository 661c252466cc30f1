import * as fc from 'fast-check';
import { beforeAll, describe, expect, test } from 'vitest';
import { type Caller, executeFhirGraphql, explainFhirGraphql, FhirError, MemoryStore } from '../../src/index.js';
import { signedIn, system } from '../repository/harness.js';
import { cases, SEED } from '../support/chance.js';
import { countCalls, type CountingStore } from './counting-store.js';
import { caller as trusted, failures, messages, openClinic, type Clinic, type Sample } from './harness.js';
import { storeWith } from '../support/store-with.js';

const PATIENTS = ['a', 'b', 'c', 'd'];
const RESOURCES: readonly Sample[] = [
  ...PATIENTS.map((id, index): Sample => ({
    resourceType: 'Patient',
    id,
    active: index % 2 === 0,
    birthDate: `200${index}-01-01`,
    generalPractitioner: [{ reference: `Practitioner/${index < 2 ? 'p' : 'missing'}` }],
    contained: [{ resourceType: 'Organization', id: 'in', name: `In ${id}` }],
    managingOrganization: { reference: '#in' },
  })),
  ...PATIENTS.map((id): Sample => ({ resourceType: 'Observation', id, subject: { reference: `Patient/${id}` } })),
  { resourceType: 'Practitioner', id: 'p', active: true },
];

let counting: CountingStore;
let clinic: Clinic;

beforeAll(async () => {
  counting = countCalls(new MemoryStore());
  clinic = await openClinic(RESOURCES, counting.store);
});

/** The aliases that gateways send: `_v0: Patient(id: "a") { id }`. */
function aliases(ids: readonly string[], selection: string): string {
  return ids.map((id, index) => `_v${index}: Patient(id: "${id}") { ${selection} }`).join('\n');
}

describe('250 aliases of a read', () => {
  const ids = Array.from({ length: 250 }, (_, index) => PATIENTS[index % 4]!);

  test('cost one call, and a call for each question below them', async () => {
    counting.takeCalls();
    const data = (await clinic.data(
      `{ ${aliases(ids, 'id managingOrganization { resource { id } } ObservationList(_reference: subject, _count: 5) { id subject { resource { id } } }')} }`,
      {},
      { limits: { storeCalls: 3 } },
    )) as { [key: string]: unknown };
    expect(counting.takeCalls()).toEqual([
      'read Patient/a Patient/b Patient/c Patient/d',
      'reverse Observation.subject Patient/a Patient/b Patient/c Patient/d',
      'read Patient/a Patient/b Patient/c Patient/d',
    ]);
    expect(Object.keys(data)).toHaveLength(250);
    expect(data['_v249']).toEqual({
      id: 'b',
      managingOrganization: { resource: { id: 'in' } },
      ObservationList: [{ id: 'b', subject: { resource: { id: 'b' } } }],
    });
  });

  test('are estimated as one call, and counted as often as they appear', async () => {
    const { extensions } = await clinic.ask(`{ ${aliases(ids, 'id')} }`, {}, { reportCost: true });
    expect(extensions!.cost).toEqual({
      least: 2,
      estimated: Math.ceil(2 + 250 * 1.05),
      actual: Math.ceil(2 + 250 * 1.05),
      storeCalls: 1,
      rows: 250,
      fhirpathSteps: 0,
    });
    const refused = await clinic.ask(`{ ${aliases(ids, 'id')} }`, {}, { limits: { rows: 249 } });
    expect(failures(refused)).toEqual(['too-costly']);
  });
});

describe('reads that share a call', () => {
  const query = `query ($none: ID) {
    here: Patient(id: "a") { birthDate }
    gone: Patient(id: "nobody") { birthDate }
    broken: Patient(id: "no id") { birthDate }
    unnamed: Patient(id: $none) { birthDate }
    other: Patient(id: "b") { generalPractitioner { resource { id } } }
    dangling: Patient(id: "c") { generalPractitioner { resource { id } } }
    allowed: Patient(id: "c") { generalPractitioner { resource(optional: true) { id } } }
  }`;

  test('fail each on its own path', async () => {
    const result = await clinic.ask(query);
    expect(result.data).toEqual({
      here: { birthDate: '2000-01-01' },
      gone: null,
      broken: null,
      unnamed: null,
      other: { generalPractitioner: [{ resource: { id: 'p' } }] },
      dangling: { generalPractitioner: [{ resource: null }] },
      allowed: { generalPractitioner: [{ resource: null }] },
    });
    expect(failures(result)).toEqual([
      'not-found at gone (3:5)',
      'not-found at broken (4:5)',
      'invalid at unnamed (5:5)',
      'not-found at dangling.generalPractitioner.0.resource (7:56)',
    ]);
    expect(messages(result)[0]).toBe('Patient/nobody was not found');
  });

  test('all fail if the call fails, and do not affect other types', async () => {
    const store = storeWith(clinic.store, {
      read: (keys, options) =>
        keys.some(({ type }) => type === 'Patient')
          ? Promise.reject(new FhirError('unavailable', 'The store is closed'))
          : clinic.store.read(keys, options),
    });
    const result = await clinic.ask(
      '{ a: Patient(id: "a") { id } p: Practitioner(id: "p") { id } b: Patient(id: "b") { id } }',
      {},
      { store },
    );
    expect(result.data).toEqual({ a: null, p: { id: 'p' }, b: null });
    expect(failures(result)).toEqual(['unavailable at a (1:3)', 'unavailable at b (1:62)']);
  });

  test('are explained as one call', async () => {
    const context = { store: clinic.store, caller: trusted };
    const { plan, text } = await explainFhirGraphql(
      '{ one: Patient(id: "a") { id } Practitioner(id: "p") { id } two: Patient(id: "b") { id } }',
      context,
    );
    expect(plan.calls.map(({ path, id, sharedWith }) => ({ path, id, sharedWith }))).toEqual([
      { path: 'one', id: 'a', sharedWith: [{ path: 'two', location: { line: 1, column: 61 }, id: 'b' }] },
      { path: 'Practitioner', id: 'p', sharedWith: undefined },
    ]);
    expect(text).toBe(`2 calls to the store on 1 level; cost at least 4, estimated 8

1. one: read Patient/a
   in one call with two (Patient/b)
   by trusted code: everything

1. Practitioner: read Practitioner/p
   by trusted code: everything
`);
    const many = await explainFhirGraphql(
      `{ ${aliases([...PATIENTS, ...PATIENTS], 'generalPractitioner { resource { id } }')} }`,
      context,
    );
    expect(many.plan.calls).toHaveLength(2);
    expect(many.text).toContain(
      'in one call with _v1 (Patient/b), _v2 (Patient/c), _v3 (Patient/d), _v4 (Patient/a), _v5 (Patient/b) and 2 more',
    );
  });
});

describe('access rules', () => {
  let watched: CountingStore;
  let member: Caller;

  beforeAll(async () => {
    const store = new MemoryStore();
    await system(store);
    member = await signedIn(store, {
      rules: [{ resourceType: 'Patient', criteria: 'Patient?active=true', hiddenFields: ['birthDate'] }],
    });
    watched = countCalls(store);
    await store.commit(
      RESOURCES.map((resource) => ({
        kind: 'put' as const,
        key: { project: member.project, type: resource.resourceType, id: resource.id },
        resource,
      })),
    );
  });

  test('apply to each of them; an invisible resource is as missing as one that does not exist', async () => {
    const ask = async (id: string) => {
      watched.takeCalls();
      const result = await executeFhirGraphql(
        `{ a: Patient(id: "a") { id birthDate active } b: Patient(id: "${id}") { id } c: Observation(id: "a") { id } }`,
        { store: watched.store, caller: member },
      );
      expect(result.data).toEqual({ a: { id: 'a', birthDate: null, active: true }, b: null, c: null });
      return { calls: watched.takeCalls().length, failed: failures(result), said: messages(result)[0] };
    };
    const unseen = await ask('b');
    expect(unseen).toEqual({
      calls: 1,
      failed: ['not-found at b (1:47)', 'not-found at c (1:74)'],
      said: 'Patient/b was not found',
    });
    expect(await ask('x')).toEqual({ ...unseen, said: 'Patient/x was not found' });
  });
});

/** A selection of everything that makes calls below a read, and of fields that make none. */
const selection = fc
  .subarray(
    [
      'id birthDate',
      'generalPractitioner { resource { id } }',
      'g: generalPractitioner { resource(optional: true) { ... on Practitioner { active } } }',
      'managingOrganization { resource { ... on Organization { name } } }',
      'ObservationList(_reference: subject) { id }',
      'o: ObservationList(_reference: subject, _count: 1) { subject { resource { id } } }',
      'ObservationConnection(_reference: subject, _count: 1) { count edges { resource { id } } }',
    ],
    { minLength: 1 },
  )
  .map((fields) => fields.join(' '));

test('siblings have the same answers as alone', async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.array(fc.tuple(fc.constantFrom(...PATIENTS, 'nobody', 'no id'), selection), { minLength: 2, maxLength: 5 }),
      async (reads) => {
        const fields = reads.map(([id, selected], index) => `_v${index}: Patient(id: "${id}") { ${selected} }`);
        const together = await clinic.ask(`{ ${fields.join(' ')} }`);
        const alone = await Promise.all(fields.map((field) => clinic.ask(`{ ${field} }`)));
        expect(together.data).toEqual(Object.assign({}, ...alone.map(({ data }) => data)));
        const said = ({ errors = [] }: (typeof alone)[0]) =>
          errors.map(({ message, path }) => `${path!.join('.')}: ${message}`);
        expect(said(together)).toEqual(alone.flatMap(said));
      },
    ),
    { seed: SEED, numRuns: cases(40) },
  );
});
