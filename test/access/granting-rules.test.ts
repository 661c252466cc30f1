import { beforeEach, describe, expect, test } from 'vitest';
import { type AnyResource, MemoryStore, type ResourceStore, systemCaller } from '../../src/index.js';
import { type Criteria, R4, type StoredResource } from '../../src/store.js';
import { grantsOf, joinedByFields, maskFound } from '../../src/access/evaluate/granting-rules.js';
import { resolveMemberUsers } from '../../src/access/evaluate/member-users.js';
import { MEMBER_USERS } from '../../src/access/policy/default-rules.js';
import { unrestrictedRule, type AccessRule } from '../../src/access/rule.js';
import { ALL, and, not, or } from '../../src/search/criteria/criteria.js';
import { countCalls } from '../graphql/counting-store.js';
import { storeWith } from '../support/store-with.js';

const token = (parameter: string, code: string): Criteria => ({
  kind: 'match',
  parameter,
  test: { kind: 'token', code },
});
const [male, female] = [token('gender', 'male'), token('gender', 'female')];
/** Patients that a final Observation is about. */
const observed: Criteria = { kind: 'has', type: 'Observation', parameter: 'subject', of: token('status', 'final') };
/** Patients that some Observation is about. */
const known: Criteria = { kind: 'has', type: 'Observation', parameter: 'subject', of: ALL };
const rule = (criteria: Criteria, ...hidden: string[]): AccessRule => ({
  ...unrestrictedRule('test', hidden),
  criteria,
});

let store: MemoryStore;
let rows: StoredResource[];

async function put(resource: object): Promise<void> {
  const { resourceType: type, id } = resource as { resourceType: string; id: string };
  await store.commit([{ kind: 'put', key: { project: 'clinic', type, id }, resource: resource as AnyResource }]);
}

async function read(...ids: readonly string[]): Promise<StoredResource[]> {
  return (await store.read(
    ids.map((id) => ({ project: 'clinic', type: 'Patient', id })),
  )) as unknown as StoredResource[];
}

beforeEach(async () => {
  store = new MemoryStore();
  await put({ resourceType: 'Patient', id: 'boy', gender: 'male', birthDate: '2001-01-01', active: true });
  await put({ resourceType: 'Patient', id: 'girl', gender: 'female', birthDate: '2002-02-02', active: true });
  await put({ resourceType: 'Observation', id: 'o', status: 'final', subject: { reference: 'Patient/girl' } });
  rows = await read('boy', 'girl');
});

/** For each row the positions of the rules that grant it. */
async function granted(
  rules: readonly AccessRule[],
  over: ResourceStore = store,
  ...ids: string[][]
): Promise<number[][]> {
  const found = await grantsOf(over, 'clinic', 'Patient', rules, rows, undefined, ...ids);
  return found.map(({ rules: granting }) => granting.map((one) => rules.indexOf(one)));
}

describe('the rules that grant resources', () => {
  test('are the rules whose criteria match', async () => {
    const rules = [
      rule(ALL),
      rule(male),
      rule(not(male)),
      rule(observed),
      rule(and([female, observed])),
      rule(and([male, known])),
    ];
    expect(await granted(rules)).toEqual([
      [0, 1],
      [0, 2, 3, 4],
    ]);
  });

  test('ask the store once for each rule with a chain, and for no other', async () => {
    const counting = countCalls(store);
    await granted([rule(ALL), rule(male), rule(observed), rule(and([male, known]))], counting.store);
    expect(counting.takeCalls()).toEqual(['search Patient', 'search Patient']);
    rows = [];
    expect(await granted([rule(observed)], counting.store)).toEqual([]);
    expect(counting.takeCalls()).toEqual([]);
  });

  test('ask the store about every named id, whether it was found or not', async () => {
    const asked: unknown[] = [];
    const watched = storeWith(store, {
      search: (query, options) => (
        asked.push([query.project, query.type, query.criteria]),
        store.search(query, options)
      ),
    });
    const ids = ['girl', 'nobody'];
    rows = await read('girl');
    expect(await granted([rule(observed)], watched, ids)).toEqual([[0]]);
    rows = [];
    expect(await granted([rule(observed)], watched, ids)).toEqual([]);
    expect(asked).toEqual(Array(2).fill(['clinic', 'Patient', and([{ kind: 'id', ids }, observed])]));
  });

  test('do not grant a resource by a chain if the store was not asked about it', async () => {
    expect(await granted([rule(observed), rule(female), rule(not(observed))], store, [])).toEqual([[], [1]]);
  });

  test('stay within the project', async () => {
    const [, girl] = await grantsOf(store, 'other', 'Patient', [rule(observed), rule(female)], rows);
    expect(girl!.rules.map(({ criteria }) => criteria)).toEqual([female]);
  });
});

describe('a version that is written between the read and the searches', () => {
  const write = (gender: string): Promise<void> => put({ resourceType: 'Patient', id: 'girl', gender, active: true });

  /** The store, with something done before the search of each number. */
  function interrupted(before: (search: number) => Promise<void>): { store: ResourceStore; count: () => number } {
    let searches = 0;
    const search: ResourceStore['search'] = async (query, options) => {
      searches += 1;
      await before(searches);
      return store.search(query, options);
    };
    return { store: storeWith(store, { search }), count: () => searches };
  }

  test('replaces the older version, and is judged itself', async () => {
    const { store: late, count } = interrupted((search) => (search === 1 ? write('male') : Promise.resolve()));
    const rules = [rule(male), rule(female), rule(observed), rule(ALL)];
    const [boy, girl] = await grantsOf(late, 'clinic', 'Patient', rules, rows);
    expect(boy!.row).toBe(rows[0]);
    expect(girl!.row.resource).toMatchObject({ gender: 'male' });
    expect(girl!.row).toMatchObject({ versionId: '2', lastUpdated: (await read('girl'))[0]!.lastUpdated });
    expect(girl!.rules.map((one) => rules.indexOf(one))).toEqual([0, 2, 3]);
    expect(count()).toBe(1);
  });

  test('is searched again, until all rules judge the same version', async () => {
    const { store: late, count } = interrupted((search) => (search === 2 ? write('other') : Promise.resolve()));
    const rules = [rule(observed), rule(known)];
    const [, girl] = await grantsOf(late, 'clinic', 'Patient', rules, rows);
    expect(girl!.row.versionId).toBe('2');
    expect(girl!.rules).toEqual(rules);
    expect(count()).toBe(4);
  });

  test('is searched three times at most; then the newest counts, and rules that saw another version do not grant it', async () => {
    const { store: late, count } = interrupted((search) => (search % 2 === 0 ? write('other') : Promise.resolve()));
    const rules = [rule(observed), rule(known)];
    const [, girl] = await grantsOf(late, 'clinic', 'Patient', rules, rows);
    expect(count()).toBe(6);
    expect(girl!.row.versionId).toBe('4');
    expect(girl!.rules).toEqual([rules[1]]);
  });

  test('that the rule does not grant leaves the older version without that rule', async () => {
    const { store: late } = interrupted((search) => (search === 1 ? write('other') : Promise.resolve()));
    const rules = [rule(and([female, observed])), rule(female)];
    const [, girl] = await grantsOf(late, 'clinic', 'Patient', rules, rows);
    expect(girl!.row).toBe(rows[1]);
    expect(girl!.rules).toEqual([rules[1]]);
  });
});

describe('rules that hide the same fields', () => {
  test('become one rule with the grants of all of them', () => {
    const rules = [rule(male, 'name'), rule(observed), rule(female, 'name'), rule(known, 'name', 'active')];
    const joined = joinedByFields(rules);
    expect(joined).toEqual([{ ...rules[0], criteria: or([male, female]) }, rules[1], rules[3]]);
    expect(joined[1]).toBe(rules[1]);
    expect(joinedByFields([rule(male), rule(ALL)])[0]!.criteria).toEqual(ALL);
    expect(joinedByFields([])).toEqual([]);
  });
});

describe('a resource that a search found', () => {
  async function masked(rules: readonly AccessRule[], over: ResourceStore = store): Promise<AnyResource[]> {
    const all = { model: R4, rulesFor: () => rules };
    return (await maskFound(over, 'clinic', 'Patient', rules, all, rows)).map(({ resource }) => resource);
  }
  const fields = (resources: readonly AnyResource[]): string[] =>
    resources.map((resource) =>
      Object.keys(resource)
        .filter((name) => ['birthDate', 'active', 'gender'].includes(name))
        .sort()
        .join(),
    );

  test('lacks the fields that all its rules hide, without asking any rule', async () => {
    const counting = countCalls(store);
    const rules = [rule(observed, 'birthDate'), rule(male, 'birthDate')];
    expect(fields(await masked(rules, counting.store))).toEqual(['active,gender', 'active,gender']);
    expect(fields(await masked([rule(observed)], counting.store))).toEqual([
      'active,birthDate,gender',
      'active,birthDate,gender',
    ]);
    expect(counting.takeCalls()).toEqual([]);
  });

  test('is whole if one rule shows all fields of all resources, without asking any rule', async () => {
    const counting = countCalls(store);
    const rules = [rule(observed, 'birthDate'), rule(ALL), rule(male, 'active')];
    expect(fields(await masked(rules, counting.store))).toEqual(['active,birthDate,gender', 'active,birthDate,gender']);
    expect(counting.takeCalls()).toEqual([]);
  });

  test('is shown as the rules that grant it allow', async () => {
    const rules = [rule(male, 'birthDate'), rule(observed, 'active'), rule(female, 'active', 'birthDate')];
    expect(fields(await masked(rules))).toEqual(['active,gender', 'birthDate,gender']);
    expect(fields(await masked([rule(ALL, 'birthDate'), rule(observed, 'active')]))).toEqual([
      'active,gender',
      'active,birthDate,gender',
    ]);
  });

  test('hides the fields that any rule hides if it has changed since, or if no rule grants it any more', async () => {
    const rules = [rule(observed, 'active'), rule(male, 'birthDate')];
    const change = storeWith(store, {
      async search(query, options) {
        await put({ resourceType: 'Patient', id: 'girl', gender: 'other', birthDate: '2003', active: false });
        return store.search(query, options);
      },
    });
    const [, girl] = await masked(rules, change);
    expect(girl).toMatchObject({ gender: 'female' });
    expect(fields([girl!])).toEqual(['gender']);
    const forgotten = storeWith(store, {
      async search(query, options) {
        await store.commit([{ kind: 'delete', key: { project: 'clinic', type: 'Observation', id: 'o' } }]);
        return store.search(query, options);
      },
    });
    rows = await read('girl');
    expect(fields(await masked(rules, forgotten))).toEqual(['gender']);
  });
});

describe('"members of the project" in criteria', () => {
  beforeEach(async () => {
    const user = (reference?: string) => (reference === undefined ? {} : { user: { reference } });
    for (const [id, more] of [
      ['a', user('User/1')],
      ['b', user('ClientApplication/2')],
      ['c', user()],
      ['d', { user: { display: 'Dora' } }],
      ['e', user('User/3')],
    ] as const) {
      await put({ resourceType: 'ProjectMembership', id, ...more });
    }
  });
  const MEMBERS: Criteria = { kind: 'id', ids: ['1', '3'] };
  const resolved = (criteria: Criteria, over: ResourceStore = store): Promise<Criteria> =>
    resolveMemberUsers(over, systemCaller('clinic'), criteria, undefined);

  test('become the ids of the Users of the memberships, at any position', async () => {
    expect(await resolved(MEMBER_USERS)).toEqual(MEMBERS);
    expect(await resolved(and([male, MEMBER_USERS]))).toEqual(and([male, MEMBERS]));
    expect(await resolved(or([male, and([MEMBER_USERS, female])]))).toEqual(or([male, and([MEMBERS, female])]));
  });

  test('are looked up only if they are in the criteria', async () => {
    const { store: counted, takeCalls } = countCalls(store);
    for (const criteria of [male, not(male), and([male, or([female, observed])]), ALL]) {
      expect(await resolved(criteria, counted)).toBe(criteria);
    }
    expect(takeCalls()).toEqual([]);
    await resolved(MEMBER_USERS, counted);
    expect(takeCalls()).toEqual(['search ProjectMembership']);
  });
});
