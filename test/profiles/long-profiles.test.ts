import { afterEach, beforeAll, describe, expect, test, vi } from 'vitest';
import { extendDefinitions } from '../../src/definitions.js';
import { type FhirModel, R4 } from '../../src/store.js';
import { type AnyResource, createRepository, MemoryStore, systemCaller, validateResource } from '../../src/index.js';
import { PACE } from '../../src/platform/pace.js';
import { countTurns } from '../support/count-turns.js';
import { amy, nickname, usCore, usCorePatient } from './us-core.js';

const { turnMs } = PACE;
afterEach(() => void (PACE.turnMs = turnMs));

let model: FhirModel;
beforeAll(async () => {
  model = await extendDefinitions(R4, { ...usCore, profiles: [...usCore.profiles, nickname] });
});

const ITEMS = 900;

/** Every third identifier lacks what the profile requires. */
const long = {
  ...amy,
  identifier: Array.from({ length: ITEMS }, (_, n) => ({
    ...(n % 3 === 0 ? {} : { system: 'http://x' }),
    value: `${n}`,
  })),
};

function validate(): ReturnType<typeof validateResource> {
  return validateResource(long, { definitions: model, profiles: [usCorePatient.url], maxIssues: ITEMS });
}

test('other work runs between the values that a profile is checked on, and the findings are the same', async () => {
  PACE.turnMs = 1e9;
  const atOnce = await countTurns(validate);
  expect(atOnce.result.outcome.issue).toHaveLength(ITEMS / 3);
  PACE.turnMs = 0;
  const inTurns = await countTurns(validate);
  expect(inTurns.result).toEqual(atOnce.result);
  // The definitions look at the identifiers, too. The profile asks several questions about each, in steps of 64.
  const basic = await countTurns(() => validateResource(long, { definitions: model }));
  expect(inTurns.turns - basic.turns).toBeGreaterThanOrEqual((2 * ITEMS) / 64);
});

test('a write that must conform to a profile lets other work run between its values', async () => {
  const context = { store: new MemoryStore({ model }), caller: systemCaller('clinic') };
  const identifier = long.identifier.map(({ value }) => ({ system: 'http://x', value }));
  const update = (profiles: true | undefined) => () =>
    createRepository({ ...context, ...(profiles === undefined ? {} : { profiles }) }).update({
      ...amy,
      id: 'amy',
      identifier,
    } as never);
  await update(true)();
  PACE.turnMs = 0;
  const plain = await countTurns(update(undefined));
  const checked = await countTurns(update(true));
  expect(checked.turns - plain.turns).toBeGreaterThanOrEqual((2 * ITEMS) / 64);
});

test('the entries of a Bundle without profiles are visited in turns', async () => {
  const entry = Array.from({ length: ITEMS }, (_, index) => ({ resource: { ...amy, id: `a${index}` } }));
  const bundle = { resourceType: 'Bundle', type: 'collection', entry };
  PACE.turnMs = 0;
  const basic = await countTurns(() => validateResource(bundle, { definitions: R4 }));
  const { turns } = await countTurns(() => validateResource(bundle, { definitions: R4, profiles: true }));
  expect(turns - basic.turns).toBeGreaterThanOrEqual(ITEMS);
});

const SYSTEM = 'http://x/colours';

function bound(name: string, changes: object = {}): AnyResource {
  return {
    ...{ resourceType: 'StructureDefinition', url: `http://x/${name}`, type: 'Patient', derivation: 'constraint' },
    baseDefinition: 'http://hl7.org/fhir/StructureDefinition/Patient',
    differential: {
      element: [
        {
          ...{ id: 'Patient.maritalStatus', path: 'Patient.maritalStatus' },
          binding: { strength: 'required', valueSet: 'http://x/some|1' },
        },
      ],
    },
    ...changes,
  } as AnyResource;
}

describe('the first validation', () => {
  const concept = (from: number, to: number): object[] =>
    Array.from({ length: to - from }, (_, n) => ({ code: `c${from + n}` }));
  const valueSet = (name: string, include: object[], exclude: object[] = []): AnyResource =>
    ({ resourceType: 'ValueSet', url: `http://x/${name}`, compose: { include, exclude } }) as AnyResource;
  const codeSystems = [
    { resourceType: 'CodeSystem', url: SYSTEM, content: 'complete', concept: concept(0, 20_000) } as AnyResource,
  ];
  const valueSets = [
    valueSet('some', [{ system: SYSTEM, valueSet: ['http://x/even'] }], [{ system: SYSTEM, concept: concept(0, 10) }]),
    valueSet('even', [{ system: SYSTEM, concept: concept(0, 30_000).filter((_, n) => n % 2 === 0) }]),
  ];
  const codesOf = async (definitions: FhirModel, profile: string, codes: readonly string[]): Promise<boolean[]> =>
    Promise.all(
      codes.map(async (code) => {
        const maritalStatus = { coding: [{ system: SYSTEM, code }] };
        const resource = { resourceType: 'Patient', maritalStatus };
        return (await validateResource(resource, { definitions, profiles: [`http://x/${profile}`] })).valid;
      }),
    );

  test('lists the codes of a value set in turns, once for all profiles', async () => {
    const extended = await extendDefinitions(R4, {
      ...{ codeSystems, valueSets },
      profiles: [bound('first'), bound('second')],
    });
    await validateResource(amy, { definitions: extended, profiles: [] });
    PACE.turnMs = 0;
    const asked = ['c8', 'c10', 'c11', 'c19998', 'c20000'];
    const first = await countTurns(() => codesOf(extended, 'first', asked));
    expect(first.result).toEqual([false, true, false, true, false]);
    // 15,000 codes of the one, 20,000 of the other, 10,000 of both, in steps of 1,000.
    expect(first.turns).toBeGreaterThanOrEqual(44);
    const second = await countTurns(() => codesOf(extended, 'second', asked));
    expect(second.result).toEqual(first.result);
    expect(first.turns - second.turns).toBeGreaterThanOrEqual(44);
  });

  test('compiles each element of a profile in a step', async () => {
    const element = Array.from({ length: 300 }, (_, n) => {
      const slice = { id: `Patient.identifier:s${n}`, path: 'Patient.identifier', sliceName: `s${n}` };
      return { ...slice, patternIdentifier: { system: `http://x/${n}` } };
    });
    const extended = await extendDefinitions(R4, { profiles: [bound('sliced', { differential: { element } })] });
    const check = () => validateResource({ resourceType: 'Patient' }, { definitions: extended, profiles: ['http://x/sliced'] }); // prettier-ignore
    await validateResource(amy, { definitions: extended, profiles: [] });
    PACE.turnMs = 0;
    const first = await countTurns(check);
    const second = await countTurns(check);
    expect(second.result).toEqual(first.result);
    expect(first.turns - second.turns).toBeGreaterThanOrEqual(300);
  });

  test('of profiles that derive from each other ends, also where several begin at once', async () => {
    const derived = (name: string, base: string): AnyResource =>
      bound(name, {
        baseDefinition: `http://x/${base}`,
        differential: { element: [{ id: `Patient.${name}`, path: `Patient.${name}`, min: 1 }] },
      });
    const profiles = [derived('name', 'gender'), derived('gender', 'birthDate'), derived('birthDate', 'name')];
    const found = async (order: readonly string[]): Promise<readonly unknown[]> => {
      const definitions = await extendDefinitions(R4, { profiles });
      const all = await Promise.all(
        order.map((name) =>
          validateResource({ resourceType: 'Patient' }, { definitions, profiles: [`http://x/${name}`] }),
        ),
      );
      return all.map(({ outcome }) => outcome.issue.filter(({ code }) => code === 'required').length);
    };
    expect(await found(['name'])).toEqual([3]);
    PACE.turnMs = 0;
    for (const order of [
      ['name', 'gender', 'birthDate'],
      ['birthDate', 'gender', 'name'],
      ['gender', 'name', 'gender'],
    ])
      // prettier-ignore
      for (const count of await found(order)) expect(count).toBeGreaterThanOrEqual(1);
  });

  test('parses the value sets and code systems that it needs, and no others', async () => {
    const other = valueSet('other', [{ system: 'http://x/none' }]);
    const extended = await extendDefinitions(R4, {
      ...{ codeSystems, valueSets: [...valueSets, other] },
      profiles: [bound('first')],
    });
    const parse = vi.spyOn(JSON, 'parse');
    expect(await codesOf(extended, 'first', ['c10'])).toEqual([true]);
    const texts = parse.mock.calls.map(([text]) => String(text)).filter((text) => text.includes('"url":"http://x/'));
    expect(texts.map((text) => /"url":"http:\/\/x\/(\w+)"/.exec(text)![1])).toEqual(['some', 'even', 'colours']);
    parse.mockRestore();
    expect(extended.terminology).toEqual([...codeSystems, ...valueSets, other]);
  });
});
