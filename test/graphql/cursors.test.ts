import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import {
  type Caller,
  executeFhirGraphql,
  type FhirGraphqlResult,
  MemoryStore,
  type ResourceStore,
  serverCaller,
  signIn,
  systemCaller,
} from '../../src/index.js';
import { SqliteStore } from '../../src/sqlite.js';
import { guardStore } from '../../src/access/guarded-store.js';
import { CHARACTER, cases } from '../support/chance.js';
import { caller, type Clinic, erase, openClinic, put, type Sample, PROJECT } from './harness.js';

const stores: readonly (readonly [string, () => ResourceStore])[] = [
  ['memory', () => new MemoryStore()],
  ['SQLite', () => new SqliteStore(':memory:')],
];

/** A page as the tests ask for it. */
interface Page {
  readonly count?: number;
  readonly offset: number | null;
  readonly pagesize: number | null;
  readonly first: string | null;
  readonly previous: string | null;
  readonly next: string | null;
  readonly last: string | null;
  readonly edges: readonly { readonly resource: { readonly id: string } }[];
}

const FIELDS = 'count offset pagesize first previous next last edges { resource { id } }';

/** Ids `p0` to `p9`; odd ones have no birth date, the others three different ones. */
const PATIENTS: readonly Sample[] = Array.from({ length: 10 }, (_, index) => ({
  resourceType: 'Patient',
  id: `p${index}`,
  gender: index < 6 ? 'female' : 'male',
  name: [{ family: ['Hill', 'hill', 'Äpfel'][index % 3] }],
  ...(index % 2 === 0 ? { birthDate: `197${index % 3}-01-01` } : {}),
}));

async function page(clinic: Clinic, argumentsText: string, more = {}): Promise<Page> {
  const query = `{ PatientConnection(${argumentsText}) { ${FIELDS} } }`;
  const data = (await clinic.data(query, undefined, more)) as { PatientConnection: Page };
  return data.PatientConnection;
}

async function at(clinic: Clinic, cursor: string | null): Promise<Page> {
  return page(clinic, `cursor: ${JSON.stringify(cursor)}`);
}

function idsOf({ edges }: Page): string[] {
  return edges.map(({ resource }) => resource.id);
}

/** All pages in one direction. */
async function walk(clinic: Clinic, start: Page, direction: 'next' | 'previous'): Promise<string[][]> {
  const pages = [idsOf(start)];
  for (let current = start; current[direction] !== null;) {
    current = await at(clinic, current[direction]);
    pages.push(idsOf(current));
    if (pages.length > 50) throw new Error('The pages have no end');
  }
  return pages;
}

describe.each(stores)('cursors on %s', (_, openStore) => {
  test('page forwards and backwards', async () => {
    const clinic = await openClinic(PATIENTS, openStore());
    const first = await page(clinic, '_count: 4');
    expect(first).toMatchObject({ count: 10, offset: 0, pagesize: 4, previous: null });
    expect(await walk(clinic, first, 'next')).toEqual([
      ['p0', 'p1', 'p2', 'p3'],
      ['p4', 'p5', 'p6', 'p7'],
      ['p8', 'p9'],
    ]);
    const second = await at(clinic, first.next);
    expect(second).toMatchObject({ count: 10, offset: 4, pagesize: 4 });
    expect(idsOf(await at(clinic, second.previous))).toEqual(['p0', 'p1', 'p2', 'p3']);
    expect(idsOf(await at(clinic, second.first))).toEqual(['p0', 'p1', 'p2', 'p3']);

    const last = await at(clinic, second.last);
    expect(last).toMatchObject({ count: 10, offset: 6, pagesize: 4, next: null });
    expect(await walk(clinic, last, 'previous')).toEqual([
      ['p6', 'p7', 'p8', 'p9'],
      ['p2', 'p3', 'p4', 'p5'],
      ['p0', 'p1'],
    ]);
  });

  test.each([
    '_sort: "birthdate"',
    '_sort: "-birthdate"',
    '_sort: "family,-birthdate"',
    '_sort: ["-gender", "family"]',
    '_sort: "-_id"',
    '_sort: "-_lastUpdated"',
    '_sort: "birthdate", gender: female',
    '_filter: "gender eq female", _sort: "-family"',
  ])('keep the search and its order: %s', async (search) => {
    const clinic = await openClinic(PATIENTS, openStore());
    const all = idsOf(await page(clinic, search));
    const first = await page(clinic, `${search}, _count: 3`);
    expect((await walk(clinic, first, 'next')).flat()).toEqual(all);
    const last = await at(clinic, first.last);
    expect((await walk(clinic, last, 'previous')).reverse().flat()).toEqual(all);
  });

  test('keep any order (random sorts, sizes and births)', async () => {
    const codes = ['birthdate', 'gender', 'family', '_id', '_lastUpdated', 'name', 'active', 'deceased'];
    const key = fc.tuple(fc.constantFrom('', '-'), fc.constantFrom(...codes)).map((parts) => parts.join(''));
    const sorts = fc.uniqueArray(key, { maxLength: 4, selector: (text) => text.replace('-', '') });
    const births = fc.array(fc.option(fc.constantFrom('1970', '1970-01', '1970-01-01', '1980')), { maxLength: 12 });
    await fc.assert(
      fc.asyncProperty(sorts, fc.integer({ min: 1, max: 5 }), births, async (sort, count, dates) => {
        const samples = dates.map((birthDate, index) => ({
          resourceType: 'Patient',
          id: `x${index}`,
          ...(birthDate === null ? {} : { birthDate }),
        }));
        const clinic = await openClinic([...PATIENTS, ...samples], openStore());
        const search = sort.length === 0 ? '' : `_sort: "${sort.join(',')}", `;
        const all = idsOf(await page(clinic, `${search}_offset: 0`));
        const start = await page(clinic, `${search}_count: ${count}`);
        expect((await walk(clinic, start, 'next')).flat()).toEqual(all);
        const back = await walk(clinic, await at(clinic, start.last), 'previous');
        expect(back.reverse().flat()).toEqual(all);
      }),
      { numRuns: cases(15, 6) },
    );
  });

  test('begin where an offset ended', async () => {
    const clinic = await openClinic(PATIENTS, openStore());
    const middle = await page(clinic, '_count: 3, _offset: 5');
    expect(idsOf(middle)).toEqual(['p5', 'p6', 'p7']);
    expect(await at(clinic, middle.next)).toMatchObject({ offset: 8, next: null });
    const before = await at(clinic, middle.previous);
    expect([before.offset, idsOf(before)]).toEqual([2, ['p2', 'p3', 'p4']]);
  });

  test('are null without _count, and without matches', async () => {
    const clinic = await openClinic(PATIENTS, openStore());
    const none = { first: null, previous: null, next: null, last: null };
    expect(await page(clinic, 'gender: female')).toMatchObject(none);
    expect(await page(clinic, '_count: 0')).toMatchObject({ ...none, count: 10, edges: [] });
    expect(await page(clinic, 'gender: other, _count: 2')).toMatchObject({ ...none, count: 0, edges: [] });
    expect(await page(clinic, '_count: 10')).toMatchObject({ previous: null, next: null });
    expect(await page(clinic, 'gender: other, _count: 2', { dialect: 'hl7' })).not.toHaveProperty('next');
  });

  test('neither skip nor repeat a resource that stays while others are written and deleted', async () => {
    const store = openStore();
    const clinic = await openClinic(PATIENTS, store);
    const first = await page(clinic, '_count: 3, _sort: "-birthdate"');
    expect(idsOf(first)).toEqual(['p2', 'p8', 'p4']);
    // The resource at the position of the cursor is deleted, and resources are added before and after it.
    await erase(store, { type: 'Patient', id: 'p4' });
    await put(store, [
      { resourceType: 'Patient', id: 'new-before', birthDate: '1999-01-01' },
      { resourceType: 'Patient', id: 'new-after', birthDate: '1960-01-01' },
    ]);
    expect((await walk(clinic, await at(clinic, first.next), 'next')).flat()).toEqual([
      'p0',
      'p6',
      'new-after',
      'p1',
      'p3',
      'p5',
      'p7',
      'p9',
    ]);
    const back = await at(clinic, (await at(clinic, first.next)).previous);
    expect(idsOf(back)).toEqual(['new-before', 'p2', 'p8']);
  });

  test('of a reverse connection continue from the root, with one store call for all parents', async () => {
    const observations = ['a', 'b'].flatMap((patient) =>
      [1, 2, 3].map((n) => ({
        resourceType: 'Observation',
        id: `${patient}${n}`,
        subject: { reference: `Patient/${patient}` },
        effectiveDateTime: `2024-01-0${n}`,
      })),
    );
    const patients = ['a', 'b'].map((id) => ({ resourceType: 'Patient', id }));
    const clinic = await openClinic([...patients, ...observations], openStore());
    const { PatientList } = (await clinic.data(
      `{ PatientList { ObservationConnection(_reference: subject, _sort: "-date", _count: 2) { ${FIELDS} } } }`,
      undefined,
      { limits: { storeCalls: 2 } },
    )) as { PatientList: { ObservationConnection: Page }[] };
    expect(PatientList.map((one) => idsOf(one.ObservationConnection))).toEqual([
      ['a3', 'a2'],
      ['b3', 'b2'],
    ]);
    const cursor = PatientList[1]!.ObservationConnection.next;
    const { ObservationConnection } = (await clinic.data(
      `query ($c: String) { ObservationConnection(cursor: $c) { ${FIELDS} } }`,
      {
        c: cursor,
      },
    )) as { ObservationConnection: Page };
    expect(ObservationConnection).toMatchObject({ count: 3, offset: 2, next: null });
    expect(idsOf(ObservationConnection)).toEqual(['b1']);
  });

  test('can be at matches that fhirpath removes', async () => {
    const clinic = await openClinic(PATIENTS, openStore());
    const first = await page(clinic, '_count: 3, fhirpath: "birthDate.exists()"');
    expect(await walk(clinic, first, 'next')).toEqual([['p0', 'p2'], ['p4'], ['p6', 'p8'], []]);
  });
});

describe('a cursor', () => {
  const ask = (clinic: Clinic, query: string, more = {}): Promise<FhirGraphqlResult> =>
    clinic.ask(query, undefined, more);

  test('is accepted together with the arguments of its search, or alone', async () => {
    const clinic = await openClinic(PATIENTS);
    const search = '_count: 2, _offset: 1, _sort: "family", gender: [female, other], _filter: "active pr false"';
    const whole = `${search}, fhirpath: "true"`;
    const { next } = await page(clinic, whole);
    const second = idsOf(await at(clinic, next));
    expect(second).toHaveLength(2);
    for (const others of [whole, search, '_count: 2', '_offset: 1', `_cursor: "${next!}"`, 'gender: null']) {
      expect(idsOf(await page(clinic, `${others}, cursor: "${next!}"`))).toEqual(second);
    }
    const third = (await at(clinic, next)).next!;
    expect(idsOf(await page(clinic, `${whole}, cursor: "${third}"`))).toEqual(idsOf(await at(clinic, third)));
  });

  test('is refused with other arguments, and inside a resource', async () => {
    const clinic = await openClinic(PATIENTS);
    const { next } = await page(clinic, '_count: 4');
    for (const [other, name] of [
      ['_count: 5', '_count'],
      ['_count: 0', '_count'],
      ['gender: female', 'gender'],
      ['_sort: "family"', '_sort'],
      ['_filter: "active pr true"', '_filter'],
      ['_offset: 1', '_offset'],
      ['fhirpath: "true"', 'fhirpath'],
      ['_cursor: "x"', '_cursor'],
    ] as const) {
      const { data, errors } = await ask(clinic, `{ PatientConnection(cursor: "${next!}", ${other}) { count } }`);
      expect([data, errors?.map(({ extensions }) => extensions.code)]).toEqual([
        { PatientConnection: null },
        ['invalid'],
      ]);
      expect(errors![0]!.message).toContain(`"${name}"`);
    }
    expect(idsOf(await page(clinic, `_cursor: "${next!}", _count: null`))).toEqual(['p4', 'p5', 'p6', 'p7']);
    const nested = await ask(
      clinic,
      '{ PatientList { ObservationConnection(_reference: subject, cursor: "x") { count } } }',
    );
    expect(nested.errors?.[0]?.message).toContain('Unknown argument "cursor"');
  });

  test('is refused if it was changed, was created for another caller, or belongs to another connection', async () => {
    const store = new MemoryStore();
    const clinic = await openClinic(PATIENTS, store);
    const { next } = await page(clinic, '_count: 4');
    const refusal = async (cursor: string, type = 'Patient', as: Caller = caller): Promise<unknown> => {
      const query = `query ($c: String) { ${type}Connection(cursor: $c) { count } }`;
      const { data, errors } = await executeFhirGraphql(query, { store, caller: as, variables: { c: cursor } });
      return [data, errors?.map(({ message, extensions }) => [extensions.code, message.slice(0, 40)])];
    };
    const damaged = (type = 'Patient'): unknown => [
      { [`${type}Connection`]: null },
      [['invalid', 'The cursor is damaged, or was not made f']],
    ];
    for (let index = 0; index < next!.length; index++) {
      const other = next![index] === 'A' ? 'B' : 'A';
      expect(await refusal(next!.slice(0, index) + other + next!.slice(index + 1))).toEqual(damaged());
    }
    for (const cursor of [
      '',
      '.',
      'x',
      `${next!}=`,
      `${next!} `,
      next!.slice(1),
      '"'.repeat(99),
      'A'.repeat(4_000_000),
      '\u0000.\u0000',
    ]) {
      expect(await refusal(cursor)).toEqual(damaged());
    }
    expect(await refusal(next!, 'Patient', systemCaller('other'))).toEqual(damaged());
    expect(await refusal(next!, 'Practitioner')).toEqual([
      { PractitionerConnection: null },
      [['invalid', 'The cursor belongs to PatientConnection,']],
    ]);
  });

  test('is refused if it would be longer than the limit for reading', async () => {
    const clinic = await openClinic(PATIENTS);
    const query = `query ($family: [String]) {
      PatientConnection(family: $family, _count: 1) { count next }
      shorter: PatientConnection(_count: 9) { count }
    }`;
    const long = (values: number): Promise<FhirGraphqlResult> =>
      clinic.ask(query, { family: ['hill', ...Array.from({ length: values }, () => 'x'.repeat(5000))] });
    expect((await long(14)).errors).toBeUndefined();
    const { data, errors } = await long(15);
    expect(data).toEqual({ PatientConnection: null, shorter: { count: 10 } });
    expect(errors?.map(({ extensions }) => extensions.code)).toEqual(['too-costly']);
    expect(errors![0]!.message).toMatch(/^A cursor to this page would have 10\d{4} characters, at most 100000 are/);
    expect(errors![0]!.extensions.details).toMatchObject({ max: 100_000 });
  });

  test('with a valid checksum is still validated', async () => {
    const store = new MemoryStore();
    const clinic = await openClinic(PATIENTS, store);
    const { createHash } = await import('node:crypto');
    const forge = (content: string): string => {
      const bound = JSON.stringify(['system', PROJECT, '', content]);
      const check = createHash('sha256').update(bound).digest('base64url').slice(0, 22);
      return `${Buffer.from(content).toString('base64url')}.${check}`;
    };
    const search = { parameters: [], count: 2 };
    const good = [1, 'Patient', search, null, null, null, 0];
    expect(idsOf(await at(clinic, forge(JSON.stringify(good))))).toEqual(['p0', 'p1']);
    const bad: readonly unknown[] = [
      null,
      [],
      {},
      [2, ...good.slice(1)],
      [...good, 1],
      [1, 'Patient', null, null, null, null, 0],
      [1, 'Patient', { parameters: [['name', 'x']], count: 2 }, null, null, null, 0],
      [1, 'Patient', { parameters: [['no-such', ['x']]], count: 2 }, null, null, null, 0],
      [1, 'Patient', { parameters: [['__proto__', ['x']]], count: 2 }, null, null, null, 0],
      [1, 'Patient', { parameters: [], count: -1 }, null, null, null, 0],
      [1, 'Patient', { parameters: [], count: 1e9 }, null, null, null, 0],
      [1, 'Patient', { parameters: [], sort: ['no-such'], count: 2 }, null, null, null, 0],
      [1, 'Patient', search, null, { values: [], id: 7 }, null, 0],
      [1, 'Patient', search, null, { values: [1], id: 'p1' }, null, 0],
      [1, 'Patient', search, null, { values: [], id: 'p1' }, { values: [], id: 'p2' }, 0],
      [1, 'Patient', search, { type: 'Patient', id: 'p1' }, null, null, 0],
      [1, 'Patient', { ...search, reference: 'name' }, { type: 'Patient', id: 'p1' }, null, null, 0],
      [1, 'Patient', { ...search, reference: 'link' }, { type: 'Patient', id: '../x' }, null, null, 0],
      [1, 'Patient', { ...search, fhirpath: 'repeat(' }, null, null, null, 0],
      [1, 'Patient', { ...search, filters: ['('.repeat(20_000)] }, null, null, null, 0],
      [1, 'Patient', { ...search, sort: ['birthdate'] }, null, { values: [['x']], id: 'p1' }, null, 0],
    ];
    const deep = forge(`${'['.repeat(30_000)}${']'.repeat(30_000)}`);
    expect((await ask(clinic, `{ PatientConnection(cursor: "${deep}") { count } }`)).errors![0]!.extensions.code).toBe(
      'invalid',
    );
    for (const content of bad) {
      const { data, errors } = await ask(
        clinic,
        `{ PatientConnection(cursor: "${forge(JSON.stringify(content))}") { ${FIELDS} } }`,
      );
      expect([content, data?.['PatientConnection'] ?? null]).toEqual([content, null]);
      expect(errors![0]!.extensions.code).toMatch(/^(invalid|too-costly)$/);
    }
    const text = fc.string({ unit: CHARACTER, maxLength: 60 });
    await fc.assert(
      fc.asyncProperty(fc.oneof(text, fc.json()), async (content) => {
        const query = 'query ($c: String) { PatientConnection(cursor: $c) { count } }';
        const { errors } = await executeFhirGraphql(query, { store, caller, variables: { c: forge(content) } });
        expect(errors![0]!.extensions.code).toBe('invalid');
      }),
      { numRuns: cases(200, 50) },
    );
  });

  test('reveals nothing that its caller cannot see, and pages in the remaining order', async () => {
    const store = new MemoryStore();
    await guardStore(store, serverCaller(PROJECT)).commit(
      [
        ...PATIENTS,
        { resourceType: 'Project', id: PROJECT, name: 'Clinic' },
        { resourceType: 'User', id: 'u', firstName: 'A', lastName: 'B', email: 'a@example.org' },
        { resourceType: 'Practitioner', id: 'dr' },
        {
          resourceType: 'AccessPolicy',
          id: 'hide',
          resource: [{ resourceType: 'Patient', hiddenFields: ['birthDate', 'meta.lastUpdated'] }],
        },
        {
          resourceType: 'ProjectMembership',
          id: 'm',
          project: { reference: `Project/${PROJECT}` },
          user: { reference: 'User/u' },
          profile: { reference: 'Practitioner/dr' },
          accessPolicy: { reference: 'AccessPolicy/hide' },
        },
      ].map((resource) => ({ kind: 'put', key: { type: resource.resourceType, id: resource.id }, resource })),
    );
    const clinic = { ...(await openClinic([], store)) };
    const member = await signIn(store, { membership: 'm' });
    const asMember: Clinic = {
      ...clinic,
      ask: (query, variables, more) => executeFhirGraphql(query, { store, caller: member, variables, ...more }),
      data: async (query, variables, more) =>
        (await executeFhirGraphql(query, { store, caller: member, variables, ...more })).data,
    };
    const first = await page(asMember, '_sort: ["-birthdate", "-_lastUpdated", "-family"], _count: 4');
    const content = Buffer.from(first.next!.split('.')[0]!, 'base64url').toString();
    expect(JSON.parse(content)).toMatchObject([1, 'Patient', {}, null, { values: [null, null, 'hill'] }, null, 4]);
    expect((await walk(asMember, first, 'next')).flat()).toEqual(idsOf(await page(asMember, '_sort: "-family"')));
    // A cursor of the system caller is not valid for the member.
    const { next } = await page(clinic, '_count: 4');
    const { errors } = await asMember.ask(`{ PatientConnection(cursor: "${next!}") { count } }`);
    expect(errors?.[0]?.extensions.code).toBe('invalid');
  });
});
