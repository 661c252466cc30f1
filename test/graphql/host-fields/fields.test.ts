import { describe, expect, test } from 'vitest';
import { createFhirGraphql, defineField, FhirError, type HostFields, MemoryStore } from '../../../src/index.js';
import { type Tracer, withTelemetry } from '../../../src/telemetry.js';
import { countCalls } from '../counting-store.js';
import { caller, failures, openClinic, type Clinic, type Sample } from '../harness.js';

const RECORDS: readonly Sample[] = [
  {
    resourceType: 'Patient',
    id: 'a',
    birthDate: '1980-01-01',
    gender: 'female',
    name: [{ family: 'Adler', given: ['Ann'] }],
  },
  { resourceType: 'Patient', id: 'b', birthDate: '1990-01-01', name: [{ family: 'Berg' }, { text: 'Bo' }] },
  { resourceType: 'Patient', id: 'c' },
  { resourceType: 'Practitioner', id: 'p', name: [{ family: 'Stone' }] },
  {
    resourceType: 'Observation',
    id: '1',
    status: 'final',
    code: { text: 'Weight' },
    subject: { reference: 'Patient/a' },
    contained: [{ resourceType: 'Patient', id: 'b', birthDate: '1999-09-09' }],
  },
  {
    resourceType: 'Observation',
    id: '2',
    status: 'final',
    code: { text: 'Height' },
    subject: { reference: 'Patient/a' },
  },
  {
    resourceType: 'Observation',
    id: '3',
    status: 'final',
    code: { text: 'Pulse' },
    subject: { reference: 'Patient/b' },
  },
];

/** The arguments of resolvers, in the order of their calls. */
let calls: [field: string, parents: unknown, args?: unknown][] = [];

const year = defineField('Patient', {
  type: 'Int',
  args: { plus: 'Int! = 0' },
  needs: ['birthDate'],
  resolve(patients, { plus }) {
    calls.push(['year', patients, { plus }]);
    return patients.map(({ birthDate }) => (birthDate === undefined ? null : Number(birthDate.slice(0, 4)) + plus));
  },
});

async function open(fields: HostFields, types?: string): Promise<Clinic & { readonly calls: () => readonly string[] }> {
  calls = [];
  const counting = countCalls(new MemoryStore());
  const clinic = await openClinic(RECORDS, counting.store);
  const more = { fields, types };
  return {
    ...clinic,
    ask: (query, variables, context) => clinic.ask(query, variables, { ...more, ...context }),
    data: (query, variables, context) => clinic.data(query, variables, { ...more, ...context }),
    calls: counting.takeCalls,
  };
}

describe('a field of the host on a resource type', () => {
  test('is computed once for all parents of a level, from elements that the query does not select', async () => {
    const clinic = await open({ Patient: { year } });
    expect(await clinic.data('{ PatientList { id year } }')).toEqual({
      PatientList: [
        { id: 'a', year: 1980 },
        { id: 'b', year: 1990 },
        { id: 'c', year: null },
      ],
    });
    expect(calls).toEqual([
      [
        'year',
        [
          { resourceType: 'Patient', id: 'a', birthDate: '1980-01-01' },
          { resourceType: 'Patient', id: 'b', birthDate: '1990-01-01' },
          { resourceType: 'Patient', id: 'c' },
        ],
        { plus: 0 },
      ],
    ]);
    expect(clinic.calls()).toEqual(['search Patient']);
  });

  test('is called once for each set of arguments, and receives each parent once', async () => {
    const clinic = await open({ Patient: { year } });
    const query = `query ($n: Int = 2) {
      ObservationList { subject { resource { ... on Patient { year one: year(plus: 1) two: year(plus: $n) } } } }
      Patient(id: a) { ...years }
    }
    fragment years on Patient { year again: year(plus: 0) }`;
    const subject = (first: number): object => ({
      subject: { resource: { year: first, one: first + 1, two: first + 2 } },
    });
    expect(await clinic.data(query)).toEqual({
      ObservationList: [subject(1980), subject(1980), subject(1990)],
      Patient: { year: 1980, again: 1980 },
    });
    const asked = calls.map(([, parents, args]) => [(parents as { id: string }[]).map(({ id }) => id).join(''), args]);
    expect(asked).toEqual([
      ['a', { plus: 0 }],
      ['ab', { plus: 0 }],
      ['ab', { plus: 1 }],
      ['ab', { plus: 2 }],
    ]);
  });

  test('works under reverse lists, connections, in focus and behind `resource`', async () => {
    const clinic = await open({
      Patient: { year },
      Observation: {
        letters: { type: 'Int!', needs: ['code'], resolve: (all) => all.map(({ code }) => code.text!.length) },
      },
    });
    expect(
      await clinic.data(`{ PatientConnection(_sort: "_id", _count: 2) { edges { resource {
        year ObservationList(_reference: patient) { letters subject { resource { ... on Patient { year } } } } } } } }`),
    ).toEqual({
      PatientConnection: {
        edges: [
          {
            resource: {
              year: 1980,
              ObservationList: [
                { letters: 6, subject: { resource: { year: 1980 } } },
                { letters: 6, subject: { resource: { year: 1980 } } },
              ],
            },
          },
          { resource: { year: 1990, ObservationList: [{ letters: 5, subject: { resource: { year: 1990 } } }] } },
        ],
      },
    });
    expect(await clinic.data('{ year name { family } }', {}, { focus: 'Patient/a' })).toEqual({
      year: 1980,
      name: [{ family: 'Adler' }],
    });
    expect(await clinic.data('{ ObservationList { subject { resource { year } } } }')).toMatchObject({
      ObservationList: [{ subject: { resource: { year: 1980 } } }, {}, {}],
    });
  });

  test('is null for contained resources, which have no identity of their own', async () => {
    const clinic = await open({ Patient: { year } });
    expect(await clinic.data('{ Observation(id: "1") { contained { id ... on Patient { year } } } }')).toEqual({
      Observation: { contained: [{ id: 'b', year: null }] },
    });
    expect(calls).toEqual([]);
  });

  test('of `Resource` is a field of every resource type', async () => {
    const clinic = await open({
      Resource: { self: { type: 'ID!', resolve: (all) => all.map(({ resourceType, id }) => `${resourceType}/${id}`) } },
    });
    expect(
      await clinic.data('{ Patient(id: a) { self } Observation(id: "1") { self subject { resource { self } } } }'),
    ).toEqual({
      Patient: { self: 'Patient/a' },
      Observation: { self: 'Observation/1', subject: { resource: { self: 'Patient/a' } } },
    });
  });

  test('receives frozen parents, so that it cannot change the answer', async () => {
    const clinic = await open({
      Patient: {
        spoil: {
          type: 'String',
          needs: ['name'],
          resolve: (patients) =>
            patients.map((patient) => {
              expect(() => Object.assign(patient.name![0]!, { family: 'x' })).toThrow(TypeError);
              return 'frozen';
            }),
        },
      },
    });
    expect(await clinic.data('{ Patient(id: a) { spoil name { family } } }')).toEqual({
      Patient: { spoil: 'frozen', name: [{ family: 'Adler' }] },
    });
  });
});

test('a field can be on data types, too', async () => {
  const clinic = await open({
    HumanName: {
      initial: {
        type: 'String',
        needs: ['family'],
        resolve: (names) => names.map(({ family }) => (family as string | undefined)?.[0]),
      },
    },
  });
  expect(await clinic.data('{ PatientList { name { initial } } }')).toEqual({
    PatientList: [{ name: [{ initial: 'A' }] }, { name: [{ initial: 'B' }, { initial: null }] }, { name: null }],
  });
});

test('root fields, custom types, enums and inputs, and FHIR data types as values', async () => {
  const types = `
    "How high" enum Band { LOW HIGH }
    type Score { value: Float! band: Band parts: [Part!] name: HumanName raw: JSON lead: Practitioner }
    type Part { label: String! }
    input Span { low: Float! = 1.5 high: Float bands: [Band!] = [HIGH] }
  `;
  const clinic = await open(
    {
      Query: {
        score: defineField('Query', {
          type: 'Score!',
          args: { range: 'Span!', band: 'Band = LOW' },
          resolve: (args) => ({
            value: 0.5,
            band: args.band,
            parts: [{ label: 'x' }, { label: 'y' }],
            name: { family: 'Adler', given: ['A'], secret: 1 },
            raw: args.range,
            lead: 'Practitioner/p',
          }),
        }),
      },
      Score: { double: { type: 'Float', resolve: (scores) => scores.map(({ value }) => 2 * (value as number)) } },
    },
    types,
  );
  const query =
    'query ($range: Span = { high: 9 }) { score(range: $range) { __typename value band double parts { label } name { family given } raw lead { name { family } } } }';
  const score = (raw: object): object => ({
    score: {
      __typename: 'Score',
      value: 0.5,
      band: 'LOW',
      double: 1,
      parts: [{ label: 'x' }, { label: 'y' }],
      name: { family: 'Adler', given: ['A'] },
      raw,
      lead: { name: [{ family: 'Stone' }] },
    },
  });
  expect(await clinic.data(query)).toEqual(score({ low: 1.5, high: 9, bands: ['HIGH'] }));
  expect(await clinic.data(query, { range: { low: 2, bands: 'LOW' } })).toEqual(score({ low: 2, bands: ['LOW'] }));
  expect(clinic.calls()).toEqual(['read Practitioner/p', 'read Practitioner/p']);
  const refused = await clinic.ask(query, { range: { low: 'clinical value', band: 1 } });
  expect(refused).toMatchObject({ errors: [{ extensions: { code: 'invalid' } }] });
  expect(JSON.stringify(refused)).not.toContain('clinical');
  expect(failures(await clinic.ask('{ score(range: { low: true }) { value } }'))).toEqual(['invalid (1:23)']);
  expect(failures(await clinic.ask('{ score(range: {}, band: MIDDLE) { value } }'))).toEqual(['invalid (1:26)']);
});

test('references of the host are one more edge of the plan, with the rights of the caller', async () => {
  const clinic = await open({
    Patient: {
      latest: {
        type: '[Observation!]!',
        resolve: (all) =>
          all.map(({ id }) => [
            `Observation/${id === 'a' ? 1 : 3}`,
            'Observation/none',
            { resourceType: 'Observation', id: '2', status: 'forged' },
          ]),
      },
      guide: { type: 'Resource', resolve: (all) => all.map(() => ({ reference: 'Practitioner/p' })) },
      none: { type: 'Observation', resolve: (all) => all.map(() => 'Observation/none') },
    },
  });
  expect(
    await clinic.data(
      '{ PatientList(_count: 2) { latest { id status } guide { ... on Practitioner { name { family } } } none { id } } }',
    ),
  ).toEqual({
    PatientList: ['1', '3'].map((id) => ({
      latest: [
        { id, status: 'final' },
        { id: '2', status: 'final' },
      ],
      guide: { name: [{ family: 'Stone' }] },
      none: null,
    })),
  });
  expect(clinic.calls()).toEqual([
    'search Patient',
    'read Observation/1 Observation/none Observation/2 Observation/3 Practitioner/p',
  ]);
});

test('the service with fields is one object, which executes, explains and prints its schema', async () => {
  const clinic = await open({});
  const service = createFhirGraphql({ store: clinic.store, fields: { Patient: { year } } });
  expect(await service.execute('{ Patient(id: a) { year } }', { caller })).toEqual({
    data: { Patient: { year: 1980 } },
  });
  const { text, plan } = await service.explain('{ PatientList { year } }', { caller });
  expect(text).toContain(
    '2. PatientList.year: call the resolver of Patient.year, once for all parents\n   needs birthDate\n   costs 0.1 per parent',
  );
  expect(text).toContain('1 call to the store on 1 level');
  expect(plan.calls[1]).toMatchObject({
    kind: 'host',
    level: 2,
    host: { field: 'Patient.year', needs: ['birthDate'], cost: 0.1 },
  });
  expect(service.printSchema({ types: ['Patient'] })).toContain('year(plus: Int! = 0): Int\n');
  expect(await service.execute('{ __type(name: "Patient") { fields { name } } }', { caller })).toMatchObject({
    data: { __type: { fields: expect.arrayContaining([{ name: 'year' }]) as unknown } },
  });
  expect(
    failures(await createFhirGraphql({ store: clinic.store }).execute('{ Patient(id: a) { year } }', { caller })),
  ).toEqual(['invalid (1:20)']);
});

test('each call of a resolver has a span with the field and the number of its parents', async () => {
  const spans: [name: string, attributes: { [name: string]: unknown }][] = [];
  const tracer: Tracer = {
    startActiveSpan(name, _, work) {
      const attributes: { [name: string]: unknown } = {};
      spans.push([name, attributes]);
      return work({
        setAttribute: (key, value) => void (attributes[key] = value),
        setStatus: ({ code }) => void (attributes['status'] = code),
        end: () => void (attributes['ended'] = true),
      });
    },
  };
  const clinic = await open({
    Patient: {
      year,
      broken: {
        type: 'Int',
        resolve: () => {
          throw new FhirError('conflict', 'x');
        },
      },
    },
  });
  await clinic.ask('{ PatientList { year broken } }', {}, { store: withTelemetry(clinic.store, { tracer }) });
  const ofFields = spans.flatMap(([name, attributes]) => (name === 'fhirgraph.field' ? [attributes] : []));
  // Whichever began first.
  expect(Map.groupBy(ofFields, (attributes) => attributes['fhirgraph.field'])).toEqual(
    new Map([
      ['Patient.year', [{ 'fhirgraph.field': 'Patient.year', 'fhirgraph.parents': 3, ended: true }]],
      [
        'Patient.broken',
        [
          {
            'fhirgraph.field': 'Patient.broken',
            'fhirgraph.parents': 3,
            status: 2,
            'error.type': 'conflict',
            ended: true,
          },
        ],
      ],
    ]),
  );
});
