import fc from 'fast-check';
import { type AnyResource, type ResourceStore, serverCaller } from '../../src/index.js';
import { guardStore } from '../../src/access/guarded-store.js';

/** Resources as tests write them. */
export type Json = { readonly [name: string]: unknown };

/** The projects of every test. Both have resources of the same ids, which refer to each other by the same references. */
export const PROJECTS = ['alpha', 'beta'] as const;
export type ProjectName = (typeof PROJECTS)[number];

/** The ids that resources of the sample can have. Ids that are not drawn are missing. */
export const IDS = {
  Patient: ['p1', 'p2', 'p3'],
  Observation: ['o1', 'o2', 'o3', 'o4'],
  Encounter: ['e1', 'e2'],
  Organization: ['org1', 'org2'],
  Practitioner: ['dr1', 'dr2'],
  RelatedPerson: ['rp1'],
} as const;
export type SampleType = keyof typeof IDS;
export const SAMPLE_TYPES = Object.keys(IDS) as SampleType[];

/** Every possible resource, in this order. */
export const ALL_KEYS = SAMPLE_TYPES.flatMap((type) => IDS[type].map((id) => ({ type, id })));

const anyOf = fc.constantFrom;
const FAMILY = anyOf('Adams', 'Baker', 'Ädams');
const GIVEN = anyOf('Jo', 'Kim');
const STATUS = anyOf('final', 'preliminary', 'amended');
const CODE = anyOf('a', 'b');

function references(type: SampleType): fc.Arbitrary<Json> {
  return anyOf(...IDS[type], 'nowhere').map((id) => ({ reference: `${type}/${id}` }));
}

const some = <Value>(value: fc.Arbitrary<Value>): fc.Arbitrary<Value | undefined> =>
  fc.option(value, { nil: undefined, freq: 3 });

const name = fc
  .record({
    family: FAMILY,
    given: some(fc.array(GIVEN, { minLength: 1, maxLength: 2 })),
    use: anyOf('official', 'usual'),
  })
  .map((one) => [one]);

const patient: fc.Arbitrary<Json> = fc.record({
  resourceType: fc.constant('Patient'),
  name: some(name),
  gender: anyOf('female', 'male'),
  birthDate: some(anyOf('1970-01-01', '1985-05-05', '1999-09-09')),
  telecom: some(anyOf([{ system: 'email', value: 'jo@example.org' }], [{ system: 'phone', value: '555' }])),
  managingOrganization: some(references('Organization')),
  generalPractitioner: some(references('Practitioner').map((one) => [one])),
  contact: some(FAMILY.map((family) => [{ name: { family }, gender: 'other' }])),
  link: some(references('Patient').map((other) => [{ other, type: 'seealso' }])),
});

const inner: fc.Arbitrary<readonly Json[]> = fc
  .record({ family: FAMILY, birthDate: anyOf('1970-01-01', '1985-05-05') })
  .map(({ family, birthDate }) => [
    { resourceType: 'Patient', id: 'inner', birthDate, name: [{ family, given: ['Jo'] }] },
  ]);

const value: fc.Arbitrary<Json> = fc.oneof(
  anyOf(3, 7).map((value) => ({
    valueQuantity: { value, unit: 'kg', system: 'http://unitsofmeasure.org', code: 'kg' },
  })),
  anyOf('low', 'high').map((valueString) => ({ valueString })),
);
const coded = CODE.map((code) => ({ coding: [{ system: 'http://loinc.org', code, display: `display of ${code}` }] }));

const observation: fc.Arbitrary<Json> = fc
  .tuple(
    fc.record({
      resourceType: fc.constant('Observation'),
      status: STATUS,
      code: coded,
      subject: some(references('Patient').map((one) => ({ ...one, display: 'the subject' }))),
      encounter: some(references('Encounter')),
      performer: some(fc.oneof(references('Practitioner'), references('Patient')).map((one) => [one])),
      hasMember: some(references('Observation').map((one) => [one])),
      component: some(fc.tuple(coded, value).map(([code, one]) => [{ code, ...one }])),
      contained: some(inner),
    }),
    some(value),
  )
  .map(([one, held]) => ({ ...one, ...held }));

const encounter: fc.Arbitrary<Json> = fc.record({
  resourceType: fc.constant('Encounter'),
  status: anyOf('planned', 'finished'),
  class: fc.constant({ code: 'AMB' }),
  subject: some(references('Patient')),
  serviceProvider: some(references('Organization')),
  participant: some(references('Practitioner').map((individual) => [{ individual }])),
});

const organization: fc.Arbitrary<Json> = fc.record({
  resourceType: fc.constant('Organization'),
  name: anyOf('North', 'South'),
  partOf: some(references('Organization')),
});

const practitioner: fc.Arbitrary<Json> = fc.record({
  resourceType: fc.constant('Practitioner'),
  name: some(name),
  gender: anyOf('female', 'male'),
});

const relatedPerson: fc.Arbitrary<Json> = fc.record({
  resourceType: fc.constant('RelatedPerson'),
  patient: references('Patient'),
  name: some(name),
});

const CONTENTS: { readonly [Type in SampleType]: fc.Arbitrary<Json> } = {
  Patient: patient,
  Observation: observation,
  Encounter: encounter,
  Organization: organization,
  Practitioner: practitioner,
  RelatedPerson: relatedPerson,
};

/** The profiles of members always exist, because nobody can sign in without a profile. */
const ALWAYS: ReadonlySet<string> = new Set(['Patient/p1', 'Practitioner/dr1', 'RelatedPerson/rp1']);

/** A resource of the type with this id, and another resource to replace it with. */
export function resourceOf(type: SampleType, id: string): fc.Arbitrary<AnyResource> {
  return CONTENTS[type].map((content) => plain({ ...content, id }));
}

/** The content of one project. */
export const projectContent: fc.Arbitrary<readonly AnyResource[]> = fc
  .tuple(
    ...ALL_KEYS.map(({ type, id }) => {
      const one = resourceOf(type, id);
      return ALWAYS.has(`${type}/${id}`) ? one : fc.option(one, { nil: undefined, freq: 6 });
    }),
  )
  .map((all) => all.filter((one) => one !== undefined));

/** Without undefined members, as in JSON. */
export function plain(resource: Json): AnyResource {
  return JSON.parse(JSON.stringify(resource)) as AnyResource;
}

/** One resource per shape, with every element that the sample uses. Search parameters can read only these elements. */
export const PROBES: readonly AnyResource[] = [
  {
    resourceType: 'Patient',
    meta: { tag: [{ system: 's', code: 't' }] },
    name: [{ family: 'Adams', given: ['Jo'], use: 'official', text: 'Jo Adams' }],
    gender: 'female',
    birthDate: '1970-01-01',
    telecom: [
      { system: 'email', value: 'jo@example.org' },
      { system: 'phone', value: '555' },
    ],
    managingOrganization: { reference: 'Organization/org1', display: 'x' },
    generalPractitioner: [{ reference: 'Practitioner/dr1' }],
    contact: [{ name: { family: 'Baker' }, gender: 'other' }],
    link: [{ other: { reference: 'Patient/p2' }, type: 'seealso' }],
  },
  // The values of the component differ from those of the resource, so that a parameter over both distinguishes them.
  ...[
    [{ valueQuantity: { value: 3, unit: 'kg', system: 'u', code: 'kg' } }, { valueQuantity: { value: 4, unit: 'kg' } }],
    [{ valueString: 'low' }, { valueString: 'high' }],
  ].map(([held, inside]) => ({
    resourceType: 'Observation',
    status: 'final',
    code: { coding: [{ system: 'http://loinc.org', code: 'a', display: 'x' }], text: 'y' },
    subject: { reference: 'Patient/p1', display: 'x' },
    encounter: { reference: 'Encounter/e1' },
    performer: [{ reference: 'Practitioner/dr1' }],
    hasMember: [{ reference: 'Observation/o1' }],
    component: [{ code: { coding: [{ system: 'http://loinc.org', code: 'b' }] }, ...inside }],
    ...held,
  })),
  {
    resourceType: 'Encounter',
    status: 'planned',
    class: { code: 'AMB' },
    subject: { reference: 'Patient/p1' },
    serviceProvider: { reference: 'Organization/org1' },
    participant: [{ individual: { reference: 'Practitioner/dr1' } }],
  },
  { resourceType: 'Organization', name: 'North', partOf: { reference: 'Organization/org2' } },
  { resourceType: 'Practitioner', name: [{ family: 'Adams', given: ['Jo'] }], gender: 'female' },
  { resourceType: 'RelatedPerson', patient: { reference: 'Patient/p1' }, name: [{ family: 'Adams', given: ['Jo'] }] },
].map(plain);

/** Fills a project: the Project itself, and its content. */
export async function fill(store: ResourceStore, project: string, content: readonly AnyResource[]): Promise<void> {
  const trusted = guardStore(store, serverCaller(project));
  await trusted.commit(
    [plain({ resourceType: 'Project', id: project, name: project }), ...content].map((resource) => ({
      kind: 'put',
      key: { type: resource.resourceType, id: resource.id! },
      resource,
    })),
  );
}

/** All stored resources of a project of the types of the sample: current version and number of versions. */
export async function snapshot(store: ResourceStore, project: string): Promise<string> {
  const found = await store.read(ALL_KEYS.map((key) => ({ project, ...key })));
  const versions = await Promise.all(
    ALL_KEYS.map((key) => store.history({ project, ...key }, { offset: 0, limit: 100 })),
  );
  return JSON.stringify([found, versions]);
}
