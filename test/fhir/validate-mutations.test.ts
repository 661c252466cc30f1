import { R4 } from '../../src/store.js';
import fc from 'fast-check';
import fhirpath, { type Model } from 'fhirpath';
import r4 from 'fhirpath/fhir-context/r4/index.js';
import { describe, expect, it } from 'vitest';
import { validateResource } from '../../src/fhir/validate-resource.js';
import { cases } from '../support/chance.js';

/** Valid resources with every kind of element: choices, siblings, extensions, contained resources, inner resources. */
const VALID = [
  {
    resourceType: 'Patient',
    id: 'p1',
    meta: {
      versionId: '1',
      lastUpdated: '2020-01-01T00:00:00Z',
      profile: ['http://a.example/p'],
      tag: [{ code: 't' }],
    },
    text: { status: 'generated', div: '<div xmlns="http://www.w3.org/1999/xhtml">x</div>' },
    contained: [{ resourceType: 'Organization', id: 'o', name: 'x', telecom: [{ system: 'phone', rank: 1 }] }],
    extension: [{ url: 'http://a.example/e', extension: [{ url: 'a', valueString: 'x' }] }],
    identifier: [{ use: 'usual', system: 'http://a.example', value: 'x', period: { start: '2020' } }],
    active: true,
    name: [
      {
        family: 'x',
        given: ['a', 'b'],
        _given: [null, { extension: [{ url: 'http://a.example/g', valueCode: 'x' }] }],
      },
      { text: 'x' },
    ],
    gender: 'other',
    birthDate: '2000-01-01',
    _birthDate: { extension: [{ url: 'http://a.example/t', valueDateTime: '2000-01-01T10:00:00Z' }] },
    deceasedBoolean: false,
    multipleBirthInteger: 2,
    contact: [{ relationship: [{ text: 'x' }], name: { family: 'x' }, organization: { reference: '#o' } }],
    communication: [{ language: { coding: [{ system: 'urn:ietf:bcp:47', code: 'en' }] }, preferred: true }],
    managingOrganization: { reference: 'Organization/1', type: 'Organization', display: 'x' },
  },
  {
    resourceType: 'Bundle',
    type: 'collection',
    timestamp: '2020-01-01T00:00:00.5+01:00',
    entry: [
      {
        fullUrl: 'urn:uuid:c757873d-ec9a-4326-a141-556f43239520',
        resource: {
          resourceType: 'Observation',
          status: 'final',
          code: { coding: [{ system: 'http://loinc.org', code: '1-1' }] },
          subject: { reference: 'Patient/p1' },
          effectivePeriod: { start: '2020-01-01', end: '2020-01-02' },
          valueQuantity: { value: 1.5, unit: 'kg' },
          component: [
            { code: { text: 'x' }, valueString: 'x' },
            { code: { text: 'y' }, valueInteger: 3 },
          ],
          referenceRange: [{ low: { value: 1 }, text: 'x' }],
        },
      },
      { resource: { resourceType: 'Parameters', parameter: [{ name: 'a', valueDecimal: 1 }] } },
    ],
  },
];

/** Elements that may not be left out of {@link VALID}. */
const REQUIRED = [
  'Patient.text.status',
  'Patient.text.div',
  'Patient.extension[0].url',
  'Patient.extension[0].extension[0].url',
  'Patient.birthDate.extension[0].url',
  'Patient.name[0].given[1].extension[0].url',
  'Patient.contained[0].id',
  'Patient.communication[0].language',
  'Bundle.type',
  'Bundle.entry[0].resource.status',
  'Bundle.entry[0].resource.code',
  'Bundle.entry[0].resource.component[0].code',
  'Bundle.entry[0].resource.component[1].code',
  'Bundle.entry[1].resource.parameter[0].name',
];

interface Place {
  readonly keys: readonly (string | number)[];
  /** Location of the object or array that contains it. */
  readonly parent: string;
  /** Location of the value itself. */
  readonly location: string;
  readonly value: unknown;
}

const CHOICE = /^(value|effective|deceased|multipleBirth)([A-Z]\w*)$/;
const PRIMITIVES = ['Code', 'String', 'Integer', 'Boolean', 'DateTime', 'Decimal'];

/** Every value below the root, with its location in FHIRPath. */
function places(value: unknown, keys: readonly (string | number)[], location: string): Place[] {
  if (typeof value !== 'object' || value === null) return [];
  return Object.entries(value).flatMap(([key, item]: [string, unknown]) => {
    const step = Array.isArray(value) ? Number(key) : key;
    const here = Array.isArray(value) ? `${location}[${key}]` : `${location}.${fhirPathName(key)}`;
    return [
      { keys: [...keys, step], parent: location, location: here, value: item },
      ...places(item, [...keys, step], here),
    ];
  });
}

function fhirPathName(key: string): string {
  const [, base, type] = CHOICE.exec(key) ?? [];
  if (base === undefined) return key.replace(/^_/, '');
  return `${base}.ofType(${PRIMITIVES.includes(type!) ? type![0]!.toLowerCase() + type!.slice(1) : type})`;
}

/** A deep copy of the resource with a changed object at this location. */
function changed(
  resource: object,
  { keys }: Place,
  change: (holder: Record<string, unknown>, key: string) => void,
): object {
  const copy = structuredClone(resource);
  const holder = keys
    .slice(0, -1)
    .reduce<Record<string, unknown>>((at, key) => at[key] as Record<string, unknown>, copy as Record<string, unknown>);
  change(holder, String(keys.at(-1)));
  return copy;
}

function strictIssues(resource: unknown): { code: string; location: string }[] {
  return validateResource(R4, resource, { strict: true })
    .filter((issue) => issue.severity !== 'warning')
    .map((issue) => ({ code: issue.code, location: issue.expression?.[0] ?? '' }));
}

const ALL = VALID.flatMap((resource) =>
  places(resource, [], resource.resourceType).map((place) => ({ resource, place })),
);
const anyPlace = fc.constantFrom(...ALL);
const memberPlace = fc.constantFrom(...ALL.filter(({ place }) => typeof place.keys.at(-1) === 'string'));

describe('validation of mutated resources', () => {
  it('starts from valid resources', () => {
    expect(VALID.flatMap(strictIssues)).toEqual([]);
  });

  it('finds a renamed element at its new name', () => {
    fc.assert(
      fc.property(memberPlace, fc.stringMatching(/^z[a-z]{3,12}$/), ({ resource, place }, name) => {
        const mutated = changed(resource, place, (holder, key) => {
          holder[name] = holder[key];
          Reflect.deleteProperty(holder, key);
        });
        const issues = strictIssues(mutated);
        if (place.keys.at(-1) === 'resourceType') expect(issues.length).toBeGreaterThan(0);
        else expect(issues).toContainEqual({ code: 'structure', location: `${place.parent}.${name}` });
      }),
    );
  });

  it('finds a value of a wrong JSON type at its location', () => {
    // No element of FHIR is an array within an array.
    fc.assert(
      fc.property(anyPlace, fc.constantFrom([[]], [[[]]], [[{}]]), ({ resource, place }, wrong) => {
        const issues = strictIssues(changed(resource, place, (holder, key) => void (holder[key] = wrong)));
        if (place.keys.at(-1) === 'resourceType') expect(issues.length).toBeGreaterThan(0);
        else expect(issues.some(({ location }) => location.startsWith(place.location))).toBe(true);
      }),
    );
  });

  it('finds null at its location, except for an array item with a sibling', () => {
    fc.assert(
      fc.property(anyPlace, ({ resource, place }) => {
        fc.pre(place.value !== null && place.keys.at(-1) !== 'resourceType');
        const issues = strictIssues(changed(resource, place, (holder, key) => void (holder[key] = null)));
        const location = place.location;
        const mayBeNull = ['Patient.name[0].given[1]'].includes(location);
        expect(issues.some((issue) => issue.location === location)).toBe(!mayBeNull);
      }),
    );
  });

  it('finds a deleted element exactly if it is required', () => {
    fc.assert(
      fc.property(memberPlace, ({ resource, place }) => {
        fc.pre(place.keys.at(-1) !== 'resourceType');
        const issues = strictIssues(
          changed(resource, place, (holder, key) => void Reflect.deleteProperty(holder, key)),
        );
        const isMissed = issues.some(({ code, location }) => code === 'required' && location === place.location);
        expect(isMissed).toBe(REQUIRED.includes(place.location));
      }),
      { numRuns: cases(400, 200) },
    );
  });

  it('measures a resource in bytes of UTF-8', () => {
    const resource = {
      resourceType: 'Basic',
      id: 'x',
      text: 'é'.repeat(400),
      list: Array.from({ length: 40 }, () => 1),
    };
    const length = Buffer.byteLength(JSON.stringify(resource));
    for (let maxBytes = length - 3; maxBytes <= length + 3; maxBytes += 1) {
      expect(validateResource(R4, resource, { maxBytes }).length).toBe(maxBytes < length ? 1 : 0);
    }
  });

  it('never throws, in either mode', () => {
    const junk = fc.oneof(
      fc.anything({ withBigInt: true, withDate: true, withMap: true, withNullPrototype: true }),
      fc.jsonValue(),
    );
    fc.assert(
      fc.property(anyPlace, junk, fc.boolean(), ({ resource, place }, value, strict) => {
        const mutated = changed(resource, place, (holder, key) => void (holder[key] = value));
        expect(Array.isArray(validateResource(R4, mutated, { strict }))).toBe(true);
        expect(Array.isArray(validateResource(R4, value, { strict }))).toBe(true);
      }),
      { numRuns: cases(1000, 400) },
    );
  });

  it('treats a resourceType that is not a string as missing', () => {
    const nameless = JSON.parse('{ "id": "a", "resourceType": { "toString": 1 } }') as unknown;
    for (const strict of [true, false]) {
      expect(validateResource(R4, nameless, { strict })).toHaveLength(1);
      expect(validateResource(R4, { resourceType: 'Patient', contained: [nameless] }, { strict })[0]).toMatchObject({
        code: 'structure',
        expression: ['Patient.contained[0]'],
      });
    }
  });

  it('gives locations that FHIRPath resolves to the same value', () => {
    const primitives = ALL.filter(({ place }) => typeof place.value === 'number' || typeof place.value === 'boolean');
    expect(primitives.length).toBeGreaterThan(8);
    for (const { resource, place } of primitives) {
      const mutated = changed(resource, place, (holder, key) => void (holder[key] = 'wrong'));
      const [issue] = validateResource(R4, mutated, { strict: true });
      expect(issue!.expression).toEqual([place.location]);
      expect(fhirpath.evaluate(mutated, issue!.expression![0]!, {}, r4 as Model)).toEqual(['wrong']);
    }
  });
});
