import { SpanKind, SpanStatusCode } from '@opentelemetry/api';
import { expect, test, vi } from 'vitest';
import {
  createAllowList,
  createProject,
  createRepository,
  executeFhirGraphql,
  importBundle,
  invite,
  MemoryStore,
  type ResourceStore,
  signIn,
  serverCaller,
  systemCaller,
} from '../../src/index.js';
import { withTelemetry } from '../../src/telemetry.js';
import { SqliteStore } from '../../src/sqlite.js';
import { openTracer, treeOf } from './harness.js';

const PATIENTS = [
  { resourceType: 'Practitioner', id: 'secretdoctor', name: [{ family: 'Hushdoctor' }] },
  ...['secretone', 'secrettwo'].map((id) => ({
    resourceType: 'Patient',
    id,
    birthDate: '1970-05-17',
    name: [{ family: 'Hushname' }],
    generalPractitioner: [{ reference: 'Practitioner/secretdoctor' }],
  })),
  ...[1, 2, 3].map((number) => ({
    resourceType: 'Observation',
    id: `secretvalue${number}`,
    status: 'final',
    code: { text: 'Hushcode' },
    subject: { reference: 'Patient/secretone' },
    valueString: 'Hushvalue',
  })),
];

const QUERY = `query HushOperation($name: String) {
  PatientList(name: $name, birthdate: "1970-05-17") {
    name { family }
    generalPractitioner { resource { ... on Practitioner { name { family } } } }
    ObservationList(_reference: subject) { valueString }
  }
}`;

/** Whatever of the data, the request or the ids must not be in a span. */
const SECRET = /hush|secret|1970|05-17/i;

const BOTH: readonly (readonly [string, () => ResourceStore])[] = [
  ['memory', () => new MemoryStore()],
  ['sqlite', () => new SqliteStore(':memory:')],
];

async function openData(inner: ResourceStore): Promise<ReturnType<typeof openTracer> & { store: ResourceStore }> {
  await inner.commit(
    PATIENTS.map((resource) => ({
      kind: 'put',
      key: { project: 'clinic', type: resource.resourceType, id: resource.id },
      resource: resource as never,
    })),
  );
  const traced = openTracer();
  return { ...traced, store: withTelemetry(inner, { tracer: traced.tracer, system: 'test' }) };
}

test.each(BOTH)(
  'a query over %s is one tree: parse, validate, plan, and a span for each store call',
  async (_, open) => {
    const { store, take } = await openData(open());
    const context = { store, caller: systemCaller('clinic'), variables: { name: 'hush' } };
    // A comment of its own, so that no other test has parsed it.
    const query = `# ${Math.random()}\n${QUERY}`;
    const { errors } = await executeFhirGraphql(query, context);
    expect(errors).toBeUndefined();
    const calls = [
      '  search Patient db.system.name=test db.operation.name=search db.collection.name=Patient db.response.returned_rows=2',
      '  read Practitioner db.system.name=test db.operation.name=read db.collection.name=Practitioner db.operation.batch.size=1 db.response.returned_rows=1',
      '  search-by-reference Observation db.system.name=test db.operation.name=search-by-reference db.collection.name=Observation db.operation.batch.size=2 db.response.returned_rows=3',
    ];
    const root =
      'fhirgraph.graphql fhirgraph.interaction=graphql graphql.operation.type=query fhirgraph.depth=5 fhirgraph.store.calls=3 fhirgraph.store.rows=7 fhirgraph.cost=COST fhirgraph.errors=0';
    const spans = await take();
    expect(treeOf(spans).map((line) => line.replace(/cost=\d+/, 'cost=COST'))).toEqual([
      root,
      '  fhirgraph.parse',
      '  fhirgraph.validate',
      '  fhirgraph.plan',
      ...calls,
    ]);
    expect(spans.map(({ kind }) => kind)).toEqual([
      ...Array(4).fill(SpanKind.INTERNAL),
      ...Array(3).fill(SpanKind.CLIENT),
    ]);

    await executeFhirGraphql(query, context);
    expect(
      treeOf(await take()).map((line) => line.replace(/cost=\d+/, 'cost=COST')),
      'the second time the plan is known',
    ).toEqual([root, ...calls]);
    await store.close();
  },
);

test('names of operations are recorded only for documents that the host chose itself', async () => {
  const { store, take } = await openData(new MemoryStore());
  const context = { store, caller: systemCaller('clinic'), documents: createAllowList({ list: QUERY }) };
  await executeFhirGraphql({ documentId: 'list' }, context);
  const [root] = await take();
  expect(root!.attributes['graphql.operation.name']).toBe('HushOperation');
  await executeFhirGraphql(QUERY, { ...context, documents: undefined });
  expect((await take())[0]!.attributes).not.toHaveProperty(['graphql.operation.name']);
});

test('a failure is a code in its span and in the enclosing spans, never a message', async () => {
  const { tracer, take } = openTracer();
  const inner = new MemoryStore();
  const broken = Object.assign(Object.create(inner) as ResourceStore, {
    search: () => Promise.reject(new Error('Hushname is in the way')),
  });
  const store = withTelemetry(broken, { tracer });
  const { errors } = await executeFhirGraphql('{ PatientList { id } }', { store, caller: systemCaller('clinic') });
  expect(errors![0]!.extensions.code).toBe('internal');
  const spans = (await take()).filter(({ status }) => status.code === SpanStatusCode.ERROR);
  expect(spans.map(({ name, attributes, status, events }) => [name, attributes['error.type'], status, events])).toEqual(
    [
      ['fhirgraph.graphql', 'internal', { code: SpanStatusCode.ERROR }, []],
      ['search Patient', 'internal', { code: SpanStatusCode.ERROR }, []],
    ],
  );
});

test('repository, sign-in, import and the operations on projects have spans around their store calls', async () => {
  const inner = new MemoryStore();
  const { tracer, take } = openTracer();
  const store = withTelemetry(inner, { tracer });
  const context = { store, caller: serverCaller() };
  const project = await createProject({ resourceType: 'Project', name: 'Hushclinic' }, context);
  const { membership } = await invite(
    project.id,
    { resourceType: 'Practitioner', firstName: 'Hush', lastName: 'Hushname', email: 'hush@example.org' },
    { store, caller: systemCaller(project.id) },
  );
  const caller = await signIn(store, { membership: membership.id });
  const repository = createRepository({ store, caller });
  const patient = await repository.create({ resourceType: 'Patient', name: [{ family: 'Hushname' }] });
  await expect(repository.read('Patient', 'secretone')).rejects.toMatchObject({ code: 'not-found' });
  await repository.search('Patient', { name: 'Hushname' });
  await repository.history('Patient', patient.id);
  await importBundle({ resourceType: 'Bundle', type: 'transaction', entry: [] }, { store, caller });
  await executeFhirGraphql('{ nonsenseHush }', { store, caller });

  const spans = await take();
  expect(treeOf(spans).filter((line) => line.startsWith('fhirgraph'))).toEqual([
    'fhirgraph.create-project fhirgraph.interaction=create-project',
    'fhirgraph.invite fhirgraph.interaction=invite',
    'fhirgraph.sign-in fhirgraph.interaction=sign-in',
    'fhirgraph.create fhirgraph.interaction=create',
    'fhirgraph.read fhirgraph.interaction=read error.type=not-found',
    'fhirgraph.search fhirgraph.interaction=search',
    'fhirgraph.history fhirgraph.interaction=history',
    'fhirgraph.import fhirgraph.interaction=import',
    'fhirgraph.graphql fhirgraph.interaction=graphql error.type=invalid',
  ]);
  const failed = spans.filter(({ status }) => status.code === SpanStatusCode.ERROR);
  expect(failed.map(({ name, status }) => [name, status.message])).toEqual([
    ['fhirgraph.read', undefined],
    ['fhirgraph.graphql', undefined],
    ['fhirgraph.validate', undefined],
  ]);
  const calls = treeOf(spans).filter((line) => line.startsWith('  ') && !line.startsWith('  fhirgraph'));
  expect(calls.length).toBeGreaterThan(8);
  expect(
    JSON.stringify(
      spans.map(({ name, attributes, events, links, status }) => [name, attributes, events, links, status]),
    ),
  ).not.toMatch(SECRET);
});

test('no id, no value and no text of a request is in any span', async () => {
  for (const [, open] of BOTH) {
    const { store, take } = await openData(open());
    const context = { store, caller: systemCaller('clinic'), variables: { name: 'hush' } };
    await executeFhirGraphql(QUERY, context);
    await executeFhirGraphql('{ Patient(id: "secretmissing") { id } }', context);
    await executeFhirGraphql('{ PatientList(hushparameter: "secret") { id } }', context);
    await executeFhirGraphql('{ PatientList(birthdate: "secret") { id } }', context);
    await executeFhirGraphql('mutation { PatientCreate(resource: { name: [{ family: "Hush" }] }) { id } }', context);
    const spans = await take();
    expect(spans.length).toBeGreaterThan(10);
    const told = spans.map(({ name, attributes, events, links, status }) => [name, attributes, events, links, status]);
    expect(JSON.stringify(told)).not.toMatch(SECRET);
    await store.close();
  }
});

test('an observed store works like the store: it finds, explains, notifies and closes', async () => {
  const inner = new SqliteStore(':memory:');
  const store = withTelemetry(inner, {});
  const told = vi.fn();
  const stop = store.watch!('clinic', told);
  const { position } = await store.changes!({ project: 'clinic' });
  const [put] = PATIENTS;
  const key = { project: 'clinic', type: 'Practitioner', id: 'secretdoctor' };
  await store.commit([{ kind: 'put', key, resource: put as never }]);
  stop();
  expect(told).toHaveBeenCalledOnce();
  expect(await store.changes!({ project: 'clinic', after: position })).toMatchObject({
    changes: [{ kind: 'put', key }],
  });
  expect(await store.explain!({ kind: 'read', keys: [key] })).toEqual(
    await inner.explain({ kind: 'read', keys: [key] }),
  );
  expect((await store.history(key, { offset: 0, limit: 5 })).total).toBe(1);
  expect(
    withTelemetry(Object.create(inner, { explain: { value: undefined } }) as ResourceStore, {}).explain,
  ).toBeUndefined();
  await store.close();
  await expect(inner.read([key])).rejects.toMatchObject({ code: 'unavailable' });
});
