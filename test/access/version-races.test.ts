import { describe, expect, test } from 'vitest';
import { type Caller, createRepository, executeFhirGraphql, MemoryStore, type ResourceStore } from '../../src/index.js';
import { SqliteStore } from '../../src/sqlite.js';
import { maskError } from '../../src/fhir/error.js';
import { enrol, type RuleJson } from './policies.js';
import { fill, plain, type Json } from './world.js';

/** Of a Patient in the North all is granted; of a woman elsewhere all but her date of birth. */
const NORTH: RuleJson = { resourceType: 'Patient', criteria: 'Patient?organization.name=North' };
const WOMEN: RuleJson = { resourceType: 'Patient', criteria: 'Patient?gender=female', hiddenFields: ['birthDate'] };

const north = { managingOrganization: { reference: 'Organization/north' } };
const south = { managingOrganization: { reference: 'Organization/south' } };

describe.each([
  ['memory', (): ResourceStore => new MemoryStore()],
  ['SQLite', (): ResourceStore => new SqliteStore(':memory:')],
])('while another writer changes a resource between two calls, on a %s store', (_, open) => {
  test('a read answers with the version that a rule grants, never with the one before', async () => {
    const { read, interrupt } = await setUp([NORTH], { ...south, birthDate: '1970-01-01' });
    interrupt('after', 'read', { ...north, birthDate: '1999-09-09' });
    expect(await read()).toMatchObject({ birthDate: '1999-09-09', meta: { versionId: '2' } });
  });

  test('a read applies the rules of the version that it answers with', async () => {
    const { read, interrupt } = await setUp([NORTH, WOMEN], { ...south, gender: 'female', birthDate: '1970-01-01' });
    interrupt('after', 'read', { ...north, gender: 'male', birthDate: '1999-09-09' });
    expect(await read()).toMatchObject({ gender: 'male', birthDate: '1999-09-09' });
  });

  test('a read under two rules with chains hides the fields that either version hides', async () => {
    const chained = { ...WOMEN, criteria: 'Patient?organization.name:missing=false' };
    const { read, interrupt } = await setUp([NORTH, chained], { ...north, birthDate: '1970-01-01' });
    interrupt('after', 'search', { ...south, birthDate: '1999-09-09' });
    const seen = await read();
    expect(seen).toMatchObject(south);
    expect(seen).not.toHaveProperty('birthDate');
  });

  test('a query does the same', async () => {
    const { store, caller, interrupt } = await setUp([NORTH], { ...south, birthDate: '1970-01-01' });
    interrupt('after', 'read', { ...north, birthDate: '1999-09-09' });
    const { data } = await executeFhirGraphql('{ Patient(id: "p") { birthDate } }', { store, caller });
    expect(data).toEqual({ Patient: { birthDate: '1999-09-09' } });
  });

  test.each([
    ['another rule grants the new version', { ...north, gender: 'female' }],
    ['no rule grants the new version', { ...south, gender: 'male' }],
  ])('a search hides the hidden fields of the version that it found, even if %s', async (_, next) => {
    const { repository, interrupt } = await setUp([NORTH, WOMEN], {
      ...south,
      gender: 'female',
      birthDate: '1970-01-01',
    });
    interrupt('after', 'search', { ...next, birthDate: '1999-09-09' });
    const { entry } = await repository.search('Patient', 'gender=female');
    expect(entry).toHaveLength(1);
    expect(entry![0]!.resource).not.toHaveProperty('birthDate');
  });

  test('a history needs a resource that is visible at its end', async () => {
    const { repository, interrupt } = await setUp([NORTH], north);
    interrupt('before', 'history', south);
    await expect(repository.history('Patient', 'p')).rejects.toMatchObject({ code: 'not-found' });
  });

  test('a history has no version from before the resource became visible', async () => {
    const { repository, interrupt } = await setUp([NORTH], { ...south, birthDate: '1970-01-01' });
    interrupt('after', 'read', north);
    const { entry } = await repository.history('Patient', 'p');
    expect(entry!.map(({ resource }) => resource!.meta.versionId)).toEqual(['2']);
  });

  test('an update compares with the version that is granted', async () => {
    const rule = { ...NORTH, hiddenFields: ['name.given'] };
    const { repository, interrupt, stored } = await setUp([rule], {
      ...south,
      name: [{ family: 'Old', given: ['Jo'] }],
    });
    const name = [{ family: 'New', given: ['Kim'] }];
    interrupt('after', 'read', { ...north, name });
    await repository.update({ resourceType: 'Patient', id: 'p', active: true, ...north, name: [{ family: 'New' }] });
    expect(await stored()).toMatchObject({ active: true, name });
  });

  async function setUp(rules: readonly RuleJson[], patient: Json) {
    const inner = open();
    const put = (content: Json) =>
      fill(inner, 'alpha', [plain({ resourceType: 'Patient', id: 'p', ...content })]).then(() => undefined);
    await fill(inner, 'alpha', [
      plain({ resourceType: 'Practitioner', id: 'dr1' }),
      plain({ resourceType: 'Organization', id: 'north', name: 'North' }),
      plain({ resourceType: 'Organization', id: 'south', name: 'South' }),
    ]);
    await put(patient);
    const caller: Caller = await enrol(inner, 'alpha', {
      profile: 'Practitioner/dr1',
      policies: [{ resource: rules }],
      access: [{ policy: 0, parameters: [] }],
    });
    let waiting: { when: 'before' | 'after'; method: string; content: Json } | undefined;
    const store = interrupted(inner, async (when, method, given) => {
      if (waiting?.when !== when || waiting.method !== method || !given.includes('"Patient"')) return;
      const { content } = waiting;
      waiting = undefined;
      await put(content);
    });
    const repository = createRepository({ store, caller });
    return {
      store,
      caller,
      repository,
      /** Writes the Patient once, right before or after the next call of a method that is about Patients. */
      interrupt: (when: 'before' | 'after', method: string, content: Json) => {
        waiting = { when, method, content };
      },
      read: () => repository.read('Patient', 'p').catch((error: unknown) => maskError(error).code),
      stored: async () => {
        const [found] = await inner.read([{ project: 'alpha', type: 'Patient', id: 'p' }]);
        return found?.status === 'found' ? found.resource : undefined;
      },
    };
  }
});

/** The store, with a moment for another writer before and after each call. */
function interrupted(
  store: ResourceStore,
  moment: (when: 'before' | 'after', method: string, given: string) => Promise<void>,
): ResourceStore {
  return new Proxy(store, {
    get(target, name) {
      const member: unknown = Reflect.get(target, name, target);
      if (typeof member !== 'function') return member;
      return async (...given: unknown[]): Promise<unknown> => {
        const text = JSON.stringify(given.map((one) => (one instanceof AbortSignal ? null : one)));
        await moment('before', String(name), text);
        const result: unknown = await Reflect.apply(member, target, given);
        await moment('after', String(name), text);
        return result;
      };
    },
  });
}
