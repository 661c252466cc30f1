import type { Bundle, Patient } from '@medplum/fhirtypes';
import { describe, expect, test } from 'vitest';
import { MemoryStore, type Repository } from '../../src/index.js';
import { createSearch } from '../../src/store.js';
import { codeOf, faultOf, overStores, system } from './harness.js';

const BASE = 'https://clinic.example/fhir/R4';

async function withPatients(repository: Repository, count: number): Promise<void> {
  for (let index = 0; index < count; index += 1) {
    await repository.update({
      resourceType: 'Patient',
      id: `p${String(index).padStart(3, '0')}`,
      gender: index % 2 === 0 ? 'female' : 'male',
      name: [{ family: `F${index % 3}` }],
    });
  }
}

function ids(bundle: Bundle): (string | undefined)[] {
  return (bundle.entry ?? []).map(({ resource }) => resource?.id);
}

function link(bundle: Bundle, relation: string): string | undefined {
  return bundle.link?.find((one) => one.relation === relation)?.url;
}

/** Follows links of a relation from a first page, and returns all pages. */
async function follow(repository: Repository, relation: string, first: Bundle<Patient>): Promise<Bundle<Patient>[]> {
  const pages = [first];
  for (let url = link(first, relation); url !== undefined; url = link(pages.at(-1)!, relation)) {
    pages.push(await repository.search('Patient', new URL(url, 'http://x/').search));
    if (pages.length > 100) throw new Error('The links do not end');
  }
  return pages;
}

overStores('a search', (open) => {
  test('is a searchset with the URL of each resource', async () => {
    const repository = await system(open({ baseUrl: BASE }), 'clinic', { baseUrl: `${BASE}/` });
    await withPatients(repository, 2);
    expect(await repository.search('Patient', 'gender=male&_total=accurate')).toEqual({
      resourceType: 'Bundle',
      type: 'searchset',
      total: 1,
      link: [{ relation: 'self', url: `${BASE}/Patient?gender=male&_total=accurate&_count=20` }],
      entry: [
        {
          fullUrl: `${BASE}/Patient/p001`,
          resource: await repository.read('Patient', 'p001'),
          search: { mode: 'match' },
        },
      ],
    });
  });

  test('comes in pages of 20, with links that lead to every row once, and back', async () => {
    const repository = await system(open());
    await withPatients(repository, 45);
    const pages = await follow(repository, 'next', await repository.search('Patient'));
    expect(pages.map((page) => ids(page).length)).toEqual([20, 20, 5]);
    expect(new Set(pages.flatMap(ids)).size).toBe(45);
    const back = await follow(repository, 'previous', pages.at(-1)!);
    expect(back.map((page) => ids(page))).toEqual(pages.map((page) => ids(page)).toReversed());
  });

  test('keeps the search in its links: order, filters, special characters', async () => {
    const repository = await system(open({ baseUrl: BASE }));
    await withPatients(repository, 30);
    const query = { _sort: '-family,_id', 'name:contains': 'f', gender: ['female', 'female,male'], _count: '4' };
    const pages = await follow(repository, 'next', await repository.search('Patient', query));
    const whole = await repository.search('Patient', { ...query, _count: '1000' });
    expect(pages).toHaveLength(4);
    expect(pages.flatMap(ids)).toEqual(ids(whole));
    expect(ids(whole)[0]).toBe('p002');
    const search = `${BASE}/Patient?_sort=-family%2C_id&name%3Acontains=f&gender=female&gender=female%2Cmale&_count=4`;
    expect(link(pages[1]!, 'self')?.startsWith(`${search}&_cursor=`)).toBe(true);
    expect(link(pages[1]!, 'previous')).not.toContain('_offset');
  });

  test('counts on request, all matches and not the page', async () => {
    const repository = await system(open());
    await withPatients(repository, 25);
    expect((await repository.search('Patient', '_count=2')).total).toBeUndefined();
    expect((await repository.search('Patient', '_count=2&_total=none')).total).toBeUndefined();
    expect((await repository.search('Patient', '_count=2&_total=accurate&gender=male')).total).toBe(12);
    expect((await repository.search('Patient', '_count=2&_total=estimate')).total).toBe(25);
    for (const query of ['_summary=count', '_count=0']) {
      expect(await repository.search('Patient', query)).toMatchObject({ total: 25, link: [{ relation: 'self' }] });
      expect(await repository.search('Patient', query)).not.toHaveProperty('entry');
    }
  });

  test('accepts text, parameters, objects and criteria', async () => {
    const repository = await system(open());
    await withPatients(repository, 4);
    const test = { kind: 'token', code: 'male' } as const;
    const criteria = { kind: 'match', parameter: 'gender', test } as const;
    for (const query of [
      'gender=male',
      '?gender=male',
      new URLSearchParams({ gender: 'male' }),
      { gender: 'male' },
      { gender: ['male'], name: undefined },
      createSearch({ criteria }),
    ]) {
      expect(ids(await repository.search('Patient', query))).toEqual(['p001', 'p003']);
    }
    const sort = [{ parameter: '_id', descending: true }];
    expect(ids(await repository.search('Patient', createSearch({ criteria, sort, count: 1, offset: 1 })))).toEqual([
      'p001',
    ]);
    expect(await repository.search('Patient', createSearch({ criteria }))).not.toHaveProperty('link');
  });
});

describe('a value that a client can send', () => {
  // As a web framework parses `?kind=all&gender=male`, `?kind=id&ids[]=p000`, `?criteria[kind]=all`, or as a JSON body.
  const gender = 'male';
  const token = { kind: 'token', code: 'female' };
  test.each<unknown>([
    { kind: 'all', gender },
    { kind: 'none', gender },
    { kind: 'id', ids: ['p000'], gender },
    { kind: 'and', of: [], gender },
    { kind: 'or', of: [{ kind: 'all' }], gender },
    { kind: 'not', of: { kind: 'none' }, gender },
    { kind: 'last-updated', prefix: 'ge', interval: ['0', '1'], gender },
    { kind: 'match', parameter: 'gender', test: token, gender },
    { kind: 'missing', parameter: 'gender', missing: false, gender },
    { kind: 'composite', parameter: 'gender', tests: [token], gender },
    { kind: 'chain', parameter: 'organization', type: 'Organization', of: { kind: 'all' }, gender },
    { kind: 'has', parameter: 'patient', type: 'Observation', of: { kind: 'all' }, gender },
    { criteria: { kind: 'all' }, gender },
    { criteria: { kind: 'all' }, count: 1000, gender },
    { criteria: 'all', gender },
    { ...createSearch({ criteria: { kind: 'all' } }), gender },
    JSON.parse(JSON.stringify(createSearch({ criteria: { kind: 'all' } }))) as unknown,
    structuredClone({ ...createSearch({ criteria: { kind: 'all' } }) }),
    [createSearch({ criteria: { kind: 'all' } })],
    new Map([['gender', gender]]),
  ])('is never treated as criteria: %j', async (query) => {
    const repository = await system(new MemoryStore());
    await withPatients(repository, 4);
    expect(await codeOf(repository.search('Patient', query as never))).toBe('invalid');
  });

  test('is treated as parameters if these are expected', async () => {
    const repository = await system(new MemoryStore());
    await withPatients(repository, 4);
    expect(ids(await repository.search('Patient', Object.assign(Object.create(null), { gender }) as never))).toEqual([
      'p001',
      'p003',
    ]);
    // Subscription has a search parameter of this name.
    expect(ids(await repository.search('Subscription', { criteria: 'Patient?gender=male' }))).toEqual([]);
  });

  test.each([undefined, null, {}, { criteria: 'all' }, { criteria: { kind: 'any' } }])(
    'createSearch accepts criteria, not %j',
    (request) => {
      expect(() => createSearch(request as never)).toThrow('createSearch takes an object with criteria');
    },
  );
});

describe('a search', () => {
  test.each<[string, string, unknown]>([
    ['an unknown parameter', 'invalid', 'colour=red'],
    ['a malformed value', 'invalid', 'birthdate=soon'],
    ['a page that is not a number', 'invalid', '_count=many'],
    ['a negative page', 'invalid', createSearch({ criteria: { kind: 'all' }, count: -1 })],
    ['half a row', 'invalid', createSearch({ criteria: { kind: 'all' }, offset: 0.5 })],
    ['a page that is too long', 'too-costly', '_count=1001'],
    ['an unsupported parameter', 'unsupported', '_contained=true'],
    ['a value that is not text', 'invalid', { gender: { code: 'male' } }],
    ['a number', 'invalid', 7],
  ])('is refused with %s', async (_, code, query) => {
    const repository = await system(new MemoryStore());
    expect(await codeOf(repository.search('Patient', query as never))).toBe(code);
  });

  test('names the limit of a page and how to avoid it', async () => {
    const repository = await system(new MemoryStore());
    const fault = await faultOf(repository.search('Patient', '_count=5000'));
    expect(fault.message).toBe(
      'A page of 5000 is requested; at most 1000 are allowed; follow the links to the next pages instead',
    );
  });

  test('treats absolute references below the base URL as local', async () => {
    const repository = await system(new MemoryStore({ baseUrl: BASE }));
    await repository.update({
      resourceType: 'Patient',
      id: 'p',
      managingOrganization: { reference: 'Organization/o' },
    });
    expect(ids(await repository.search('Patient', { organization: `${BASE}/Organization/o` }))).toEqual(['p']);
    expect(ids(await repository.search('Patient', { organization: 'http://other/Organization/o' }))).toEqual([]);
  });
});
