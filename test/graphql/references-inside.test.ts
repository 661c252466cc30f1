import { expect, test } from 'vitest';
import { type AnyResource, createRepository, executeFhirGraphql, systemCaller } from '../../src/index.js';
import { overStores, system } from '../repository/harness.js';

const BASE = 'http://own.example/fhir';
const E = 'http://elsewhere.example/fhir';
const ref = (reference: string): object => ({ reference });
const patient = (id: string, family: string, more: object = {}): object => ({
  ...{ resourceType: 'Patient', id, name: [{ family }], ...more },
});
const observation = (id: string, subject: string, more: object = {}): object => ({
  ...{ resourceType: 'Observation', id, status: 'final', code: { text: id }, subject: ref(subject), ...more },
});
const SUBJECT = 'subject { resource(optional: true) { ... on Patient { name { family } } } }';

overStores('references inside stored resources', (open) => {
  async function ask(resources: readonly object[], query: string): Promise<{ data: never; errors: unknown }> {
    const store = open({ baseUrl: BASE });
    const repository = await system(store);
    for (const resource of resources) await repository.update(resource as never);
    const caller = systemCaller('clinic');
    const { data, errors } = await executeFhirGraphql(query, { store, caller });
    return { data: data as never, errors };
  }

  /** The family names to which the subjects of a Bundle's Observations lead. */
  async function families(bundle: object, ...stored: readonly object[]): Promise<object> {
    const { data } = await ask(
      [...stored, { resourceType: 'Bundle', id: 'b', type: 'collection', ...bundle }],
      `{ Bundle(id: "b") { entry { resource { id ... on Observation { ${SUBJECT} } } } } }`,
    );
    interface Shown {
      id: string;
      subject?: { resource: { name: { family: string }[] } | null };
    }
    const { entry } = (data as { Bundle: { entry: { resource: Shown }[] } }).Bundle;
    return Object.fromEntries(
      entry.flatMap(({ resource: { id, subject } }) =>
        subject === undefined ? [] : [[id, subject.resource?.name[0]?.family ?? null]],
      ),
    );
  }

  test('lead to the entries of their Bundle, or to their server, and never to another person here', async () => {
    const entry = (fullUrl: string | undefined, resource: object): object => ({
      ...(fullUrl && { fullUrl }),
      resource,
    });
    const bundle = {
      entry: [
        entry(`${E}/Patient/1`, patient('1', 'Of the letter')),
        entry('urn:uuid:1', patient('u', 'By URN')),
        entry(`${E}/Observation/a`, observation('relative', 'Patient/1')),
        entry(`${E}/Observation/b`, observation('not-in-letter', 'Patient/2')),
        entry(`${E}/Observation/c`, observation('absolute', `${E}/Patient/1`)),
        entry(`${E}/Observation/d`, observation('urn', 'urn:uuid:1')),
        entry(`${E}/Observation/e`, observation('here', `${BASE}/Patient/1`)),
        entry(`${BASE}/Observation/f`, observation('own-base', 'Patient/1')),
        entry('urn:uuid:o', observation('urn-relative', 'Patient/1')),
        entry(undefined, observation('no-url', 'Patient/1')),
      ],
    };
    expect(await families(bundle, patient('1', 'Of this clinic'), patient('2', 'Of this clinic'))).toEqual({
      relative: 'Of the letter',
      'not-in-letter': null,
      absolute: 'Of the letter',
      urn: 'By URN',
      here: 'Of this clinic',
      'own-base': 'Of this clinic',
      'urn-relative': null,
      'no-url': null,
    });
  });

  test('say why they lead nowhere', async () => {
    const resources = [
      patient('1', 'Of this clinic'),
      { resourceType: 'Bundle', id: 'b', type: 'collection', entry: [{ resource: observation('o', 'Patient/1') }] },
    ];
    const { data, errors } = await ask(
      resources,
      '{ Bundle(id: "b") { entry { resource { ... on Observation { subject { resource { ... on Patient { id } } } } } } } }',
    );
    expect(data).toEqual({ Bundle: { entry: [{ resource: { subject: { resource: null } } }] } });
    expect(errors).toMatchObject([
      {
        message: expect.stringContaining('the "fullUrl" of its entry names no server') as string,
        extensions: { code: 'not-found' },
      },
    ]);
  });

  test('find contained resources in an entry, in a parameter, and in a Bundle inside either', async () => {
    const contained = [{ resourceType: 'Organization', id: 'c', name: 'Inside' }];
    const inner = patient('x', 'X', { contained, managingOrganization: ref('#c') });
    const outer = {
      resourceType: 'Bundle',
      type: 'collection',
      entry: [{ fullUrl: `${E}/Patient/x`, resource: inner }],
    };
    const organization = '... on Patient { managingOrganization { resource { ... on Organization { name } } } }';
    const { data, errors } = await ask(
      [
        { ...outer, id: 'b' },
        { resourceType: 'Parameters', id: 'p', parameter: [{ name: 'a', part: [{ name: 'b', resource: inner }] }] },
        { resourceType: 'Parameters', id: 'q', parameter: [{ name: 'a', resource: outer }] },
      ],
      `{ Bundle(id: "b") { entry { resource { ${organization} } } }
        p: Parameters(id: "p") { parameter { part { resource { ${organization} } } } }
        q: Parameters(id: "q") { parameter { resource { ... on Bundle { entry { resource { ${organization} } } } } } } }`,
    );
    expect(errors).toBeUndefined();
    const resource = { managingOrganization: { resource: { name: 'Inside' } } };
    expect(data).toEqual({
      Bundle: { entry: [{ resource }] },
      p: { parameter: [{ part: [{ resource }] }] },
      q: { parameter: [{ resource: { entry: [{ resource }] } }] },
    });
  });

  test('in Parameters that are stored here lead to resources here', async () => {
    const parameters = { resourceType: 'Parameters', id: 'p', parameter: [{ name: 'a', resource: observation('o', 'Patient/1') }] }; // prettier-ignore
    const { data } = await ask(
      [patient('1', 'Of this clinic'), parameters],
      `{ Parameters(id: "p") { parameter { resource { ... on Observation { ${SUBJECT} } } } } }`,
    );
    expect(data).toEqual({
      Parameters: { parameter: [{ resource: { subject: { resource: { name: [{ family: 'Of this clinic' }] } } } }] },
    });
  });

  test('of a version lead to the entry of that version', async () => {
    const versioned = (family: string, versionId: string): object => ({ fullUrl: `${E}/Patient/1`, resource: patient('1', family, { meta: { versionId } }) }); // prettier-ignore
    const at = (id: string, subject: string): object => ({ fullUrl: `${E}/Observation/${id}`, resource: observation(id, subject) }); // prettier-ignore
    const entry = [
      ...[versioned('Second', '2'), versioned('First', '1')],
      ...[
        at('one', 'Patient/1/_history/1'),
        at('two', `${E}/Patient/1/_history/2`),
        at('three', 'Patient/1/_history/3'),
      ],
      at('any', 'Patient/1'),
    ];
    expect(await families({ entry }, patient('1', 'Of this clinic'))).toEqual({
      ...{ one: 'First', two: 'Second', three: null, any: null },
    });
  });

  test('decide what searches by chain, by reference and by include find', async () => {
    const store = open({ baseUrl: BASE });
    const repository = await system(store, 'clinic');
    const composition = (subject: string): object => ({ resourceType: 'Composition', id: 'c', status: 'final', title: 'A', date: '2020', type: { text: 'x' }, author: [{ display: 'x' }], subject: ref(subject) }); // prettier-ignore
    const document = (id: string, base: string | undefined, ...more: readonly object[]): object => ({
      ...{ resourceType: 'Bundle', id, type: 'document', timestamp: '2020-01-01T00:00:00Z', identifier: { system: 'urn:x', value: id } },
      entry: [{ ...(base && { fullUrl: `${base}/Composition/c` }), resource: composition('Patient/1') }, ...more],
    }); // prettier-ignore
    const stored = [
      patient('1', 'Local'),
      composition('Patient/1'),
      document('theirs', E, { fullUrl: `${E}/Patient/1`, resource: patient('1', 'Theirs') }),
      document('theirs-without', E),
      document('ours', BASE),
      document('urn', undefined, { fullUrl: 'urn:uuid:1', resource: patient('1', 'Theirs') }),
    ];
    for (const resource of stored) await repository.update(resource as never);
    const found = async (query: string): Promise<readonly string[]> => {
      const { entry = [] } = await repository.search('Bundle', query);
      return entry.map(({ resource }) => `${resource!.resourceType}/${resource!.id}`).sort();
    };
    expect(await found('composition.patient.family=local')).toEqual(['Bundle/ours']);
    expect(await found('composition.patient.family=theirs')).toEqual(['Bundle/theirs']);
    expect(await found('composition.patient=Patient/1')).toEqual(['Bundle/ours']);
    expect(await found(`composition.patient=${E}/Patient/1`)).toEqual(['Bundle/theirs', 'Bundle/theirs-without']);
    expect(await found('composition=Composition/c')).toEqual(['Bundle/ours']);
    expect(await found('composition:missing=false&_include=Bundle:composition')).toEqual([
      ...['Bundle/ours', 'Bundle/theirs', 'Bundle/theirs-without', 'Bundle/urn', 'Composition/c'],
    ]);
    expect(await found('_id=theirs&_include=Bundle:composition')).toEqual(['Bundle/theirs']);
  });
});

test('the references of a resource from another server are relative to it', async () => {
  const { MemoryStore } = await import('../../src/stores/memory/store.js');
  const store = new MemoryStore({ baseUrl: BASE });
  const repository = createRepository({ store, caller: systemCaller('clinic') });
  await repository.update(patient('1', 'Of this clinic') as never);
  await repository.update(observation('o', 'urn:uuid:b') as never);
  const answer = await executeFhirGraphql(
    `{ Observation(id: "o") { subject { resource { ... on Bundle { entry { resource { ... on Observation { ${SUBJECT} } } } } } } } }`,
    {
      ...{ store, caller: systemCaller('clinic') },
      resolveReference: async (url) =>
        url === 'urn:uuid:b'
          ? ({ resourceType: 'Bundle', entry: [{ fullUrl: `${BASE}/Observation/1`, resource: observation('i', 'Patient/1') }] } as AnyResource)
          : null,
    },
  );
  expect(JSON.stringify(answer)).toContain('Of this clinic');
}); // prettier-ignore
