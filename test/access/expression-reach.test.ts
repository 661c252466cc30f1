import { expect, test } from 'vitest';
import { meetsHidden, withoutFields } from '../../src/access/fields/hidden-fields.js';
import { hiddenInResources, maskInside } from '../../src/access/fields/mask-resource.js';
import { unrestrictedRule, type AccessRules } from '../../src/access/rule.js';
import { type AnyResource, FhirError } from '../../src/index.js';
import { R4 } from '../../src/store.js';
import { createRandom, oneOf } from '../support/kit.js';
import { isJsonObject, type JsonObject } from '../../src/fhir/resource.js';
import { compileTypedFhirPath } from '../../src/fhirpath/compile.js';
import { loadFhirPath } from '../../src/fhirpath/library.js';
import { noteReads } from '../../src/fhirpath/reach/expression-reach.js';
import { Reach, rootPlace } from '../../src/fhirpath/reach/places.js';
import { cases, SEED } from '../support/chance.js';
import { RandomExpressions } from './random-expressions.js';

const ANN: JsonObject = {
  resourceType: 'Patient',
  id: 'ann',
  birthDate: '1980-02-03',
  gender: 'female',
  deceasedBoolean: false,
  name: [
    { family: 'Meyer' },
    { given: ['Ann', 'Bea'] },
    { family: 'Huber', given: ['Ann'], period: { start: '2001' } },
  ],
  telecom: [{ system: 'phone', value: '1' }, { system: 'phone' }, { value: '2' }],
  contact: [{ name: { family: 'Meyer' } }, { gender: 'male' }],
  extension: [
    { url: 'https://clinic.example/e', valueString: 'x' },
    { url: 'https://clinic.example/f', valueCode: 'y' },
  ],
  managingOrganization: { reference: '#o', display: 'Clinic' },
  contained: [
    { resourceType: 'Organization', id: 'o', name: 'Clinic', contact: [{ name: { family: 'Boss' } }] },
    { resourceType: 'Person', id: 'p', birthDate: '1980-02-03', name: [{ family: 'Meyer' }] },
  ],
};

const WEIGHT: JsonObject = {
  resourceType: 'Observation',
  id: 'weight',
  status: 'final',
  code: { coding: [{ code: 'w' }, { display: 'Weight' }], text: 'Weight' },
  subject: { reference: 'Patient/ann' },
  valueQuantity: { value: 70, unit: 'kg' },
  component: [{ code: { text: 'a' }, valueString: 'x' }, { code: { text: 'b' } }, { valueQuantity: { value: 1 } }],
};

const QUESTIONS: JsonObject = {
  resourceType: 'QuestionnaireResponse',
  status: 'completed',
  item: [
    { linkId: '1', item: [{ linkId: '1.1', answer: [{ valueString: 'yes' }] }, { text: 'only text' }] },
    { answer: [{ valueCoding: { code: 'no' } }] },
  ],
};

const bundle = (...resources: readonly JsonObject[]): JsonObject => ({
  resourceType: 'Bundle',
  type: 'collection',
  entry: [{ search: { mode: 'match' } }, ...resources.map((resource) => ({ fullUrl: 'urn:x', resource }))],
});

const RESOURCES: readonly JsonObject[] = [
  ...[ANN, WEIGHT, QUESTIONS, bundle(ANN, WEIGHT), bundle(bundle(ANN), WEIGHT)],
  {
    resourceType: 'Parameters',
    parameter: [
      { name: 'a', resource: ANN },
      {
        name: 'b',
        part: [
          { name: 'c', resource: WEIGHT },
          { name: 'd', valueString: 'x' },
        ],
      },
    ],
  },
];

/** The path to a random element, and its parts. */
function randomPath(from: JsonObject, random: () => number): readonly string[] {
  const path: string[] = [];
  let items: readonly JsonObject[] = [from];
  for (;;) {
    const names = [...new Set(items.flatMap(Object.keys))].filter(
      (name) => path.length > 0 || (name !== 'resourceType' && name !== 'id'),
    );
    const name = oneOf(names, random);
    if (name === 'resourceType') continue;
    path.push(name);
    items = items.flatMap((item) => item[name] ?? []).filter(isJsonObject);
    if (items.length === 0 || random() < 0.3) return path;
  }
}

function resourcesIn(value: unknown): readonly JsonObject[] {
  if (Array.isArray(value)) return value.flatMap(resourcesIn);
  if (!isJsonObject(value)) return [];
  const inner = Object.values(value).flatMap(resourcesIn);
  return typeof value['resourceType'] === 'string' ? [value, ...inner] : inner;
}

/** The value as text; undefined if the expression is refused for any data. */
function valueOf(expression: string, resource: JsonObject): string | undefined {
  try {
    return JSON.stringify(
      compileTypedFhirPath(R4, expression, String(resource['resourceType']))(resource, { resource }),
    );
  } catch (error) {
    if (!(error instanceof FhirError)) throw error;
    return error.message.includes('does not fit the data') ? 'misfit' : undefined;
  }
}

test(`the value of an expression depends on no element that it is not known to read (seed ${SEED})`, async () => {
  await loadFhirPath();
  const random = createRandom(SEED);
  const tally = { evaluated: 0, differs: 0, unread: 0 };
  for (let round = 0; round < cases(20_000, 400); round++) {
    const resource = oneOf(RESOURCES, random);
    const type = String(resource['resourceType']);
    const expression = new RandomExpressions(resource, random).next();
    const before = valueOf(expression, resource);
    if (before === undefined) continue;
    tally.evaluated += 1;
    const reach = new Reach(R4);
    noteReads(R4, expression, [rootPlace(type)], type, reach);
    for (let hiding = 0; hiding < 4; hiding++) {
      const held = oneOf(resourcesIn(resource), random);
      const field = randomPath(held, random).join('.');
      const rules: AccessRules = {
        model: R4,
        rulesFor: (one) => (one === held['resourceType'] ? [unrestrictedRule('hiding', [field])] : []),
      };
      const isOwn = held === resource;
      const own = isOwn
        ? withoutFields(resource as unknown as AnyResource, [field])
        : (resource as unknown as AnyResource);
      const masked = maskInside(own, rules) as unknown as JsonObject;
      const isKnown = meetsHidden(reach.elements, isOwn ? [field] : [], hiddenInResources(R4, rules));
      if (!isKnown) tally.unread += 1;
      if (valueOf(expression, masked) === before) continue;
      tally.differs += 1;
      expect(isKnown, `${type}: ${expression} without ${String(held['resourceType'])}.${field}`).toBe(true);
    }
  }
  // The account is no mere "everything", and the elements matter.
  expect(tally.differs).toBeGreaterThan(tally.evaluated / 10);
  expect(tally.unread).toBeGreaterThan(tally.evaluated);
});
