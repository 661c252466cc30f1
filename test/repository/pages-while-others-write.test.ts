import type { Bundle } from '@medplum/fhirtypes';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { MemoryStore, type Repository, type ResourceStore, searchMembers, serverCaller } from '../../src/index.js';
import { SqliteStore } from '../../src/sqlite.js';
import { historyParameters, typeHistoryParameters } from '../../src/repository/history-parameters.js';
import { repositoryOf } from '../../src/repository/create-repository.js';
import { openRepository } from '../../src/repository/open-repository.js';
import { everything } from '../../src/repository/everything.js';
import { onceTestEnds } from '../support/after-tests.js';
import { cases, SEED, someOf } from '../support/chance.js';
import { postgresStore } from '../stores/postgres/store.js';
import { codeOf, faultOf, signedIn, system } from './harness.js';

// Walks from page to page while others write: what is not written meanwhile appears exactly once.

const STORES: readonly (readonly [string, number, () => Promise<ResourceStore>])[] = [
  ['memory', 25, async () => new MemoryStore()],
  ['SQLite', 10, async () => new SqliteStore(':memory:')],
  ['PostgreSQL', 4, () => postgresStore()],
];

const SEARCHES = [
  '',
  '_sort=_id',
  '_sort=-_id',
  '_sort=family',
  '_sort=-family,birthdate',
  '_sort=gender,-birthdate',
  '_sort=-birthdate',
  '_sort=_lastUpdated',
  '_sort=-_lastUpdated,family',
  '_sort=organization',
  '_sort=identifier',
  'active=true&_sort=-birthdate',
  'active=true&_include=Patient:organization&_revinclude=Observation:subject',
  '_sort=-family&_total=accurate&_elements=name',
];

interface Person {
  readonly family: number | null;
  readonly year: number | null;
  readonly gender: 'female' | 'male' | null;
}

const PERSON: fc.Arbitrary<Person> = fc.record({
  family: fc.option(fc.integer({ min: 0, max: 3 }), { nil: null }),
  year: fc.option(fc.integer({ min: 1950, max: 1953 }), { nil: null }),
  gender: fc.constantFrom('female', 'male', null),
});

function patientOf(id: string, { family, year, gender }: Person): object {
  return {
    ...{ resourceType: 'Patient', id, active: true },
    ...(family === null ? {} : { name: [{ family: `Family ${family}` }], identifier: [{ value: `i${family}` }] }),
    ...(year === null
      ? {}
      : { birthDate: `${year}-01-01`, managingOrganization: { reference: `Organization/${year}` } }),
    ...(gender === null ? {} : { gender }),
  };
}

/** A write between two pages: deletes if there is no person. */
const WRITE = fc.record({ id: fc.integer({ min: 0, max: 20 }), person: fc.option(PERSON, { nil: null }) });

const idOf = (number: number): string => `p${String(number).padStart(2, '0')}`;

/** The ids of matches on each page; `between` runs after each. */
async function walk(
  ask: (parameters: URLSearchParams) => Promise<Bundle>,
  first: string,
  between: () => Promise<void>,
  relation = 'next',
): Promise<readonly Bundle[]> {
  const pages: Bundle[] = [];
  for (let url: string | undefined = `x?${first}`; url !== undefined;) {
    const page: Bundle = await ask(new URLSearchParams(url.split('?')[1]));
    pages.push(page);
    await between();
    url = page.link?.find((one) => one.relation === relation)?.url;
    if (pages.length > 300) throw new Error('The links do not end');
  }
  return pages;
}

function matchesOf(pages: readonly Bundle[]): readonly string[] {
  return pages.flatMap(({ entry = [] }) =>
    entry.filter(({ search }) => search?.mode === 'match').map(({ resource }) => resource!.id!),
  );
}

/** How often each appears. */
function times(wanted: readonly string[], seen: readonly string[]): readonly (readonly [string, number])[] {
  return wanted.map((one) => [one, seen.filter((other) => other === one).length] as const);
}

async function write(repository: Repository, { id, person }: { id: number; person: Person | null }): Promise<void> {
  if (person === null) await repository.delete('Patient', idOf(id)).catch(unlessMissing);
  else await repository.update(patientOf(idOf(id), person) as never);
}

/** An id that was never used. */
function unlessMissing(error: unknown): void {
  if ((error as { readonly code?: string }).code !== 'not-found') throw error;
}

describe.each(someOf(STORES, 2))('pages over %s, while others write,', (_, runs, open) => {
  test('show each other match once', async () => {
    const store = await open();
    onceTestEnds(() => store.close());
    let project = 0;
    await fc.assert(
      fc.asyncProperty(
        fc.array(PERSON, { minLength: 3, maxLength: 14 }),
        fc.constantFrom(...SEARCHES),
        fc.integer({ min: 1, max: 4 }),
        fc.array(WRITE, { minLength: 1, maxLength: 10 }),
        fc.constantFrom('next', 'previous'),
        async (people, search, count, writes, direction) => {
          const repository = await system(store, `walk${(project += 1)}`);
          for (const [number, person] of people.entries()) await write(repository, { id: number, person });
          const ask = (parameters: URLSearchParams): Promise<Bundle> => repository.search('Patient', parameters);
          const left = [...writes];
          const between = async (): Promise<void> => {
            const next = left.pop();
            if (next !== undefined) await write(repository, next);
          };
          const first = `${search}&_count=${count}`;
          let begin = first;
          if (direction === 'previous') {
            const last = (await walk(ask, first, async () => undefined)).at(-1)!;
            begin = last.link!.find(({ relation }) => relation === 'self')!.url.split('?')[1]!;
          }
          const pages = await walk(ask, begin, between, direction);
          const written = new Set(writes.slice(left.length).map(({ id }) => idOf(id)));
          const untouched = [...people.keys()].map(idOf).filter((id) => !written.has(id));
          expect(times(untouched, matchesOf(pages))).toEqual(untouched.map((id) => [id, 1]));
        },
      ),
      { seed: SEED, numRuns: cases(runs * 4, runs), endOnFailure: true },
    );
  });

  test('of histories show each version once', async () => {
    const store = await open();
    onceTestEnds(() => store.close());
    let project = 0;
    await fc.assert(
      fc.asyncProperty(
        fc.array(fc.integer({ min: 0, max: 2 }), { minLength: 2, maxLength: 12 }),
        fc.integer({ min: 1, max: 3 }),
        fc.array(WRITE, { maxLength: 8 }),
        fc.constantFrom('instance', 'type', 'member'),
        fc.constantFrom('next', 'previous'),
        async (versions, count, writes, kind, direction) => {
          const name = `history${(project += 1)}`;
          const trusted = await system(store, name);
          for (const [year, id] of [0, ...versions].entries()) {
            await write(trusted, { id, person: { family: null, year: year + 1950, gender: null } });
          }
          const rules = [{ resourceType: 'Patient', criteria: 'Patient?active=true' }];
          const repository =
            kind === 'member'
              ? openedFor(store, await signedIn(store, { project: name, rules }))
              : openedFor(store, serverCaller(name));
          const ask = (parameters: URLSearchParams): Promise<Bundle> =>
            kind === 'type'
              ? repository.typeHistory('Patient', typeHistoryParameters(parameters))
              : repository.history('Patient', idOf(0), historyParameters(parameters));
          const tagsOf = (pages: readonly Bundle[]): readonly string[] =>
            pages.flatMap(({ entry = [] }) =>
              entry.map(({ resource, response }) => `${resource?.id} ${response!.etag} ${response!.lastModified}`),
            );
          const walked = kind === 'type' ? 'next' : direction;
          const whole = await walk(ask, '_count=1000', async () => undefined);
          let begin = `_count=${count}`;
          if (walked === 'previous') {
            const last = (await walk(ask, begin, async () => undefined)).at(-1)!;
            begin = last.link!.find(({ relation }) => relation === 'self')!.url.split('?')[1]!;
          }
          const left = writes.filter(({ person }) => person !== null);
          const pages = await walk(
            ask,
            begin,
            async () => {
              const next = left.pop();
              if (next !== undefined) await write(trusted, { ...next, id: next.id % 3 });
            },
            walked,
          );
          const wanted = tagsOf(whole);
          expect(times(wanted, tagsOf(pages))).toEqual(wanted.map((one) => [one, 1]));
        },
      ),
      { seed: SEED, numRuns: cases(runs * 4, runs), endOnFailure: true },
    );
  });
});

function openedFor(store: ResourceStore, caller: Parameters<typeof openRepository>[0]['caller']): Repository {
  return repositoryOf(openRepository({ store, caller }));
}

describe('the pages of members', () => {
  test('show each other member once, and refuse the cursors of other projects', async () => {
    const store = new MemoryStore();
    const trusted = await system(store);
    const members: string[] = [];
    for (let number = 0; number < 7; number += 1) members.push((await signedIn(store)).membership);
    members.sort();
    const ask = (parameters: URLSearchParams): Promise<Bundle> =>
      searchMembers('clinic', parameters, { store, caller: serverCaller() });
    const gone = [members[0]!, members[2]!];
    const pages = await walk(ask, '_count=2', async () => {
      const next = gone.pop();
      if (next !== undefined) await trusted.delete('ProjectMembership', next);
    });
    const stay = members.filter((_, index) => index !== 0 && index !== 2);
    expect(times(stay, matchesOf(pages))).toEqual(stay.map((id) => [id, 1]));
    const next = new URLSearchParams(pages[0]!.link!.find(({ relation }) => relation === 'next')!.url.split('?')[1]);
    await system(store, 'other');
    expect(await codeOf(searchMembers('other', next, { store, caller: serverCaller() }))).toBe('invalid');
  });
});

describe('the cursor of a page', () => {
  const cursorOf = (page: Bundle): string =>
    new URLSearchParams(page.link!.find(({ relation }) => relation === 'next')!.url.split('?')[1]).get('_cursor')!;

  test('belongs to its caller and its question, and is refused when it is damaged', async () => {
    const store = new MemoryStore();
    const repository = await system(store);
    for (let number = 0; number < 4; number += 1) {
      await repository.update(patientOf(idOf(number), { family: number, year: 1950, gender: null }) as never);
      await repository.update(patientOf(idOf(0), { family: number, year: 1950, gender: null }) as never);
    }
    const search = cursorOf(await repository.search('Patient', 'active=true&_count=1'));
    const history = cursorOf(await repository.history('Patient', 'p00', { count: 1 }));
    const types = cursorOf(await repository.typeHistory('Patient', { count: 1 }));
    const whole = openRepository({ store, caller: serverCaller('clinic') });
    await repository.create({
      resourceType: 'Observation',
      status: 'final',
      code: {},
      subject: { reference: 'Patient/p00' },
    });
    const all = cursorOf(await everything(whole, { type: 'Patient', id: 'p00' }, new URLSearchParams('_count=1')));
    const other = repositoryOf(openRepository({ store, caller: await signedIn(store) }));
    expect((await repository.search('Patient', { active: 'true', _cursor: search })).entry).toHaveLength(3);
    expect(
      (await repository.search('Patient', { _cursor: search, _format: 'json', active: 'true' })).entry,
    ).toHaveLength(3);
    const damaged = search.replace(/^./, (letter) => (letter === 'W' ? 'X' : 'W'));
    for (const refused of [
      other.search('Patient', { active: 'true', _cursor: search }),
      repository.search('Patient', { active: 'false', _cursor: search }),
      repository.search('Patient', { active: 'true', _sort: 'family', _cursor: search }),
      repository.search('Observation', { _cursor: search }),
      repository.search('Patient', { active: 'true', _cursor: search, _offset: '1' }),
      repository.search('Patient', { active: 'true', _cursor: [search, search] }),
      ...['', 'x', 'x.y', damaged, history, types, all, `${search}.`, 'A'.repeat(200_000)].map((cursor) =>
        repository.search('Patient', { active: 'true', _cursor: cursor }),
      ),
      repository.history('Patient', 'p01', { cursor: history }),
      repository.history('Patient', 'p00', { cursor: history, since: '2000' }),
      repository.history('Patient', 'p00', { cursor: history, offset: 1 }),
      other.history('Patient', 'p00', { cursor: history }),
      repository.typeHistory('Observation', { cursor: types }),
      repository.typeHistory('Patient', { cursor: types, since: '2000' }),
      everything(whole, { type: 'Patient', id: 'p01' }, new URLSearchParams({ _cursor: all })),
      everything(whole, { type: 'Patient', id: 'p00' }, new URLSearchParams({ _cursor: all, _type: 'Observation' })),
    ]) {
      expect(await codeOf(refused)).toBe('invalid');
    }
    const { message } = await faultOf(repository.search('Patient', { _cursor: search }));
    expect(message).toBe(
      'The "_cursor" is damaged, or is not from a link of this search for this caller; begin again without it',
    );
  });
});
