import { describe, expect, test } from 'vitest';
import {
  type AuditRecord,
  defineField,
  FhirError,
  type HostFields,
  type HostWrite,
  MemoryStore,
} from '../../../src/index.js';
import { storeWith } from '../../support/store-with.js';
import { failures, openClinic, type Clinic } from '../harness.js';

const admit = defineField('Mutation', {
  type: 'Encounter',
  args: { family: 'String!', status: 'String = "planned"' },
  writes({ family, status }, { newId }) {
    const id = newId();
    return [
      { interaction: 'create', resource: { resourceType: 'Patient', id, name: [{ family }] } },
      {
        interaction: 'create',
        resource: {
          resourceType: 'Encounter',
          status,
          class: { code: 'IMP' },
          subject: { reference: `Patient/${id}` },
        },
      },
    ];
  },
});

const given = (writes: unknown): HostFields => ({
  Mutation: { given: { type: 'Boolean', writes: () => writes as HostWrite[] } },
});

async function open(fields: HostFields, types?: string): Promise<Clinic & { readonly commits: () => number }> {
  const inner = new MemoryStore();
  let commits = 0;
  const store = storeWith(inner, {
    commit: (writes, options) => {
      commits += 1;
      return inner.commit(writes, options);
    },
  });
  const clinic = await openClinic([{ resourceType: 'Patient', id: 'old', active: true }], store);
  commits = 0;
  return {
    ...clinic,
    ask: (query, variables, context) => clinic.ask(query, variables, { fields, types, ...context }),
    data: (query, variables, context) => clinic.data(query, variables, { fields, types, ...context }),
    commits: () => commits,
  };
}

describe('a field of Mutation with writes', () => {
  test('joins the single commit of its document, in its order, with ids that its writes share', async () => {
    const { data, commits } = await open({ Mutation: { admit } });
    const answer = await data(`mutation {
      OrganizationCreate(res: { name: "North" }) { name }
      one: admit(family: "Adler") { status subject { resource { ... on Patient { name { family } } } } }
      two: admit(family: "Berg", status: "arrived") { status }
      PatientUpdate(id: "old", res: { active: false }) { active }
    }`);
    expect(answer).toEqual({
      OrganizationCreate: { name: 'North' },
      one: { status: 'planned', subject: { resource: { name: [{ family: 'Adler' }] } } },
      two: { status: 'arrived' },
      PatientUpdate: { active: false },
    });
    expect(commits()).toBe(1);
  });

  test('is undone with all others, if any fails', async () => {
    const { ask, data, commits } = await open({
      Mutation: { admit, ...given([{ interaction: 'delete', type: 'Patient', id: 'none' }]).Mutation },
    });
    for (const [mutation, path] of [
      ['mutation { admit(family: "Adler") { id } PatientDelete(id: "none") }', 'not-found at PatientDelete (1:42)'],
      ['mutation { PatientDelete(id: "old") admit(family: "Adler") { id } given }', 'not-found at given (1:67)'],
    ] as const) {
      const result = await ask(mutation);
      expect(failures(result)).toEqual([path]);
      expect(Object.values(result.data!).every((value) => value === null)).toBe(true);
    }
    expect(commits()).toBe(0);
    expect(await data('{ PatientList { id } EncounterList { id } }')).toEqual({
      PatientList: [{ id: 'old' }],
      EncounterList: [],
    });
  });

  test('computes its value from the outcomes, and can use all interactions', async () => {
    const { data } = await open(
      {
        Mutation: {
          all: defineField('Mutation', {
            type: 'Outcome!',
            writes: () => [
              { interaction: 'update', resource: { resourceType: 'Patient', id: 'new' } },
              {
                interaction: 'patch',
                type: 'Patient',
                id: 'old',
                operations: [{ op: 'replace', path: '/active', value: false }],
              },
              { interaction: 'delete', type: 'Patient', id: 'new' },
            ],
            result: (outcomes) => ({
              statuses: outcomes.map(({ status }) => status),
              patients: outcomes.map((outcome) =>
                'resource' in outcome ? outcome.resource : `${outcome.type}/${outcome.id}`,
              ),
            }),
          }),
          patients: {
            type: '[Patient!]!',
            writes: () =>
              ['1', '2'].map((id) => ({ interaction: 'update', resource: { resourceType: 'Patient', id } })),
          },
        },
      },
      'type Outcome { statuses: [String!]! patients: [Patient!]! }',
    );
    expect(await data('mutation { all { statuses patients { id active } } patients { id } }')).toEqual({
      all: { statuses: ['created', 'updated', 'deleted'], patients: [{ id: 'old', active: false }] },
      patients: [{ id: '1' }, { id: '2' }],
    });
  });

  test('that fails or returns no writes prevents the commit', async () => {
    const cause: unknown[] = [];
    for (const [fields, code] of [
      [
        {
          Mutation: {
            given: {
              type: 'Boolean',
              writes: () => {
                throw new FhirError('conflict', 'The bed is taken');
              },
            },
          },
        },
        'conflict',
      ],
      [
        {
          Mutation: {
            given: {
              type: 'Boolean',
              writes: () => {
                throw new Error('x');
              },
            },
          },
        },
        'internal',
      ],
      [given('nothing'), 'internal'],
      [given([{ interaction: 'read' }]), 'internal'],
      [given([{ interaction: 'create' }]), 'invalid'],
      [given([{ interaction: 'patch', type: 'Patient' }]), 'not-found'],
    ] as readonly (readonly [HostFields, string])[]) {
      const { ask, data } = await open(fields);
      const result = await ask(
        'mutation { PatientDelete(id: "old") given }',
        {},
        { onError: (error) => void cause.push(error) },
      );
      expect([failures(result), result.data]).toEqual([
        [`${code} at given (1:37)`],
        { PatientDelete: null, given: null },
      ]);
      expect(await data('{ PatientList { id } }')).toEqual({ PatientList: [{ id: 'old' }] });
    }
    expect(cause).toHaveLength(3);
  });

  test('does not treat ids that a client chose as new ids', async () => {
    const { data } = await open({
      Mutation: {
        admit: {
          type: 'Patient',
          args: { id: 'ID!' },
          writes: ({ id }) => [{ interaction: 'create', resource: { resourceType: 'Patient', id: id as string } }],
        },
      },
    });
    const { admit } = (await data('mutation { admit(id: "mine") { id } }')) as { admit: { id: string } };
    expect(admit.id).not.toBe('mine');
  });

  test('counts its writes in the limit, and audits them', async () => {
    const { ask, data } = await open({ Mutation: { admit } });
    const mutation = 'mutation { admit(family: "Adler") { id } PatientDelete(id: "old") }';
    expect(failures(await ask(mutation, {}, { limits: { writes: 2 } }))).toEqual(['too-costly']);
    const records: AuditRecord[] = [];
    await data(mutation, {}, { limits: { writes: 3 }, audit: (record) => void records.push(record) });
    expect(records[0]!.targets.map(({ type, interaction }) => [type, interaction])).toEqual([
      ['Patient', 'create'],
      ['Encounter', 'create'],
      ['Patient', 'delete'],
    ]);
  });
});

describe('a field of Mutation with resolve', () => {
  const sent: unknown[] = [];
  const notify: HostFields = {
    Mutation: {
      notify: { type: 'Patient', args: { id: 'ID!' }, resolve: ({ id }) => (sent.push(id), `Patient/${id}`) },
      admit,
    },
  };

  test('must be alone, and is refused with others before anything is done', async () => {
    const { ask, data, commits } = await open(notify);
    expect(await data('mutation { __typename notify(id: "old") { active } }')).toEqual({
      __typename: 'Mutation',
      notify: { active: true },
    });
    expect(sent).toEqual(['old']);
    for (const other of [
      'again: notify(id: "old") { id }',
      'admit(family: "x") { id }',
      'PatientDelete(id: "old")',
      '...more',
    ]) {
      const result = await ask(
        `mutation { notify(id: "old") { id } ${other} } fragment more on Mutation { PatientDelete(id: "old") }`.replace(
          other === '...more' ? '\n' : / fragment .*/,
          '',
        ),
      );
      expect(result).toMatchObject({
        errors: [{ message: 'Field "notify" must be the only field of its mutation', extensions: { code: 'invalid' } }],
      });
      expect(result).not.toHaveProperty('data');
    }
    expect(sent).toEqual(['old']);
    expect(commits()).toBe(0);
    expect(
      await data(
        'mutation ($no: Boolean = false) { notify(id: "old") { id } PatientDelete(id: "old") @include(if: $no) }',
      ),
    ).toEqual({ notify: { id: 'old' } });
  });

  test('is refused if a request can only read', async () => {
    const { ask } = await open(notify);
    sent.length = 0;
    expect(failures(await ask('mutation { notify(id: "old") { id } }', {}, { readonly: true }))).toEqual(['forbidden']);
    expect(sent).toEqual([]);
  });

  test('that takes too long can have done its work, and the error says so', async () => {
    const { ask } = await open({
      Mutation: { slow: { type: 'Boolean', timeout: 1, resolve: () => new Promise(() => undefined) } },
    });
    const result = await ask('mutation { slow }');
    expect(result).toMatchObject({
      data: { slow: null },
      errors: [{ path: ['slow'], extensions: { code: 'unavailable', details: { unknown: true } } }],
    });
  });

  test('errors after it report that its work was done', async () => {
    const { ask } = await open({ Mutation: { wrong: { type: 'Int', resolve: () => 'x' } } });
    expect(await ask('mutation { wrong }')).toMatchObject({
      errors: [{ extensions: { code: 'internal', details: { written: true } } }],
    });
  });
});
