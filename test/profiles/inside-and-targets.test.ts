import { describe, expect, test } from 'vitest';
import { extendDefinitions } from '../../src/definitions.js';
import { validateResource } from '../../src/index.js';
import { R4 } from '../../src/store.js';
import type { JsonObject } from '../../src/fhir/resource.js';
import { definition } from './us-core.js';

const CORE = 'http://hl7.org/fhir/StructureDefinition';
const profile = (name: string, type: string, ...element: readonly JsonObject[]): JsonObject =>
  definition({ url: `http://x/${name}`, type, differential: { element: [{ path: type }, ...element] } });
const reference = (...targets: readonly string[]): JsonObject => ({
  type: [{ code: 'Reference', targetProfile: targets }],
});

const definitions = await extendDefinitions(R4, {
  profiles: [
    profile('born', 'Patient', { path: 'Patient.birthDate', min: 1 }),
    profile('of-born', 'Observation', { path: 'Observation.subject', ...reference('http://x/born', `${CORE}/Group`) }),
    profile(
      'performed',
      'Observation',
      { id: 'Observation.performer', path: 'Observation.performer', slicing: { discriminator: [{ type: 'type', path: 'resolve()' }], rules: 'closed' } },
      { id: 'Observation.performer:doctor', path: 'Observation.performer', sliceName: 'doctor', min: 1, max: '1', ...reference(`${CORE}/Practitioner`) },
      { id: 'Observation.performer:place', path: 'Observation.performer', sliceName: 'place', max: '1', ...reference(`${CORE}/Organization`) },
    ),
    profile(
      'by-born',
      'Observation',
      { id: 'Observation.performer', path: 'Observation.performer', slicing: { discriminator: [{ type: 'profile', path: 'resolve()' }], rules: 'open' } },
      { id: 'Observation.performer:born', path: 'Observation.performer', sliceName: 'born', min: 1, max: '1', ...reference('http://x/born') },
    ),
    profile(
      'document',
      'Bundle',
      { id: 'Bundle.entry', path: 'Bundle.entry', slicing: { discriminator: [{ type: 'profile', path: 'resource' }], rules: 'closed' } },
      { id: 'Bundle.entry:person', path: 'Bundle.entry', sliceName: 'person', min: 1, max: '1' },
      { id: 'Bundle.entry:person.resource', path: 'Bundle.entry.resource', type: [{ code: 'Patient', profile: ['http://x/born'] }] },
      { id: 'Bundle.entry:finding', path: 'Bundle.entry', sliceName: 'finding' },
      { id: 'Bundle.entry:finding.resource', path: 'Bundle.entry.resource', type: [{ code: 'Observation' }] },
    ),
    profile('circle', 'Patient', { path: 'Patient.link.other', ...reference('http://x/circle') }, { path: 'Patient.birthDate', min: 1 }),
    profile('bounded', 'Observation', { path: 'Observation.issued', minValueInstant: '2020-01-01T00:00:00Z' }, { path: 'Observation.value[x]', minValueQuantity: { value: 1, code: 'kg' }, maxValueQuantity: { value: 9.5, code: 'kg' } }),
    profile('bounded-date', 'Patient', { path: 'Patient.birthDate', minValueDate: '1900-06-01', maxValueDate: '2000' }),
    profile('bounded-number', 'Patient', { path: 'Patient.multipleBirth[x]', minValueInteger: 2, maxValueInteger: 4 }),
    profile('bounded-time', 'Observation', { path: 'Observation.value[x]', minValueTime: '08:00:00', maxValueTime: '17:30:00' }),
  ] as never,
}); // prettier-ignore

const observation = { resourceType: 'Observation', status: 'final', code: { text: 'x' } };

async function check(
  resource: JsonObject,
  profiles: true | readonly string[],
): Promise<{ found: readonly string[]; unchecked: readonly string[] }> {
  const { outcome, unchecked } = await validateResource(resource, { definitions, profiles, strict: false });
  const errors = outcome.issue.filter(({ severity }) => severity === 'error');
  return {
    found: errors.map(({ code, expression = [] }) => `${code} ${expression.join()}`),
    unchecked: unchecked.map(({ profile: url, element }) => `${url.replace('http://x/', '')} ${element}`),
  };
}

const found = async (resource: JsonObject, ...names: readonly string[]): Promise<readonly string[]> =>
  (await check(resource, names.length === 0 ? true : names.map((name) => `http://x/${name}`))).found;

describe('minValue and maxValue', () => {
  test.each<readonly [string, JsonObject, readonly string[]]>([
    ['bounded-number', { multipleBirthInteger: 1 }, ['value Patient.multipleBirth.ofType(integer)']],
    ['bounded-number', { multipleBirthInteger: 5 }, ['value Patient.multipleBirth.ofType(integer)']],
    ['bounded-number', { multipleBirthInteger: 4 }, []],
    ['bounded-date', { birthDate: '1900-05-31' }, ['value Patient.birthDate']],
    ['bounded-date', { birthDate: '2001-01-01' }, ['value Patient.birthDate']],
    // The bound may lie inside of it.
    ['bounded-date', { birthDate: '1900' }, []],
    ['bounded-date', { birthDate: '2000-12-31' }, []],
  ])('%s %j', async (name, change, expected) => {
    expect(await found({ resourceType: 'Patient', ...change }, name)).toEqual(expected);
  });

  test('instants across zones, times, and quantities in the same unit', async () => {
    const of = (change: JsonObject): JsonObject => ({ ...observation, ...change });
    expect(await found(of({ issued: '2020-01-01T00:59:00+01:00' }), 'bounded')).toEqual(['value Observation.issued']);
    expect(await found(of({ issued: '2020-01-01T01:00:00+01:00' }), 'bounded')).toEqual([]);
    expect(await found(of({ valueTime: '17:30:01' }), 'bounded-time')).toEqual([
      'value Observation.value.ofType(time)',
    ]);
    expect(await found(of({ valueTime: '08:00:00' }), 'bounded-time')).toEqual([]);
    const kg = (value: number): JsonObject => of({ valueQuantity: { value, code: 'kg' } });
    expect(await found(kg(9.6), 'bounded')).toEqual(['value Observation.value.ofType(Quantity)']);
    expect(await found(kg(9.5), 'bounded')).toEqual([]);
    const grams = await check(of({ valueQuantity: { value: 1, code: 'g' } }), ['http://x/bounded']);
    expect(grams).toEqual({ found: [], unchecked: ['bounded Observation.value[x]'] });
  });
});

describe('targets of references', () => {
  const patient = (id: string, more: JsonObject = {}): JsonObject => ({ resourceType: 'Patient', id, ...more });

  test('a contained target must conform to the profile that the element requires', async () => {
    const about = (contained: JsonObject): JsonObject => ({ ...observation, subject: { reference: '#p' }, contained: [contained] }); // prettier-ignore
    expect(await found(about(patient('p')), 'of-born')).toEqual(['invariant Observation.subject.reference']);
    expect(await check(about(patient('p', { birthDate: '1970' })), ['http://x/of-born'])).toEqual({ found: [], unchecked: [] }); // prettier-ignore
    expect(await found(about({ resourceType: 'Group', id: 'p' }), 'of-born')).toEqual([]);
    expect(await found(about({ resourceType: 'Device', id: 'p' }), 'of-born')).toEqual(['value Observation.subject.reference']); // prettier-ignore
  });

  test('a target outside the resource is listed as unchecked, only if there is one', async () => {
    const outside = await check({ ...observation, subject: { reference: 'Patient/p' } }, ['http://x/of-born']);
    expect(outside).toEqual({ found: [], unchecked: ['of-born Observation.subject'] });
    expect(await check(observation, ['http://x/of-born'])).toEqual({ found: [], unchecked: [] });
  });

  test('slices by the type behind resolve(), which the reference itself gives', async () => {
    const by = (...performer: readonly JsonObject[]): JsonObject => ({ ...observation, performer });
    const doctor = { reference: 'Practitioner/1' };
    expect(await found(by(doctor, { reference: 'https://x.example/Organization/1' }), 'performed')).toEqual([]);
    expect(await found(by({ reference: 'Organization/1' }), 'performed')).toEqual(['required Observation.performer']);
    expect(await found(by(doctor, { ...doctor, display: 'again' }), 'performed')).toEqual(['structure Observation.performer']); // prettier-ignore
    expect(await found(by(doctor, { reference: 'Patient/1' }), 'performed')).toEqual(['structure Observation.performer[1]']); // prettier-ignore
    // It may be the doctor.
    const unknown = await check(by({ display: 'somebody' }), ['http://x/performed']);
    expect(unknown.found).toEqual([]);
    expect(unknown.unchecked).toEqual(['performed Observation.performer:doctor', 'performed Observation.performer:place']); // prettier-ignore
  });

  test('slices by the profile behind resolve(), for contained targets', async () => {
    const by = (reference: string, ...contained: readonly JsonObject[]): JsonObject => ({ ...observation, performer: [{ reference }], contained }); // prettier-ignore
    expect(await found(by('#p', patient('p', { birthDate: '1970' })), 'by-born')).toEqual([]);
    expect(await found(by('#p', patient('p')), 'by-born')).toEqual(['required Observation.performer']);
    expect(await found(by('Group/1'), 'by-born')).toEqual(['required Observation.performer']);
    const outside = await check(by('Patient/1'), ['http://x/by-born']);
    expect(outside).toEqual({ found: [], unchecked: ['by-born Observation.performer:born'] });
  });

  test('targets that refer to each other terminate', async () => {
    const link = (id: string): JsonObject => ({ link: [{ other: { reference: `https://x.example/Patient/${id}` } }] });
    const entry = (id: string, resource: JsonObject): JsonObject => ({ fullUrl: `https://x.example/Patient/${id}`, resource }); // prettier-ignore
    const bundle = (more: JsonObject): JsonObject => ({
      resourceType: 'Bundle',
      type: 'collection',
      entry: [
        entry('a', patient('a', { birthDate: '1970', ...link('b') })),
        entry('b', patient('b', { ...more, ...link('a') })),
      ],
    });
    expect(await found(bundle({ birthDate: '1980' }), 'circle')).toEqual([]);
    expect(await found(bundle({}), 'circle')).toEqual([
      'invariant Bundle.entry[0].resource.link[0].other.reference',
      'required Bundle.entry[1].resource.birthDate',
    ]);
  });
});

describe('resources inside resources', () => {
  const born = { meta: { profile: ['http://x/born'] } };

  test('entries of a Bundle are checked against the profiles that they claim', async () => {
    const bundle = {
      resourceType: 'Bundle',
      type: 'collection',
      entry: [
        { resource: { resourceType: 'Patient', birthDate: '1970', ...born } },
        { resource: { resourceType: 'Patient', ...born } },
        { resource: { resourceType: 'Bundle', type: 'collection', entry: [{ resource: { resourceType: 'Patient', ...born } }] } }, // prettier-ignore
        { request: { method: 'DELETE', url: 'Patient/1' } },
      ],
    };
    expect(await found(bundle)).toEqual([
      'required Bundle.entry[1].resource.birthDate',
      'required Bundle.entry[2].resource.entry[0].resource.birthDate',
    ]);
  });

  test('a profile of the call applies to the entries of its type, and is an error without any', async () => {
    const entry = [{ resource: observation }, { resource: { resourceType: 'Patient' } }];
    const bundle = { resourceType: 'Bundle', type: 'collection', entry };
    expect(await found(bundle, 'born')).toEqual(['required Bundle.entry[1].resource.birthDate']);
    expect(await found({ ...bundle, entry: entry.slice(0, 1) }, 'born')).toEqual(['invalid Bundle']);
    expect(await found(bundle, 'unknown')).toEqual(['not-found Bundle']);
  });

  test('contained resources are checked against the profiles that they claim', async () => {
    const contained = [{ resourceType: 'Patient', id: 'p', ...born }];
    expect(await found({ ...observation, contained })).toEqual(['required Observation.contained[0].birthDate']);
    expect(await found({ ...observation, contained }, 'of-born')).toEqual([]);
  });

  test('references are resolved in the Bundle by fullUrl, relative references from the base of their entry', async () => {
    const of = (reference: string, fullUrl: string): JsonObject => ({
      resourceType: 'Bundle',
      type: 'collection',
      entry: [
        { fullUrl: 'https://x.example/fhir/Observation/1', resource: { ...observation, subject: { reference } } },
        { fullUrl, resource: { resourceType: 'Patient', id: '1' } },
      ],
    });
    const fault = ['invariant Bundle.entry[0].resource.subject.reference'];
    expect(await found(of('Patient/1', 'https://x.example/fhir/Patient/1'), 'of-born')).toEqual(fault);
    const urn = 'urn:uuid:05f4d7a9-96e5-4bb5-9a1c-6a9d7a6d0d11';
    expect(await found(of(urn, urn), 'of-born')).toEqual(fault);
    expect(await check(of('Patient/1', 'https://other.example/Patient/1'), ['http://x/of-born'])).toEqual({
      found: [],
      unchecked: ['of-born Observation.subject'],
    });
  });

  test('entries are sliced by the profile of their resource', async () => {
    const bundle = (...resources: readonly JsonObject[]): JsonObject => ({
      resourceType: 'Bundle',
      type: 'document',
      entry: resources.map((resource) => ({ resource })),
    });
    const amy = { resourceType: 'Patient', birthDate: '1970' };
    expect(await found(bundle(amy, observation, observation), 'document')).toEqual([]);
    expect(await found(bundle(observation, amy, amy), 'document')).toEqual(['structure Bundle.entry']);
    expect(await found(bundle({ resourceType: 'Patient' }), 'document')).toEqual([
      'structure Bundle.entry[0]',
      'required Bundle.entry',
    ]);
  });
});

describe('invariants with resolve()', () => {
  const named = extendDefinitions(R4, {
    profiles: [
      profile('with-name', 'Observation', {
        path: 'Observation.subject',
        constraint: [{ key: 'n-1', severity: 'error', human: 'Name', expression: 'resolve().name.exists()' }],
      }),
    ] as never,
  });
  const checkNamed = async (resource: JsonObject): Promise<readonly unknown[]> => {
    const { outcome, unchecked } = await validateResource(resource, { definitions: await named, profiles: ['http://x/with-name'], strict: false }); // prettier-ignore
    const errors = outcome.issue.filter(({ severity }) => severity === 'error');
    return [errors.map(({ code }) => code), unchecked.map(({ reason }) => reason)];
  };
  const about = (reference: string, contained: JsonObject): JsonObject => ({ ...observation, subject: { reference }, contained: [contained] }); // prettier-ignore

  test('read contained targets, and are unchecked for others', async () => {
    const patient = { resourceType: 'Patient', id: 'p' };
    expect(await checkNamed(about('#p', { ...patient, name: [{ text: 'A' }] }))).toEqual([[], []]);
    expect(await checkNamed(about('#p', patient))).toEqual([['invariant'], []]);
    expect(await checkNamed({ ...observation, subject: { reference: 'Patient/p' } })).toEqual([
      ...[[], ['the invariant n-1: it depends on a resource that is not read']],
    ]);
  });
});
