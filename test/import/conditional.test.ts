import { afterEach, describe, expect, test } from 'vitest';
import type { ImportContext, ResourceStore } from '../../src/index.js';
import { PACE } from '../../src/platform/pace.js';
import {
  ask,
  contents,
  faultOf,
  importAll,
  type Json,
  memoryContext,
  post,
  PROJECT,
  put,
  statuses,
  versions,
} from './harness.js';
import { countTurns } from '../support/count-turns.js';

const DEFAULT = PACE.turnMs;
afterEach(() => void (PACE.turnMs = DEFAULT));

const identifier = (value: string): object[] => [{ system: 'http://kit.example/npi', value }];
const QUERY = 'identifier=http://kit.example/npi|1';
const doctor = (id: string, value: string, more: Json = {}): Json => ({
  resourceType: 'Practitioner',
  id,
  identifier: identifier(value),
  ...more,
});

async function withDoctors(): Promise<ReturnType<typeof memoryContext>> {
  const context = memoryContext();
  await importAll(context, put(doctor('one', '1')), put(doctor('two', '2')), put(doctor('twin', '2')));
  return context;
}

describe('conditional create', () => {
  test('creates without a match', async () => {
    const context = memoryContext();
    expect(await importAll(context, post(doctor('x', '1'), { ifNoneExist: QUERY }))).toMatchObject({ created: 1 });
  });

  test('with a match writes nothing, and links lead to the match', async () => {
    const context = await withDoctors();
    const before = await versions(context.store);
    const result = await importAll(
      context,
      post(doctor('x', '1', { active: true }), { ifNoneExist: QUERY, fullUrl: 'urn:uuid:d' }),
      put({
        resourceType: 'Patient',
        id: 'p',
        generalPractitioner: [{ reference: 'urn:uuid:d' }, { reference: 'Practitioner/x' }],
      }),
    );
    expect(result).toMatchObject({ created: 1, unchanged: 1 });
    expect(result.bundle.entry![0]!.response!.location).toMatch(/^Practitioner\/one\//);
    const found = await contents(context.store);
    expect(found['Patient/p']).toMatchObject({
      generalPractitioner: [{ reference: 'Practitioner/one' }, { reference: 'Practitioner/one' }],
    });
    expect(found['Practitioner/x']).toBeUndefined();
    expect((await versions(context.store))['Practitioner/one']).toBe(before['Practitioner/one']);
  });

  test('with several matches fails', async () => {
    const fault = await faultOf(
      importAll(await withDoctors(), post(doctor('x', '2'), { ifNoneExist: 'identifier=http://kit.example/npi|2' })),
    );
    expect(fault.code).toBe('precondition-failed');
    expect(fault.message).toContain('Several Practitioner resources match');
  });

  test('with the same condition twice fails, in any order', async () => {
    const fault = await faultOf(
      importAll(
        memoryContext(),
        post(doctor('x', '1'), { ifNoneExist: QUERY }),
        post(doctor('y', '1'), { ifNoneExist: QUERY }),
      ),
    );
    expect(fault).toMatchObject({ code: 'invalid', details: { entries: [1] } });
  });

  test('finds a resource that another writer created between its search and its commit', async () => {
    const context = memoryContext();
    const raced = racing(context, doctor('faster', '1'));
    const result = await importAll(raced, post(doctor('x', '1'), { ifNoneExist: QUERY }));
    expect(result).toMatchObject({ created: 0, unchanged: 1 });
    expect(Object.keys(await contents(context.store))).toEqual(['Practitioner/faster']);
  });
});

describe('conditional update', () => {
  test('updates the only match', async () => {
    const context = await withDoctors();
    const { resourceType } = doctor('', '');
    const result = await importAll(
      context,
      put({ resourceType, identifier: identifier('1'), active: true }, { url: `Practitioner?${QUERY}` }),
    );
    expect(result).toMatchObject({ updated: 1 });
    expect((await contents(context.store))['Practitioner/one']).toMatchObject({ id: 'one', active: true });
  });

  test('creates without a match, under its own id', async () => {
    const context = memoryContext();
    expect(await importAll(context, put(doctor('mine', '7'), { url: 'Practitioner?identifier=7' }))).toMatchObject({
      created: 1,
    });
    expect(Object.keys(await contents(context.store))).toEqual(['Practitioner/mine']);
  });

  test('refuses an id other than that of the match, and an id in use', async () => {
    const context = await withDoctors();
    const other = await faultOf(importAll(context, put(doctor('x', '1'), { url: `Practitioner?${QUERY}` })));
    expect(other.code).toBe('invalid');
    const taken = await faultOf(importAll(context, put(doctor('one', '9'), { url: 'Practitioner?identifier=9' })));
    expect(taken.code).toBe('precondition-failed');
    expect((await contents(context.store))['Practitioner/one']).toMatchObject({ identifier: identifier('1') });
  });

  test('refuses several matches and a condition without parameters', async () => {
    const context = await withDoctors();
    const several = await faultOf(importAll(context, put(doctor('two', '2'), { url: 'Practitioner?identifier=2' })));
    expect(several.code).toBe('precondition-failed');
    const all = await faultOf(importAll(context, put(doctor('two', '2'), { url: 'Practitioner?' })));
    expect(all.message).toContain('at least one search parameter');
  });
});

describe('conditional delete', () => {
  test('deletes the only match, and accepts no match', async () => {
    const context = await withDoctors();
    const result = await importAll(
      context,
      ask('DELETE', `Practitioner?${QUERY}`),
      ask('DELETE', 'Practitioner?identifier=9'),
    );
    expect(result).toMatchObject({ deleted: 1 });
    expect(statuses(result)).toEqual(['204 No Content', '204 No Content']);
    expect(Object.keys(await contents(context.store))).toEqual(['Practitioner/twin', 'Practitioner/two']);
  });

  test('refuses several matches', async () => {
    expect((await faultOf(importAll(await withDoctors(), ask('DELETE', 'Practitioner?identifier=2')))).code).toBe(
      'precondition-failed',
    );
  });
});

describe('conditional references', () => {
  const patient = (reference: string): Json =>
    put({ resourceType: 'Patient', id: 'p', generalPractitioner: [{ reference }] });

  test('find the only match in the project', async () => {
    const context = await withDoctors();
    await importAll(context, patient(`Practitioner?${QUERY}`));
    expect((await contents(context.store))['Patient/p']).toMatchObject({
      generalPractitioner: [{ reference: 'Practitioner/one' }],
    });
  });

  test('find a resource of the same Bundle, before or after', async () => {
    const context = memoryContext();
    await importAll(context, patient('Practitioner?identifier=http://kit.example/npi|5'), post(doctor('five', '5')));
    expect((await contents(context.store))['Patient/p']).toMatchObject({
      generalPractitioner: [{ reference: 'Practitioner/five' }],
    });
  });

  test('see the project in its state after the Bundle', async () => {
    const context = await withDoctors();
    await importAll(context, patient('Practitioner?identifier=2'), ask('DELETE', 'Practitioner/twin'));
    expect((await contents(context.store))['Patient/p']).toMatchObject({
      generalPractitioner: [{ reference: 'Practitioner/two' }],
    });
    await importAll(context, patient('Practitioner?identifier=1'), put(doctor('one', '8')), put(doctor('uno', '1')));
    expect((await contents(context.store))['Patient/p']).toMatchObject({
      generalPractitioner: [{ reference: 'Practitioner/uno' }],
    });
  });

  test('with no match or several fail, and the message does not contain the value', async () => {
    const context = await withDoctors();
    for (const [value, word] of [
      ['secret', 'no resource'],
      ['2', 'several resources'],
    ] as const) {
      const fault = await faultOf(importAll(context, patient(`Practitioner?identifier=${value}`)));
      expect(fault).toMatchObject({ code: 'precondition-failed', details: { entries: [0] } });
      expect(fault.message).toContain(`"Practitioner?identifier=…" matches ${word}`);
      expect(JSON.stringify(fault.outcome)).not.toContain('secret');
    }
    expect((await contents(context.store))['Patient/p']).toBeUndefined();
  });

  test('a match in the Bundle and a match in the project are several', async () => {
    const fault = await faultOf(
      importAll(await withDoctors(), patient(`Practitioner?${QUERY}`), post(doctor('again', '1'))),
    );
    expect(fault.message).toContain('several resources');
  });

  test('yield to other work between the resources of the Bundle', async () => {
    PACE.turnMs = 0;
    const doctors = Array.from({ length: 100 }, (_, index) => put(doctor(`d${index}`, String(index))));
    const turnsWith = async (query: string): Promise<number> => {
      const imported = (): Promise<unknown> => importAll(memoryContext(), patient(`Practitioner?${query}`), ...doctors);
      return (await countTurns(imported)).turns;
    };
    // An index by code takes a turn for each of them, and so does a comparison with each.
    const plain = await turnsWith('_id=d7');
    expect(plain - (await turnsWith('identifier=7'))).toBeLessThan(5);
    const context = memoryContext();
    const { turns } = await countTurns(() => importAll(context, ...doctors));
    expect(plain - turns).toBeGreaterThan(100);
  });

  test('search for references to the resources of the Bundle once for all of them', async () => {
    const context = memoryContext();
    const doctors = Array.from({ length: 50 }, (_, index) => put(doctor(`d${index}`, String(index))));
    const roles = ['d7', 'd9', 'd9', 'd3'].map((id, index) =>
      put({
        resourceType: 'PractitionerRole',
        id: `r${index}`,
        active: id === 'd7',
        specialty: [{ coding: [{ code: id }] }],
        practitioner: { reference: `Practitioner/${id}` },
      }),
    );
    const has = '_has:PractitionerRole:practitioner';
    await importAll(context, patient(`Practitioner?${has}:active=true`), ...doctors, ...roles);
    expect((await contents(context.store))['Patient/p']).toMatchObject({
      generalPractitioner: [{ reference: 'Practitioner/d7' }],
    });
    const other = memoryContext();
    await importAll(other, patient(`Practitioner?${has}:specialty=d9`), ...doctors, ...roles);
    expect((await contents(other.store))['Patient/p']).toMatchObject({
      generalPractitioner: [{ reference: 'Practitioner/d9' }],
    });
    const several = await faultOf(
      importAll(memoryContext(), patient(`Practitioner?${has}:active=false`), ...doctors, ...roles),
    );
    expect(several.message).toContain('several resources');
  });

  test.each([
    ['identifier=http://kit.example/npi|1', 'one'],
    ['identifier=1,8', 'one'],
    ['identifier:not=1&active=true', 'two'],
    ['active=true', 'two'],
    ['gender=female&active=false', 'three'],
  ])('find %s in the Bundle', async (query, id) => {
    const context = memoryContext();
    await importAll(
      context,
      patient(`Practitioner?${query}`),
      put(doctor('one', '1')),
      put(doctor('two', '2', { active: true })),
      put(doctor('three', '3', { active: false, gender: 'female' })),
    );
    expect((await contents(context.store))['Patient/p']).toMatchObject({
      generalPractitioner: [{ reference: `Practitioner/${id}` }],
    });
  });

  test('are searched once per text', async () => {
    const context = await withDoctors();
    let searches = 0;
    const counting = override(context.store, { search: (...call) => (searches++, context.store.search(...call)) });
    await importAll(
      { ...context, store: counting },
      ...Array.from({ length: 20 }, (_, index) =>
        put({
          resourceType: 'Patient',
          id: `p${index}`,
          generalPractitioner: [{ reference: `Practitioner?${QUERY}` }],
        }),
      ),
    );
    expect(searches).toBe(1);
  });
});

/** Another writer who commits the resource right before the import's first commit. */
function racing(context: ImportContext, resource: Json): ImportContext {
  let raced = false;
  const store = override(context.store, {
    async commit(...call) {
      if (!raced) {
        raced = true;
        const key = { project: PROJECT, type: String(resource['resourceType']), id: String(resource['id']) };
        await context.store.commit([{ kind: 'put', key, resource: resource as never }]);
      }
      return context.store.commit(...call);
    },
  });
  return { ...context, store };
}

function override(store: ResourceStore, methods: Partial<ResourceStore>): ResourceStore {
  return {
    model: store.model,
    read: (...call) => store.read(...call),
    search: (...call) => store.search(...call),
    searchByReference: (...call) => store.searchByReference(...call),
    commit: (...call) => store.commit(...call),
    history: (...call) => store.history(...call),
    close: () => store.close(),
    ...methods,
  };
}
