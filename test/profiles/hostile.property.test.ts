import { expect, test } from 'vitest';
import { extendDefinitions } from '../../src/definitions.js';
import { type AnyResource, validateResource } from '../../src/index.js';
import { R4 } from '../../src/store.js';
import { below, createRandom, oneOf } from '../support/kit.js';
import type { JsonObject } from '../../src/fhir/resource.js';
import { cases, SEED } from '../support/chance.js';
import { amy, usCore } from './us-core.js';

const EVERY: readonly unknown[] = [
  ...[null, 0, -1, 1e308, '', '*', '-1', '9'.repeat(400), 'Patient', 'Patient.name', true, [], {}, [null], [[]]],
  ...['http://x/0', 'http://x/1|9', '__proto__', 'constructor', 'x'.repeat(5_000), 'a.'.repeat(200), [{}], { code: 7 }],
];
const PATHS = ['Patient', 'Patient.name', 'Patient.extension', 'Patient.deceased[x]', 'Patient.contact.name', 'Patient..', 'Other', 'Patient.birthDate.extension', 'Patient.__proto__', 'Patient.generalPractitioner'] as const; // prettier-ignore
const EXPRESSIONS = ['true', 'name', "repeat($this)", 'name.select(given | given).exists()', '('.repeat(100), '%x', 'children().children().children().count() > 0', "'a' & 1", 'name.family.matches(\'(a+)+$\')', 'resolve()', '1 / 0 = 1']; // prettier-ignore

function randomValue(random: () => number): unknown {
  return oneOf(EVERY, random);
}

function randomElement(random: () => number): JsonObject {
  const maybe = (name: string, value: () => unknown): JsonObject => (random() < 0.4 ? { [name]: value() } : {});
  const path = oneOf(PATHS, random);
  return {
    path: random() < 0.05 ? randomValue(random) : path,
    ...maybe('id', () => (random() < 0.5 ? `${path}:${oneOf(['a', 'b', '', 'a/b'], random)}` : randomValue(random))),
    ...maybe('sliceName', () => oneOf(['a', 'b', 7, '__proto__'], random)),
    ...maybe('min', () => oneOf([0, 1, 1e308, -1, '1', Number.MAX_SAFE_INTEGER], random)),
    ...maybe('max', () => oneOf(['0', '1', '*', '9'.repeat(400), -1, 'x'], random)),
    ...maybe('type', () => [{ code: oneOf(['Extension', 'HumanName', 'Reference', 'x', 7], random), profile: [oneOf(['http://x/0', 'http://x/1', 'http://x/2', 7], random)], targetProfile: oneOf([['http://x/1'], 7, []], random) }, randomValue(random)]),
    ...maybe('constraint', () => [{ key: 'k', severity: 'error', human: randomValue(random), expression: oneOf(EXPRESSIONS, random) }, randomValue(random)]),
    ...maybe('binding', () => ({ strength: 'required', valueSet: oneOf(['http://x/vs0', 'http://x/vs1', 7], random) })),
    ...maybe('slicing', () => ({ rules: 'closed', discriminator: [{ type: oneOf(['value', 'type', 'profile', 'exists', 'pattern', 'x'], random), path: oneOf(['$this', 'url', 'a.b', 'resolve()', 'name.resolve()', 'resolve().resolve()', '(', 7], random) }] })),
    ...maybe('fixedString', () => randomValue(random)),
    ...maybe('patternHumanName', () => randomValue(random)),
    ...maybe(oneOf(['snapshot', 'contentReference', 'maxLength', 'minValueDate', 'maxValueInteger', 'minValueQuantity'], random), () => randomValue(random)),
  }; // prettier-ignore
}

function randomProfile(index: number, random: () => number): AnyResource {
  const element = Array.from({ length: 1 + below(12, random) }, () => randomElement(random));
  const elements: unknown = random() < 0.05 ? randomValue(random) : element;
  return {
    resourceType: 'StructureDefinition',
    url: `http://x/${index}`,
    type: oneOf(['Patient', 'Patient', 'Extension', 'HumanName', 'Nothing', 7], random),
    baseDefinition: oneOf(['http://x/0', 'http://x/1', 'http://x/2', randomValue(random)], random),
    context: oneOf([[{ type: 'element', expression: 'Patient' }], [{ type: 'x' }], randomValue(random)], random),
    ...(random() < 0.4 ? { snapshot: { element: elements } } : { differential: { element: elements } }),
  } as unknown as AnyResource;
}

function randomValueSet(index: number, random: () => number): AnyResource {
  const include = (): unknown =>
    random() < 0.2 ? randomValue(random) : { system: oneOf(['http://x/cs', 7], random), valueSet: ['http://x/vs0', 'http://x/vs1'], concept: oneOf([[{ code: 'a' }], randomValue(random)], random) }; // prettier-ignore
  return { resourceType: 'ValueSet', url: `http://x/vs${index}`, compose: { include: [include(), include(), include()], exclude: [include()] } } as AnyResource; // prettier-ignore
}

/** A patient with parts replaced at random. */
function randomPatient(random: () => number): unknown {
  const change = (value: unknown, depth: number): unknown => {
    if (random() < 0.05) return randomValue(random);
    if (depth > 6 || typeof value !== 'object' || value === null) return value;
    if (Array.isArray(value)) return value.map((item) => change(item, depth + 1));
    return Object.fromEntries(Object.entries(value).map(([name, inner]) => [name, change(inner, depth + 1)]));
  };
  const extension = [
    { url: 'http://x/0', extension: [{ url: 'http://x/1', valueString: 'a' }] },
    { url: 'http://x/1' },
  ];
  const patient = { ...amy, extension: [...amy.extension, ...extension], _birthDate: { extension }, contact: [{ name: { family: 'a', extension } }], generalPractitioner: [{ reference: '#p' }], contained: [{ resourceType: 'Practitioner', id: 'p', extension }] }; // prettier-ignore
  const changed = change(patient, 0) as JsonObject;
  return random() < 0.9 && typeof changed === 'object' && changed !== null
    ? { ...changed, resourceType: 'Patient' }
    : changed;
}

test(`random profiles over random patients give a result with locations and no values, from seed ${SEED}`, async () => {
  const random = createRandom(SEED);
  for (let round = 0; round < cases(150, 10); round += 1) {
    const profiles = [0, 1, 2].map((index) => randomProfile(index, random));
    const definitions = await extendDefinitions(R4, {
      profiles: [...profiles, ...usCore.profiles],
      valueSets: [0, 1].map((index) => randomValueSet(index, random)),
      extensionFields: { 'http://x/0': 'own0', 'http://x/1': 'own1', 'http://x/2': false },
    });
    for (let index = 0; index < 6; index += 1) {
      const resource = randomPatient(random);
      const strict = random() < 0.5;
      const urls = ['http://x/0', 'http://x/1', 'http://x/2', usCore.profiles[3]!.url];
      const result = await validateResource(resource, { definitions, profiles: urls, strict });
      expect(result.valid).toBe(!result.outcome.issue.some(({ severity }) => severity === 'error'));
      expect(JSON.stringify(result.outcome.issue)).not.toContain('Shaw');
      expect(result.outcome.issue.length).toBeLessThanOrEqual(1_200);
    }
  }
});

test('work is bounded: profiles that require each other, deep invariants, value sets that include each other', async () => {
  const url = (index: number): string => `http://x/${index}`;
  const everywhere = [0, 1, 2, 3].map((index) => ({
    resourceType: 'StructureDefinition',
    url: url(index),
    type: 'HumanName',
    differential: {
      element: [
        { path: 'HumanName', type: [0, 1, 2, 3].map((other) => ({ code: 'HumanName', profile: [url(other)] })) },
        ...Array.from({ length: 200 }, (_, at) => ({ id: `HumanName.given:s${at}`, path: 'HumanName.given', sliceName: `s${at}`, fixedString: `${at}` })),
        { path: 'HumanName.given', slicing: { discriminator: [{ type: 'value', path: '$this' }], rules: 'open' } },
      ],
    },
  })); // prettier-ignore
  const patient = {
    resourceType: 'StructureDefinition',
    url: 'http://x/patient',
    type: 'Patient',
    differential: {
      element: [
        { path: 'Patient.name', type: [{ code: 'HumanName', profile: [0, 1, 2, 3].map(url) }], constraint: [{ key: 'big', severity: 'error', human: 'big', expression: 'repeat(given | family).select($this | $this).count() > 0' }] },
        { path: 'Patient.gender', binding: { strength: 'required', valueSet: 'http://x/vs0' } },
      ],
    },
  }; // prettier-ignore
  const valueSets = [0, 1].map((index) => ({
    resourceType: 'ValueSet',
    url: `http://x/vs${index}`,
    compose: { include: Array.from({ length: 10 }, () => ({ valueSet: [`http://x/vs${1 - index}`] })) },
  }));
  const definitions = await extendDefinitions(R4, {
    profiles: [...everywhere, patient],
    valueSets: valueSets,
  });
  const name = Array.from({ length: 300 }, (_, index) => ({
    given: Array.from({ length: 50 }, (_, at) => `${index}-${at}`),
  }));
  const { outcome, unchecked } = await validateResource(
    { resourceType: 'Patient', gender: 'male', name },
    { definitions, profiles: ['http://x/patient'], maxIssues: 10_000 },
  );
  expect(outcome.issue.map(({ code }) => code)).toContain('too-costly');
  expect(unchecked.map(({ reason }) => reason)).toEqual([expect.stringContaining('value sets')]);
});
