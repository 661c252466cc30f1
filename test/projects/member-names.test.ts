import { expect, test } from 'vitest';
import { searchMembers, serverCaller } from '../../src/index.js';
import { type SearchQuery, SERVER_SCOPE, type Write } from '../../src/store.js';
import { countTurns } from '../support/count-turns.js';
import { storeWith } from '../support/store-with.js';
import { PACE } from '../../src/platform/pace.js';
import { memoryStore } from './harness.js';

const MEMBERS = 2_500;

/** Members whose profiles do not exist, so that the names of their Users decide. */
async function manyMembers(): Promise<ReturnType<typeof memoryStore>> {
  const store = memoryStore();
  const writes = Array.from({ length: MEMBERS }, (_, index): Write[] => {
    const id = `m${index}`;
    const user = { resourceType: 'User', id, firstName: `Ann${index}`, lastName: index % 2 === 0 ? 'Even' : 'Odd' };
    const membership = {
      resourceType: 'ProjectMembership',
      id,
      user: { reference: `User/${id}` },
      profile: { reference: `Patient/${id}` },
    };
    return [
      { kind: 'put', key: { project: SERVER_SCOPE, type: 'User', id }, resource: user },
      { kind: 'put', key: { project: 'clinic', type: 'ProjectMembership', id }, resource: membership },
    ];
  });
  const project = { resourceType: 'Project', id: 'clinic' };
  await store.commit([
    { kind: 'put', key: { project: SERVER_SCOPE, type: 'Project', id: 'clinic' }, resource: project },
    ...writes.flat(),
  ]);
  return store;
}

test('a search by names reads each member and its User once, for any number of members and names', async () => {
  const whole = await manyMembers();
  const pages: SearchQuery[] = [];
  let members = 0;
  let users = 0;
  const store = storeWith(whole, {
    async search(query, options) {
      const page = await whole.search(query, options);
      if (query.total !== true) {
        pages.push(query);
        members += page.matches.length;
      }
      return page;
    },
    read(keys, options) {
      users += keys.filter(({ type }) => type === 'User').length;
      return whole.read(keys, options);
    },
  });
  const query = 'name=even&name:contains=N24&name:contains=nn&_summary=count';
  const { total } = await searchMembers('clinic', query, { store, caller: serverCaller('clinic') });
  // 24, 240 to 248 and 2400 to 2498
  expect(total).toBe(1 + 5 + 50);
  expect({ members, users }).toEqual({ members: MEMBERS, users: MEMBERS });
  // A page that begins at an offset would find all before it again.
  expect(pages.map(({ offset, after }) => offset ?? after?.id)).toEqual([
    ...[undefined, 'm1447', 'm1898', 'm2347', 'm548', 'm999'],
  ]);
});

test('other work runs while the names of Users are compared', async () => {
  const store = await manyMembers();
  PACE.turnMs = 0;
  const { result, turns } = await countTurns(() =>
    searchMembers('clinic', 'name=odd&_summary=count', { store, caller: serverCaller('clinic') }),
  );
  expect(result.total).toBe(MEMBERS / 2);
  expect(turns).toBeGreaterThan(MEMBERS);
});
