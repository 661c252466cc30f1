import { beforeEach, describe, expect, test, vi } from 'vitest';
import {
  type AnyResource,
  type Caller,
  createRepository,
  executeFhirGraphql,
  explainFhirGraphql,
  importBundle,
  MemoryStore,
  signIn,
  systemCaller,
} from '../../src/index.js';
import { checkPolicies } from '../../src/access.js';
import { indexEntries, R4, SERVER_SCOPE } from '../../src/store.js';
import { SqliteStore } from '../../src/sqlite.js';
import { compileFhirPath } from '../../src/fhirpath/compile.js';
import { fhirPathLibrary, fhirPathModel, forgetFhirPath, loadFhirPath } from '../../src/fhirpath/library.js';
import { PACE } from '../../src/platform/pace.js';
import { indexNeedsFhirPath } from '../../src/search/index/prepare-model.js';
import { otherModel } from '../model/other-model.js';
import { countTurns } from '../support/count-turns.js';

type Elements = { readonly [name: string]: unknown };

const PROJECT = 'clinic';
const caller = systemCaller(PROJECT);

/** Expressions that no cache has: a compiled expression would hide that the library is missing. */
let serial = 0;
const fresh = (expression: string): string => `${expression} and ${(serial += 1)} > 0`;

function constrained(expression: string): Elements {
  const writeConstraint = [{ language: 'text/fhirpath', expression }];
  return { resourceType: 'AccessPolicy', name: 'Staff', resource: [{ resourceType: 'Patient', writeConstraint }] };
}

function storeWith(...more: readonly Elements[]): Promise<MemoryStore> {
  return fill(new MemoryStore(), more);
}

/** A store whose model is its own, so that nothing was compiled for it before. */
async function newModelStore(): Promise<MemoryStore> {
  return fill(new MemoryStore({ model: await otherModel() }));
}

async function fill(store: MemoryStore, more: readonly Elements[] = []): Promise<MemoryStore> {
  const put = (project: string, elements: Elements) => ({
    kind: 'put' as const,
    key: { project, type: elements['resourceType'] as string, id: elements['id'] as string },
    resource: elements as unknown as AnyResource,
  });
  await store.commit([
    put(SERVER_SCOPE, { resourceType: 'Project', id: PROJECT, name: 'Clinic' }),
    put(SERVER_SCOPE, { resourceType: 'User', id: 'u', firstName: 'Ann', lastName: 'Lee' }),
    put(PROJECT, { resourceType: 'Patient', id: 'p1', active: true, name: [{ given: ['Ann'], use: 'official' }] }),
    put(PROJECT, { resourceType: 'Patient', id: 'p2', active: true }),
    put(PROJECT, { resourceType: 'Practitioner', id: 'dr' }),
    ...more.flatMap((elements) =>
      elements['resourceType'] === 'ProjectMembership'
        ? [put(PROJECT, elements), put(SERVER_SCOPE, elements)]
        : [put(PROJECT, elements)],
    ),
  ]);
  return store;
}

function member(policy: Elements): readonly Elements[] {
  return [
    { ...policy, id: 'staff' },
    {
      resourceType: 'ProjectMembership',
      id: 'm',
      project: { reference: `Project/${PROJECT}` },
      user: { reference: 'User/u' },
      profile: { reference: 'Practitioner/dr' },
      accessPolicy: { reference: 'AccessPolicy/staff' },
    },
  ];
}

async function data(store: MemoryStore, query: string, context: { dialect?: 'hl7' } = {}, who: Caller = caller) {
  const { data, errors } = await executeFhirGraphql(query, { store, caller: who, ...context });
  expect(errors).toBeUndefined();
  return data as { readonly [key: string]: unknown };
}

beforeEach(forgetFhirPath);

describe('the FHIRPath library is loaded', () => {
  test('for filters of elements', async () => {
    const query = `{ Patient(id: "p1") { name(fhirpath: "${fresh("use = 'official'")}") { given } } }`;
    expect(await data(await storeWith(), query)).toEqual({ Patient: { name: [{ given: ['Ann'] }] } });
  });

  test('for filters in fragments, and with an expression in a variable', async () => {
    const store = await storeWith();
    const query = 'query ($e: String) { PatientList { ...P } } fragment P on Patient { name(fhirpath: $e) { given } }';
    const { data, errors } = await executeFhirGraphql(query, {
      store,
      caller,
      variables: { e: fresh('given.exists()') },
    });
    expect({ data, errors }).toEqual({ data: { PatientList: [{ name: [{ given: ['Ann'] }] }, { name: null }] } });
  });

  test('for filters of searches, with regular expressions too', async () => {
    const query = `{ PatientList(fhirpath: "${fresh("name.given.matches('^A.n$')")}") { id } }`;
    expect(await data(await storeWith(), query)).toEqual({ PatientList: [{ id: 'p1' }] });
  });

  test('for a cursor that contains a filter, and for its explanation', async () => {
    const store = await storeWith();
    const search = `{ PatientConnection(_count: 1, fhirpath: "${fresh('active')}") { next edges { resource { id } } } }`;
    const page = await data(store, search);
    const { next } = page['PatientConnection'] as { next: string };
    const query = `{ PatientConnection(cursor: "${next}") { edges { resource { id } } } }`;
    const [explained, answered] = [await newModelStore(), await newModelStore()];
    forgetFhirPath();
    const explanation = await explainFhirGraphql(query, { store: explained, caller });
    expect(explanation.plan.calls).toMatchObject([{ asked: true }]);
    forgetFhirPath();
    expect(await data(answered, query)).toEqual({ PatientConnection: { edges: [{ resource: { id: 'p2' } }] } });
  });

  test('for names from @slice', async () => {
    const query = `{ Patient(id: "p1") { name @slice(path: "iif(${fresh('true')}, use)") { given } } }`;
    expect(await data(await storeWith(), query, { dialect: 'hl7' })).toEqual({
      Patient: { 'name.official': [{ given: ['Ann'] }] },
    });
  });

  test('for write constraints, at sign-in and in each write after it', async () => {
    const store = await storeWith(...member(constrained(fresh('%after.active = true'))));
    const who = await signIn(store, { membership: 'm' });
    const repository = createRepository({ store, caller: who });
    await repository.create({ resourceType: 'Patient', active: true });
    await expect(repository.create({ resourceType: 'Patient', active: false })).rejects.toMatchObject({
      code: 'forbidden',
    });
  });

  test('for policies that are written, in Bundles too', async () => {
    const store = await storeWith();
    const wrong = constrained(fresh('%after.('));
    const repository = createRepository({ store, caller });
    await expect(repository.create(wrong as never)).rejects.toMatchObject({ code: 'policy-invalid' });
    forgetFhirPath();
    const entry = [{ resource: constrained(fresh('%after.active')), request: { method: 'POST', url: 'AccessPolicy' } }];
    const { created } = await importBundle(
      { resourceType: 'Bundle', type: 'transaction', entry },
      {
        store,
        caller,
      },
    );
    expect(created).toBe(1);
  });

  test('for checks of policies', async () => {
    const store = await storeWith(
      { ...constrained(fresh('%after.active')), id: 'right' },
      { ...constrained(fresh('%after.(')), id: 'wrong' },
    );
    const findings = [];
    for await (const { resource } of checkPolicies({ project: PROJECT }, { store })) findings.push(resource);
    expect(findings).toEqual(['AccessPolicy/wrong']);
  });

  test('when a model is created with an index that needs it', async () => {
    const model = await otherModel();
    const patient = { resourceType: 'Patient', id: 'p', nickname: ['Zed'] } as AnyResource;
    const initial = indexEntries(model, patient).filter(({ parameter }) => parameter === 'initial');
    expect(initial.map(({ value }) => value)).toEqual([{ kind: 'string', text: 'Z', folded: 'z' }]);
  });
});

describe('the FHIRPath library is not loaded', () => {
  const isLoaded = (): boolean => {
    try {
      return fhirPathModel(R4) !== undefined && compileFhirPath(R4, fresh('true'), 'Patient') !== undefined;
    } catch (error) {
      expect(error).toMatchObject({
        code: 'internal',
        message: expect.stringContaining('before it was loaded') as string,
      });
      return false;
    }
  };

  test('by an expression itself, which would be an internal error', async () => {
    expect(isLoaded()).toBe(false);
    await loadFhirPath();
    expect(isLoaded()).toBe(true);
  });

  test('to index any type of R4', () => {
    expect(indexNeedsFhirPath(R4)).toBe(false);
    for (const resourceType of R4.resourceTypes) indexEntries(R4, { resourceType, id: 'x' });
    expect(isLoaded()).toBe(false);
  });

  test('by requests that do not need it', async () => {
    const store = new SqliteStore(':memory:');
    const repository = createRepository({ store, caller });
    await repository.create({ resourceType: 'MolecularSequence', coordinateSystem: 0 });
    await repository.create({ resourceType: 'AccessPolicy', name: 'All', resource: [{ resourceType: 'Patient' }] });
    await executeFhirGraphql('{ PatientList(name: "a", _sort: "birthdate") { id name(use: official) { given } } }', {
      store,
      caller,
    });
    expect(isLoaded()).toBe(false);
    await store.close();
  });
});

test('each module and each first expression has its own turn, and requests continue in others', async () => {
  await loadFhirPath();
  const parsed = vi.spyOn(fhirPathLibrary(), 'parse');
  forgetFhirPath();
  const { turns } = await countTurns(loadFhirPath);
  expect(parsed).toHaveBeenCalledTimes(2);
  expect(turns).toBeGreaterThanOrEqual(5);
  parsed.mockRestore();
});

test('a model is adapted to the library type by type, and only once', async () => {
  await loadFhirPath();
  const model = await otherModel();
  const { turnMs } = PACE;
  PACE.turnMs = 0;
  try {
    const first = await countTurns(() => loadFhirPath(model));
    expect(first.turns).toBeGreaterThanOrEqual(model.typeNames.length);
    const adapted = fhirPathModel(model);
    const again = await countTurns(() => loadFhirPath(model));
    expect(again.turns).toBeLessThanOrEqual(1);
    expect(fhirPathModel(model)).toBe(adapted);
  } finally {
    PACE.turnMs = turnMs;
  }
});
