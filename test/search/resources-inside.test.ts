import { describe, expect, test } from 'vitest';
import { extendDefinitions } from '../../src/definitions.js';
import type { AnyResource } from '../../src/index.js';
import { createSubject, type Criteria, indexEntries, matches, R4, type SearchSubject } from '../../src/store.js';
import { ALL, and, NONE, not, or } from '../../src/search/criteria/criteria.js';
import { refusal, worldOf } from './harness.js';

const subjectOf = (resource: object): SearchSubject => createSubject(R4, resource as AnyResource, 0);
const token = (parameter: string, code: string): Criteria => ({ kind: 'match', parameter, test: { kind: 'token', code } }); // prettier-ignore
const named = (text: string): Criteria => ({ kind: 'match', parameter: 'name', test: { kind: 'string', comparator: 'starts-with', text } }); // prettier-ignore
const chain = (parameter: string, type: string, of: Criteria, reach?: 'inside' | 'outside'): Criteria => ({
  kind: 'chain',
  parameter,
  type,
  of,
  ...(reach === undefined ? {} : { reach }),
});
const ofPatient = (of: Criteria, reach?: 'inside' | 'outside'): Criteria => chain('subject', 'Patient', of, reach);

const endpoint = { resourceType: 'Endpoint', id: 'e', name: 'Line' };
const group = { resourceType: 'Organization', id: 'group', contained: [endpoint], endpoint: [{ reference: '#e' }] };
const hospital = { ...group, id: 'hospital', name: 'Hospital', partOf: { reference: 'Organization/group' } };
const ann = { resourceType: 'Patient', id: 'ann', gender: 'female', generalPractitioner: [{ reference: 'Organization/hospital' }] }; // prettier-ignore
const her = { ...ann, id: 'her', managingOrganization: { reference: '#org' } };
const him = { resourceType: 'Patient', id: 'him', gender: 'male', birthDate: '2001-01-01' };
const contained = [him, her, { resourceType: 'Organization', id: 'org', name: 'Ward' }];
const observation = { resourceType: 'Observation', id: 'o', contained, subject: { reference: '#her' } };
const [inside, outside, stored] = [
  subjectOf(observation),
  subjectOf({ resourceType: 'Observation', id: 'p', subject: { reference: 'Patient/ann' } }),
  subjectOf(ann),
];
const world = worldOf(stored, ...[hospital, group].map(subjectOf));

const holds = (criteria: Criteria, subject = inside): boolean => matches(criteria, subject, world);

describe('a chain enters a contained resource', () => {
  test('with the id of the reference', () => {
    expect(holds(ofPatient(token('gender', 'female')))).toBe(true);
    expect(holds(ofPatient(token('gender', 'male')))).toBe(false);
    expect(holds(ofPatient({ kind: 'missing', parameter: 'birthdate', missing: true }))).toBe(true);
    expect(holds(chain('subject', 'Group', ALL))).toBe(false);
  });

  test('if it reaches inside, and a stored resource if it reaches outside', () => {
    const reached = (subject: SearchSubject): readonly boolean[] =>
      ([undefined, 'inside', 'outside'] as const).map((reach) => holds(ofPatient(ALL, reach), subject));
    expect(reached(inside)).toEqual([true, true, false]);
    expect(reached(outside)).toEqual([true, false, true]);
  });

  test('without an id, a time of change, and references to it', () => {
    const asked = { kind: 'last-updated', test: { kind: 'date', prefix: 'lt', low: 1e15, high: 1e15 } } as const;
    expect(holds(ofPatient(asked), outside)).toBe(true);
    expect(holds(ofPatient(asked))).toBe(false);
    for (const id of ['', 'her', 'ann', 'o']) expect(holds(ofPatient({ kind: 'id', ids: [id] }))).toBe(false);
    expect(holds(ofPatient({ kind: 'id', ids: ['ann'] }), outside)).toBe(true);
    const has: Criteria = { kind: 'has', type: 'Observation', parameter: 'subject', of: ALL };
    const referred = { ...world, referencing: () => [inside] };
    expect(matches(ofPatient(has), outside, referred)).toBe(true);
    expect(matches(ofPatient(has), inside, referred)).toBe(false);
  });

  test('and from there other resources of the same container', () => {
    expect(holds(ofPatient(chain('organization', 'Organization', named('ward'))))).toBe(true);
    expect(holds(ofPatient(chain('organization', 'Organization', named('hospital'))))).toBe(false);
  });

  test('and from there a stored resource, but no resource inside that', () => {
    const practitioner = (of: Criteria): Criteria => ofPatient(chain('general-practitioner', 'Organization', of));
    const line = chain('endpoint', 'Endpoint', named('line'));
    const parent = (of: Criteria): Criteria => chain('partof', 'Organization', of);
    expect(holds(practitioner(named('hospital')))).toBe(true);
    expect(holds(practitioner(parent(ALL)))).toBe(true);
    for (const of of [line, parent(line)]) {
      expect(holds(practitioner(of), outside)).toBe(true);
      expect(holds(practitioner(of))).toBe(false);
    }
  });
});

describe('criteria', () => {
  test('can be nested a thousand levels deep, of any kind', () => {
    const itself: SearchSubject = {
      ...subjectOf({ resourceType: 'Patient', id: 'a', link: [{ other: { reference: 'Patient/a' }, type: 'seealso' }] }), // prettier-ignore
    };
    const loop = worldOf(itself);
    const kinds: readonly ((of: Criteria) => Criteria)[] = [
      (of) => ({ kind: 'and', of: [of] }),
      (of) => ({ kind: 'or', of: [of] }),
      (of) => ({ kind: 'not', of }),
      (of) => chain('link', 'Patient', of),
      (of) => ({ kind: 'has', type: 'Patient', parameter: 'link', of }),
    ];
    for (const around of kinds) {
      const nested = (levels: number): Criteria => {
        let criteria: Criteria = ALL;
        for (let level = 0; level < levels; level += 1) criteria = around(criteria);
        return criteria;
      };
      expect(matches(nested(1000), itself, loop)).toBe(true);
      expect(refusal(() => matches(nested(1001), itself, loop))).toMatchObject({
        code: 'too-costly',
        message: 'Criteria may be nested 1000 levels deep, these are deeper: simplify them',
      });
    }
  });

  test('of nothing match nothing', () => {
    expect(holds(NONE)).toBe(false);
    expect(holds(not(NONE))).toBe(true);
    expect(holds({ kind: 'composite', parameter: 'code-value-concept', tests: [] })).toBe(false);
    expect(holds(and([]))).toBe(true);
    expect(holds(or([]))).toBe(false);
  });
});

describe('references below the base of the service', () => {
  const BASE = 'https://fhir.example/R4';
  const of = (reference: string): AnyResource =>
    ({
      resourceType: 'Observation',
      id: 'o',
      code: { coding: [{ code: 'x' }] },
      subject: { reference },
    }) as AnyResource;

  const own = (reference: string): SearchSubject => createSubject(R4.withBaseUrl(`${BASE}/`), of(reference), 0);

  test('are local references', () => {
    const found = own(`${BASE}/Patient/ann`);
    const asked: Criteria = { kind: 'match', parameter: 'subject', test: { kind: 'reference', types: ['Patient'], id: 'ann' } }; // prettier-ignore
    expect(matches(asked, found, world)).toBe(true);
    for (const url of [`${BASE}/Patient/ann`, `${BASE}/Patient/ann/_history/2`])
      expect(own(url).entries).toEqual(subjectOf(of('Patient/ann')).entries);
  });

  test.each(['https://other.example/Patient/ann', `${BASE}x/Patient/ann`, `${BASE}/nonsense`])(
    '%s is unchanged',
    (url) => expect(own(url).entries).toEqual(subjectOf(of(url)).entries),
  );

  test('are what canonicals are not: they are compared as written', () => {
    const response = { resourceType: 'QuestionnaireResponse', questionnaire: `${BASE}/Questionnaire/q|2` };
    const entries = indexEntries(R4.withBaseUrl(BASE), response);
    expect(entries).toEqual(indexEntries(R4, response as AnyResource));
  });
});

describe('own search parameters that lead into entries and parameters', async () => {
  const parameter = (code: string, base: string, expression: string): object => ({
    ...{ resourceType: 'SearchParameter', url: `http://x/${code}`, name: code, status: 'active', description: code },
    ...{ code, base: [base], type: 'reference', target: ['Patient'], expression },
  });
  const model = await extendDefinitions(R4, {
    searchParameters: [
      parameter('by-path', 'Bundle', 'Bundle.entry.resource.ofType(Observation).subject'),
      parameter('by-library', 'Bundle', 'Bundle.entry.resource.ofType(Observation).subject.select($this)'),
      parameter('of-part', 'Parameters', 'Parameters.parameter.resource.ofType(Observation).subject.select($this)'),
    ] as never,
  });
  const valuesOf = (resource: object, code: string): readonly object[] =>
    indexEntries(model, resource as AnyResource).flatMap(({ parameter: name, value }) => (name === code ? [value] : []));
  const observation = { resourceType: 'Observation', subject: { reference: 'Patient/1' } };
  const bundle = (fullUrl: string | undefined): object => ({
    resourceType: 'Bundle',
    entry: [{ ...(fullUrl && { fullUrl }), resource: observation }],
  });

  test.each(['by-path', 'by-library'])('%s finds what the references of entries mean', (code) => {
    expect(valuesOf(bundle('http://elsewhere/Observation/1'), code)).toEqual([
      { kind: 'reference', url: 'http://elsewhere/Patient/1' },
    ]);
    expect(valuesOf(bundle(undefined), code)).toEqual([]);
    expect(valuesOf(bundle(undefined), `${code}:present`)).toHaveLength(1);
  });

  test('references in Parameters are local', () => {
    const parameters = { resourceType: 'Parameters', parameter: [{ name: 'a', resource: observation }] };
    expect(valuesOf(parameters, 'of-part')).toEqual([{ kind: 'reference', type: 'Patient', id: '1' }]);
  });
}); // prettier-ignore
