import { describe, expect, test } from 'vitest';
import { FhirError, type FhirGraphqlContext, type HostField, type HostFields } from '../../../src/index.js';
import { LimitError } from '../../../src/graphql/limits.js';
import { enrol } from '../../access/policies.js';
import { caller, failures, openClinic, type Clinic, type Sample } from '../harness.js';
import { executeBy, ManualClock } from '../manual-clock.js';
import { neverPause } from '../../support/never-pause.js';

neverPause();

const RECORDS: readonly Sample[] = [
  { resourceType: 'Patient', id: 'a', gender: 'female', link: [{ other: { reference: 'Patient/b' } }] },
  { resourceType: 'Patient', id: 'b' },
];

const reported: unknown[] = [];

async function open(fields: HostFields, types?: string): Promise<Clinic> {
  reported.length = 0;
  const clinic = await openClinic(RECORDS);
  const more = { fields, types, onError: (error: unknown) => void reported.push(error) };
  return {
    ...clinic,
    ask: (query, variables, context) => clinic.ask(query, variables, { ...more, ...context }),
    data: (query, variables, context) => clinic.data(query, variables, { ...more, ...context }),
  };
}

/** A field of Patient whose resolver does as it likes. */
function broken(resolve: (parents: readonly unknown[]) => unknown, type = 'Int'): HostFields {
  return { Patient: { broken: { type, resolve: resolve as HostField['resolve'] } } };
}

const QUERY = '{ PatientList { id broken } }';
const FAILED = {
  PatientList: [
    { id: 'a', broken: null },
    { id: 'b', broken: null },
  ],
};

const CIRCLE: { self?: unknown } = {};
CIRCLE.self = CIRCLE;

describe('a resolver fails only its field, and its error stays with the host', () => {
  const SECRET = 'password of the database';
  const CASES: readonly (readonly [string, HostFields, string])[] = [
    [
      'throws',
      broken(() => {
        throw new Error(SECRET);
      }),
      SECRET,
    ],
    ['rejects', broken(async () => Promise.reject(new Error(SECRET))), SECRET],
    [
      'throws no error',
      broken(() => {
        throw SECRET as unknown as Error;
      }),
      SECRET,
    ],
    [
      'throws nothing',
      broken(() => {
        throw undefined as unknown as Error;
      }),
      'The resolver threw nothing',
    ],
    [
      'returns fewer values than parents',
      broken(() => [1]),
      'Patient.broken: resolve returned 1 values for 2 parents; it must return one each',
    ],
    [
      'returns more',
      broken(() => [1, 2, 3]),
      'Patient.broken: resolve returned 3 values for 2 parents; it must return one each',
    ],
    ['returns no list', broken(() => 7), 'Patient.broken: resolve must return a list, a value per parent'],
    ['returns nothing', broken(() => undefined), 'Patient.broken: resolve must return a list, a value per parent'],
    [
      'returns a text for an Int',
      broken((all) => all.map(() => SECRET)),
      'Patient.broken must be Int, and is a string',
    ],
    [
      'returns a number that is too large',
      broken((all) => all.map(() => 2 ** 40)),
      'Patient.broken must be Int, and is a number',
    ],
    ['returns NaN', broken((all) => all.map(() => NaN), 'Float'), 'Patient.broken must be Float, and is a number'],
    [
      'returns an object',
      broken((all) => all.map(() => ({ a: SECRET })), 'String'),
      'Patient.broken must be String, and is an object',
    ],
    [
      'returns a value for a list',
      broken((all) => all.map(() => 1), '[Int]'),
      'Patient.broken must be a list, and is a number',
    ],
    [
      'returns a circle',
      broken((all) => all.map(() => CIRCLE), 'JSON'),
      'Patient.broken must be JSON, and is an object',
    ],
    [
      'returns a function',
      broken((all) => all.map(() => () => SECRET), 'JSON'),
      'Patient.broken must be JSON, and is a function',
    ],
    [
      'ends a request of its own',
      broken(() => {
        throw new FhirError('aborted', SECRET);
      }),
      SECRET,
    ],
    [
      'meets a limit of its own',
      broken(() => {
        throw new LimitError('rows', 1, SECRET);
      }),
      SECRET,
    ],
  ];

  test.each(CASES)('that %s', async (_, fields, cause) => {
    const { ask } = await open(fields);
    const result = await ask(QUERY);
    expect(result.data).toEqual(FAILED);
    expect(failures(result)).toEqual([
      'internal at PatientList.0.broken (1:20)',
      'internal at PatientList.1.broken (1:20)',
    ]);
    expect(JSON.stringify(result)).not.toContain(SECRET);
    expect(result.errors!.map(({ message }) => message)).toEqual(['Internal error', 'Internal error']);
    expect(reported.map((error) => (error instanceof Error ? error.message : error))).toContain(cause);
  });

  test('a FhirError is shown to the client', async () => {
    const { ask } = await open(
      broken(() => {
        throw new FhirError('unavailable', 'The registry is down');
      }),
    );
    const result = await ask(QUERY);
    expect(result.data).toEqual(FAILED);
    expect(result.errors![0]).toMatchObject({
      message: 'The registry is down',
      path: ['PatientList', 0, 'broken'],
      extensions: { code: 'unavailable' },
    });
  });

  test('one parent can fail without the others, by an Error as its value or by a promise', async () => {
    const fault = new FhirError('not-found', 'x');
    for (const give of [() => [fault, 2], () => [Promise.reject(fault), 2]]) {
      const { ask } = await open(broken(give));
      const result = await ask(QUERY);
      expect(result.data).toEqual({
        PatientList: [
          { id: 'a', broken: null },
          { id: 'b', broken: 2 },
        ],
      });
      expect(failures(result)).toEqual(['not-found at PatientList.0.broken (1:20)']);
    }
  });

  test('objects with properties that throw', async () => {
    const value = {
      get bad(): number {
        throw new Error(SECRET);
      },
      good: 1,
    };
    const { ask } = await open(
      broken((all) => all.map(() => value), 'Own'),
      'type Own { bad: Int good: Int }',
    );
    const result = await ask('{ Patient(id: a) { broken { good bad } } }');
    expect(result.data).toEqual({ Patient: { broken: { good: 1, bad: null } } });
    expect(failures(result)).toEqual(['internal at Patient.broken.bad (1:34)']);
  });

  test('an item of a list fails at its position', async () => {
    const { ask } = await open(broken(() => [[1, 'x', null], [[2]]], '[Int]'));
    const result = await ask(QUERY);
    expect(result.data).toEqual({
      PatientList: [
        { id: 'a', broken: [1, null, null] },
        { id: 'b', broken: [null] },
      ],
    });
    expect(failures(result)).toEqual([
      'internal at PatientList.0.broken.1 (1:20)',
      'internal at PatientList.1.broken.0 (1:20)',
    ]);
  });
});

describe('null for a non-null type', () => {
  const one = (type: string, value: unknown): HostFields => broken((all) => all.map(() => value), type);

  test('makes the enclosing object null, up to the first nullable one', async () => {
    const { ask } = await open(one('Int!', null));
    const result = await ask(
      '{ PatientList { id broken } Patient(id: a) { link { other { resource { ... on Patient { broken } } } } } }',
    );
    expect(result.data).toEqual({ PatientList: [null, null], Patient: { link: [{ other: { resource: null } }] } });
    expect(failures(result)).toEqual([
      'internal at PatientList.0.broken (1:20)',
      'internal at PatientList.1.broken (1:20)',
      'internal at Patient.link.0.other.resource.broken (1:89)',
    ]);
  });

  test.each<[type: string, value: unknown, expected: unknown]>([
    ['[Int!]', [1, null], { broken: null }],
    ['[Int]!', [1, null], { broken: [1, null] }],
    ['[Int!]!', [1, null], null],
    ['[[Int!]]', [[1, null], [2]], { broken: [null, [2]] }],
    ['[Patient!]', ['Patient/a', 'Patient/none', null], { broken: [{ id: 'a' }] }],
    ['[Patient]!', [], { broken: [] }],
    ['Patient', 'Patient/none', { broken: null }],
    ['Patient!', 'Patient/none', null],
    ['Patient!', 'Practitioner/a', null],
    ['Own', { needed: null }, { broken: null }],
    ['Own!', { needed: null }, null],
    ['[Own]', [{ needed: 1 }, {}], { broken: [{ needed: 1 }, null] }],
    ['[Own!]', [{ needed: 1 }, {}], { broken: null }],
  ])('%s of %j', async (type, value, expected) => {
    const { ask } = await open(one(type, value), 'type Own { needed: Int! }');
    const inner = /Patient/.test(type) ? '{ id }' : /Own/.test(type) ? '{ needed }' : '';
    const result = await ask(`{ Patient(id: a) { broken ${inner} } }`);
    expect(result.data).toEqual({ Patient: expected });
  });

  test('at the root makes all data null', async () => {
    const { ask } = await open({ Query: { now: { type: 'String!', resolve: () => null } } });
    expect(await ask('{ now PatientList { id } }')).toMatchObject({ data: null, errors: [{ path: ['now'] }] });
  });
});

describe('time', () => {
  const never = new Promise<never>(() => undefined);
  const context = (fields: HostFields, clinic: Clinic): FhirGraphqlContext => ({ store: clinic.store, caller, fields });

  test.each([
    ['its own', { timeout: 50 }, 50, {}],
    ['nine tenths of the rest of the request', {}, 90, { timeout: 100 }],
    ['ten seconds by default', {}, 10_000, {}],
  ])('a resolver that never answers fails its field after %s', async (_, options, after, limits) => {
    const clinic = await open({});
    const clock = new ManualClock();
    let signal: AbortSignal | undefined;
    const fields: HostFields = {
      Patient: {
        slow: { type: 'Int', ...options, resolve: (_, __, { signal: given }) => ((signal = given), never) },
        quick: { type: 'Int', resolve: (all) => all.map(() => 1) },
      },
    };
    const query = '{ PatientList { slow quick link { other { resource { ... on Patient { id } } } } } }';
    const outcome = executeBy(clock, query, { ...context(fields, clinic), limits });
    while (signal === undefined) await new Promise((resolve) => setImmediate(resolve));
    for (let turn = 0; turn < 10; turn += 1) await new Promise((resolve) => setImmediate(resolve));
    clock.advance(after - 1);
    expect(signal.aborted).toBe(false);
    clock.advance(1);
    const { data, errors } = await outcome;
    expect(data).toEqual({
      PatientList: [
        { slow: null, quick: 1, link: [{ other: { resource: { id: 'b' } } }] },
        { slow: null, quick: 1, link: null },
      ],
    });
    expect(errors.map(({ extensions, path }) => [extensions.code, path])).toEqual([
      ['unavailable', ['PatientList', 0, 'slow']],
      ['unavailable', ['PatientList', 1, 'slow']],
    ]);
    expect(signal.aborted).toBe(true);
    expect(clock.alarms, 'timers left over').toBe(0);
  });

  test('the signal of the host ends the request, and reaches the resolver', async () => {
    const clinic = await open({});
    const host = new AbortController();
    let signal: AbortSignal | undefined;
    const fields: HostFields = {
      Query: { slow: { type: 'Int', resolve: (_, { signal: given }) => ((signal = given), host.abort(), never) } },
    };
    const result = await clinic.ask('{ slow PatientList { id } }', {}, { fields, signal: host.signal });
    expect(failures(result)).toEqual(['aborted']);
    expect(signal!.aborted).toBe(true);
  });

  test('a limit that ends the request aborts resolvers that still run', async () => {
    const clinic = await open({});
    let signal: AbortSignal | undefined;
    const fields: HostFields = {
      Query: { slow: { type: 'Int', resolve: (_, { signal: given }) => ((signal = given), never) } },
    };
    const result = await clinic.ask('{ slow PatientList { id } }', {}, { fields, limits: { rows: 1 } });
    expect(failures(result)).toEqual(['too-costly']);
    expect(signal!.aborted).toBe(true);
  });
});

test('the cost of fields counts in the budget, before they are called', async () => {
  let calls = 0;
  const fields: HostFields = {
    Patient: { dear: { type: 'Int', cost: 50, resolve: (all) => ((calls += 1), all.map(() => 1)) } },
  };
  const { ask } = await open(fields);
  const costly = await ask('{ PatientList { dear } }', {}, { limits: { cost: 100 } });
  expect(failures(costly)).toEqual(['too-costly']);
  expect(calls).toBe(0);
  const result = await ask('{ PatientList { dear } }', {}, { reportCost: true });
  // A list: 2 + 2 x 1.05. The field: 2 + 2 x 50.
  expect(result.extensions!.cost).toMatchObject({ actual: 107, storeCalls: 1, rows: 2 });
});

test('dialect hl7 and directives also reshape values of the host', async () => {
  const types = 'type Part { label: String values: [Int] raw: JSON }';
  const fields: HostFields = {
    Patient: {
      parts: {
        type: '[Part]',
        resolve: (all) =>
          all.map(({ id }) =>
            id === 'a' ? [{ label: 'x', values: [1, 2], raw: { 'k#1': null } }, { label: 'y' }] : null,
          ),
      },
    },
  };
  const { ask } = await open(fields, types);
  expect(await ask('{ PatientList { id parts { label values raw } } }', {}, { dialect: 'hl7' })).toEqual({
    data: {
      PatientList: [
        { id: 'a', parts: [{ label: 'x', values: [1, 2], raw: { 'k#1': null } }, { label: 'y' }] },
        { id: 'b' },
      ],
    },
  });
  expect(
    await ask(
      '{ PatientList { parts @flatten { label } first: parts @first { label } p: parts @slice(path: "$index") { label } } }',
    ),
  ).toEqual({
    data: {
      PatientList: [
        { label: ['x', 'y'], first: [{ label: 'x' }], 'p.0': [{ label: 'x' }], 'p.1': [{ label: 'y' }] },
        { label: null, first: null, p: null },
      ],
    },
  });
});

test('parents have only visible elements, and hidden resources that the host names do not exist', async () => {
  const born = RECORDS.map((record) => ({ ...record, birthDate: '1980-01-01' }));
  const { store } = await openClinic([...born, { resourceType: 'Practitioner', id: 'dr1' }]);
  const project = { resourceType: 'Project', id: 'clinic' };
  await store.commit([{ kind: 'put', key: { project: '', type: 'Project', id: 'clinic' }, resource: project }]);
  const member = await enrol(store, 'clinic', {
    profile: 'Practitioner/dr1',
    policies: [
      { resource: [{ resourceType: 'Patient', criteria: 'Patient?gender=female', hiddenFields: ['birthDate'] }] },
    ] as never,
    access: [{ policy: 0, parameters: [] }],
  });
  let seen: unknown;
  const fields: HostFields = {
    Patient: {
      all: {
        type: '[Patient!]!',
        needs: '*',
        resolve: (all, _, context) => ((seen = [all, context.caller]), all.map(() => ['Patient/b', 'Patient/a'])),
      },
      hidden: {
        type: 'Patient',
        needs: ['birthDate'],
        resolve: (all) => all.map(({ birthDate }) => birthDate ?? 'Patient/b'),
      },
    },
  };
  const { ask } = await openClinic([], store);
  const result = await ask('{ PatientList { id all { id birthDate } hidden { id } } }', {}, { caller: member, fields });
  expect(result).toEqual({ data: { PatientList: [{ id: 'a', all: [{ id: 'a', birthDate: null }], hidden: null }] } });
  const [parents, by] = seen as [{ birthDate?: string }[], unknown];
  expect(parents).toMatchObject([{ id: 'a', gender: 'female' }]);
  expect(parents[0]).not.toHaveProperty('birthDate');
  expect(by).toBe(member);
});
