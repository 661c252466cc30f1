import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { withoutFields } from '../../src/access/fields/hidden-fields.js';
import { compilePolicies } from '../../src/access/policy/compile-policies.js';
import type { PolicyValue } from '../../src/access/policy/policy-criteria.js';
import { assertPolicyWrite } from '../../src/access/policy/validate-policy.js';
import type { AccessRules } from '../../src/access/rule.js';
import { type AnyResource, FhirError } from '../../src/index.js';
import { createSubject, matches, R4 } from '../../src/store.js';
import { compileFhirPath } from '../../src/fhirpath/compile.js';
import { loadFhirPath } from '../../src/fhirpath/library.js';
import { EMPTY_WORLD } from '../../src/search/evaluate/search-subject.js';
import { cases, SEED } from '../support/chance.js';

await loadFhirPath();

/** Restricts in every way that a policy can. */
const POLICY = {
  resourceType: 'AccessPolicy',
  id: 'p',
  name: 'Ward',
  compartment: { reference: '%patient' },
  resource: [
    {
      resourceType: 'Patient',
      criteria: 'Patient?gender=female&organization:not=%ward',
      hiddenFields: ['birthDate', 'name.given'],
      readonlyFields: ['identifier'],
      interaction: ['read', 'search', 'update'],
      writeConstraint: [{ language: 'text/fhirpath', expression: '%before.active = %after.active' }],
    },
    { resourceType: 'Observation', criteria: 'Observation?_filter=status eq final and code ne %code', readonly: true },
    {
      resourceType: '*',
      criteria: '*?status=finished',
      compartment: { reference: 'Patient/b' },
      interaction: ['read'],
    },
  ],
};

const reference = (type: string, id: string): PolicyValue => ({ kind: 'reference', type, id });
const PARAMETERS = new Map<string, readonly PolicyValue[]>([
  ['patient', [reference('Patient', 'a'), reference('Patient', 'c')]],
  ['profile', [reference('Practitioner', 'd')]],
  ['ward', [reference('Organization', 'north')]],
  ['code', [{ kind: 'string', text: 'secret' }]],
]);

const RESOURCES = ['a', 'b', 'c'].flatMap((id, index): AnyResource[] => {
  const subject = { reference: `Patient/${id}` };
  const texts = [{ given: ['G'], family: 'F' }];
  const managingOrganization = { reference: `Organization/${index === 0 ? 'south' : 'north'}` };
  const code = { coding: [{ code: index === 0 ? 'open' : 'secret' }] };
  return ['female', 'male'].flatMap((gender, second): AnyResource[] => [
    { resourceType: 'Patient', id: second === 0 ? id : `${id}2`, gender, active: true, birthDate: '1990', name: texts, identifier: [{ value: 'x' }], managingOrganization } as AnyResource, // prettier-ignore
    { resourceType: 'Observation', id: `${id}${second}`, status: second === 0 ? 'final' : 'amended', code, subject } as AnyResource, // prettier-ignore
    { resourceType: 'Encounter', id: `${id}${second}`, status: second === 0 ? 'finished' : 'planned', subject } as AnyResource, // prettier-ignore
  ]);
});
/** Resources that a writer could create. */
const CHANGES = [{ active: false }, { active: true, identifier: [] }];

/**
 * Everything that a policy grants, as names that can be compared: interactions, elements seen, elements and contents
 * written. Undefined where the policy is refused.
 */
function grantsOf(policy: unknown): ReadonlySet<string> | undefined {
  let rules: AccessRules;
  try {
    assertPolicyWrite(R4, policy as AnyResource);
    rules = compilePolicies(R4, [{ reference: 'AccessPolicy/p', policy: policy as never, parameters: PARAMETERS }]);
    for (const type of ['Patient', 'Observation', 'Encounter']) rules.rulesFor(type);
  } catch (error) {
    if (error instanceof FhirError && error.code === 'policy-invalid') return undefined;
    throw error;
  }
  const granted = new Set<string>();
  for (const resource of RESOURCES) {
    const name = `${resource.resourceType}/${resource.id!}`;
    for (const rule of rules.rulesFor(resource.resourceType)) {
      if (!matches(rule.criteria, createSubject(R4, resource, 0), EMPTY_WORLD)) continue;
      const seen = JSON.stringify(withoutFields(resource, rule.hidden));
      for (const leaf of seen.match(/"\w+":/g)!)
        for (const one of rule.interactions) granted.add(`${name} ${one} ${leaf}`);
      if (!rule.interactions.has('update')) continue;
      for (const change of CHANGES) {
        if (Object.keys(change).some((field) => rule.readonlyFields.includes(field))) continue;
        const after = { ...resource, ...change };
        const holds = rule.writeConstraints.every((expression) => {
          const result = compileFhirPath(R4, expression)(after, { before: resource, after });
          return result.length === 1 && result[0] === true;
        });
        if (holds) granted.add(`${name} write ${JSON.stringify(change)}`);
      }
    }
  }
  return granted;
}

type Path = readonly (string | number)[];

/** Every position of the policy that has a value, below the id. */
function places(value: unknown, path: Path = []): Path[] {
  if (typeof value !== 'object' || value === null) return [path];
  const inner = Object.entries(value).flatMap(([key, item]) =>
    places(item, [...path, Array.isArray(value) ? Number(key) : key]),
  );
  return path.length === 0 ? inner : [path, ...inner];
}

const PLACES = places(POLICY).filter(([first]) => first !== 'resourceType' && first !== 'id' && first !== 'name');
const KEYS = PLACES.filter((path) => typeof path.at(-1) === 'string');
const TEXTS = PLACES.filter((path) => typeof valueAt(path) === 'string');

function valueAt(path: Path): unknown {
  return path.reduce<unknown>((value, step) => (value as Record<string | number, unknown>)[step], POLICY);
}

/** A copy of the policy in which the place is changed. */
function changed(
  path: Path,
  change: (parent: Record<string | number, unknown>, key: string | number) => void,
): unknown {
  const copy = structuredClone(POLICY);
  const parent = path
    .slice(0, -1)
    .reduce<unknown>((value, step) => (value as Record<string | number, unknown>)[step], copy);
  change(parent as Record<string | number, unknown>, path.at(-1)!);
  return copy;
}

const word = fc.stringMatching(/^[A-Za-z_]{1,12}$/);

/** Damages one letter, so that the result is not another valid name by chance. */
const spoiled = (name: string): fc.Arbitrary<string> =>
  fc.oneof(
    fc.nat(name.length - 1).map((at) => name.slice(0, at) + name.slice(at + 1)),
    fc.tuple(fc.nat(name.length), fc.constantFrom('s', 'x', '_', ' ', 'S')).map(([at, letter]) => name.slice(0, at) + letter + name.slice(at)), // prettier-ignore
    fc.constant(name.toUpperCase()),
    fc.constant(`_${name}`),
    word,
  );

const renamed = fc.constantFrom(...KEYS).chain((path) =>
  spoiled(String(path.at(-1))).map((name) =>
    changed(path, (parent, key) => {
      const { [key]: value } = parent;
      Reflect.deleteProperty(parent, key);
      parent[name] ??= value;
    }),
  ),
);

const retyped = fc
  .tuple(fc.constantFrom(...PLACES), fc.constantFrom('null', 'list', 'text', 'number', 'object', 'wrapped', 'blank'))
  .map(([path, kind]) =>
    changed(path, (parent, key) => {
      const value = parent[key];
      const others = {
        null: null,
        list: [value, value],
        text: JSON.stringify(value),
        number: 1,
        object: {},
        wrapped: { value },
        blank: '',
      };
      parent[key] = others[kind];
    }),
  );

/** Damages a name in a string. Values with another spelling are another policy, not a damaged one. */
const damaged = fc.constantFrom(...TEXTS).chain((path) => {
  const text = String(valueAt(path));
  const names = [...text.matchAll(/[A-Za-z_]{2,}(?![A-Za-z_]*(?:[&\s]|$))|%[a-z]+|^[A-Za-z.]+$/g)];
  if (names.length === 0) return fc.constant(structuredClone(POLICY));
  return fc.constantFrom(...names).chain((name) =>
    // A parameter stays a parameter: a value in its place is another policy.
    (name[0].startsWith('%')
      ? fc.oneof(spoiled(name[0].slice(1)), fc.constantFrom('', 'nobody', '(', '%')).map((by) => `%${by}`)
      : fc.oneof(spoiled(name[0]), fc.constantFrom('', '%', '(', '%nobody'))
    ).map((by) =>
      changed(path, (parent, key) => {
        parent[key] = text.slice(0, name.index) + by + text.slice(name.index + name[0].length);
      }),
    ),
  );
});

describe('a policy with one mistake', () => {
  const original = grantsOf(POLICY)!;

  test('represents a policy that grants and restricts', () => {
    expect(original.has('Patient/a read "gender":')).toBe(true);
    expect(original.has('Patient/a read "birthDate":')).toBe(false);
    expect(original.has('Patient/c read "gender":')).toBe(false);
    expect(original.has('Observation/a0 history "status":')).toBe(true);
    expect(original.has('Encounter/b0 read "status":')).toBe(true);
    expect([...original].filter((one) => one.includes(' write '))).toEqual([]);
  });

  test.each([
    ['a key renamed', renamed],
    ['a value of another type', retyped],
    ['a text damaged', damaged],
  ])('never grants more: %s', (_, mutation) => {
    let refused = 0;
    let runs = 0;
    fc.assert(
      fc.property(mutation, (policy) => {
        const granted = grantsOf(policy);
        runs += 1;
        if (granted === undefined) refused += 1;
        expect([...(granted ?? [])].filter((one) => !original.has(one))).toEqual([]);
      }),
      { seed: SEED, numRuns: cases(1000, 250) },
    );
    expect(refused).toBeGreaterThan(runs / 3);
  });
});
