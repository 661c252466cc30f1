import fc from 'fast-check';
import { type MemberCaller, type ResourceStore, serverCaller, signIn } from '../../src/index.js';
import { guardStore } from '../../src/access/guarded-store.js';
import { plain, type Json, type SampleType } from './world.js';

/** One entry of `AccessPolicy.resource`. */
export interface RuleJson {
  readonly resourceType: string;
  readonly criteria?: string | undefined;
  readonly readonly?: boolean | undefined;
  readonly interaction?: readonly string[] | undefined;
  readonly hiddenFields?: readonly string[] | undefined;
  readonly readonlyFields?: readonly string[] | undefined;
  readonly writeConstraint?: readonly { readonly language: string; readonly expression: string }[] | undefined;
  readonly compartment?: { readonly reference: string } | undefined;
}
export interface PolicyJson {
  readonly compartment?: { readonly reference: string } | undefined;
  readonly resource: readonly RuleJson[];
}

/** The value of a parameter. Several values under one name match any of them. */
export interface Parameter {
  readonly name: string;
  readonly valueString?: string;
  readonly valueReference?: { readonly reference: string };
}

/** A member: its profile, and its policies with their parameters, `policy` by its index. */
export interface MemberSetup {
  readonly profile: 'Patient/p1' | 'Practitioner/dr1' | 'RelatedPerson/rp1' | 'ClientApplication/app1';
  readonly policies: readonly PolicyJson[];
  readonly access: readonly { readonly policy: number; readonly parameters: readonly Parameter[] }[];
}

const anyOf = fc.constantFrom;
/** Omits the value in one of `freq` cases. */
const some = <Value>(value: fc.Arbitrary<Value>, freq = 2): fc.Arbitrary<Value | undefined> =>
  fc.option(value, { nil: undefined, freq });
/** Includes the value in one of six cases. */
const rarely = <Value>(value: fc.Arbitrary<Value>): fc.Arbitrary<Value | undefined> =>
  fc.oneof({ arbitrary: fc.constant(undefined), weight: 5 }, { arbitrary: value, weight: 1 });

/** `%org`, `%who` and `%state` can have any number of values, `%one` has exactly one, `%none` has no value. */
const CRITERIA: { readonly [Type in SampleType | '*']: readonly string[] } = {
  Patient: [
    'Patient?gender=female',
    'Patient?gender:not=male',
    'Patient?organization=%org',
    'Patient?organization=Organization/%org.id',
    'Patient?_id=%who.id',
    'Patient?_id=%patient.id',
    'Patient?general-practitioner=%profile',
    'Patient?name=%state',
    'Patient?family=Ad&birthdate=ge1980-01-01',
    'Patient?_has:Observation:subject:status=final',
    'Patient?organization:Organization.name=North',
    'Patient?organization.partof=%org',
    'Patient?_compartment=%patient',
    'Patient?email:missing=true',
    'Patient?_filter=gender eq female or birthdate ge 1990-01-01',
    'Patient?_filter=organization eq %one',
    'Patient?_filter=not (organization.name eq "North")',
    'Patient?organization=%none',
  ],
  Observation: [
    'Observation?status=final',
    'Observation?status:not=%state',
    'Observation?status=%state,final',
    'Observation?subject=%who',
    'Observation?patient=%patient',
    'Observation?subject:Patient.gender=female',
    'Observation?subject:Patient.organization=%org',
    'Observation?subject:Patient._has:Encounter:subject:status=finished',
    'Observation?code=http://loinc.org|a',
    'Observation?encounter.status=finished',
    'Observation?encounter:Encounter.service-provider=%org',
    'Observation?value-quantity=gt5',
    'Observation?performer=%profile',
    'Observation?_has:Observation:has-member:status=final',
    'Observation?_filter=status eq final and subject:Patient.gender eq male',
    'Observation?_filter=subject eq %one or value-string eq "low"',
    'Observation?_compartment=%who',
    'Observation?code:not=a',
    'Observation?encounter=%none',
  ],
  Encounter: [
    'Encounter?status=finished',
    'Encounter?subject=%who',
    'Encounter?service-provider=%org',
    'Encounter?subject:Patient.gender:not=female',
    'Encounter?practitioner=%profile',
    'Encounter?_has:Observation:encounter:status:not=final',
  ],
  Organization: ['Organization?_id=%org.id', 'Organization?name=North', 'Organization?partof.name=South'],
  Practitioner: ['Practitioner?gender=male', 'Practitioner?_id=%profile.id'],
  RelatedPerson: ['RelatedPerson?patient=%patient', 'RelatedPerson?patient.gender=female'],
  '*': ['*?_compartment=%patient', '*?subject=%who', '*?status=final', '*?_id=p1,o1,e1', '*?gender=female', '*'],
};

/** Top-level and nested elements, choices and references, by the names that policies use for them. */
export const HIDEABLE: { readonly [Type in SampleType | '*']: readonly string[] } = {
  Patient: [
    'birthDate',
    'name',
    'name.given',
    'name.family',
    'gender',
    'telecom.value',
    'contact.name',
    'managingOrganization',
    'managingOrganization.display',
    'generalPractitioner.reference',
  ],
  Observation: [
    'value',
    'valueQuantity',
    'valueQuantity.value',
    'component',
    'component.value',
    'component.valueQuantity',
    'component.code',
    'subject',
    'subject.reference',
    'status',
    'code.coding.display',
    'contained.birthDate',
  ],
  Encounter: ['status', 'subject', 'participant.individual', 'serviceProvider'],
  Organization: ['name', 'partOf'],
  Practitioner: ['name', 'gender'],
  RelatedPerson: ['name', 'patient'],
  '*': ['name', 'gender', 'subject', 'status'],
};

/** At most a few, because nothing is visible if everything is hidden. */
function fields(type: SampleType | '*'): fc.Arbitrary<readonly string[]> {
  return fc.uniqueArray(anyOf(...HIDEABLE[type]), { maxLength: 3 });
}

const READS = ['read', 'vread', 'search', 'history'];

function rule(writes: boolean): fc.Arbitrary<RuleJson> {
  const type = anyOf(
    ...(['Patient', 'Patient', 'Observation', 'Observation', 'Encounter', 'Organization'] as const),
    ...(['Practitioner', 'RelatedPerson', '*'] as const),
  );
  const interaction: fc.Arbitrary<readonly string[]> = writes
    ? anyOf<(readonly string[])[]>(
        ['create', 'update', 'delete'],
        ['update'],
        ['create'],
        ['delete'],
        [...READS, 'update'],
        [...READS, 'create'],
      )
    : fc.oneof(fc.subarray([...READS, 'update']), anyOf<(readonly string[])[]>(['read', 'search'], READS));
  const constraint = anyOf(
    '%before.exists() implies %after.status = %before.status',
    "%after.gender.exists() implies %after.gender = 'female'",
    '%after.id.exists()',
  );
  return type.chain((resourceType) =>
    fc.record({
      resourceType: fc.constant(resourceType as string),
      criteria: some(anyOf(...CRITERIA[resourceType]), 3),
      readonly: writes ? fc.constant(undefined) : some(fc.boolean()),
      interaction: some(interaction),
      hiddenFields: some(fields(resourceType), 2),
      readonlyFields: writes ? some(fields(resourceType), 2) : fc.constant(undefined),
      writeConstraint:
        writes && resourceType !== '*'
          ? some(constraint.map((expression) => [{ language: 'text/fhirpath', expression }]))
          : fc.constant(undefined),
      compartment: rarely(anyOf({ reference: '%patient' }, { reference: '%who' }, { reference: 'Patient/p2' })),
    }),
  );
}

function policy(writes: boolean): fc.Arbitrary<PolicyJson> {
  return fc.record({
    resource: fc.array(rule(writes), { minLength: 1, maxLength: 5 }),
    compartment: rarely(anyOf({ reference: '%patient' }, { reference: 'Patient/p1' })),
  });
}

const reference = (name: string, values: readonly string[]): fc.Arbitrary<Parameter> =>
  anyOf(...values).map((text) => ({ name, valueReference: { reference: text } }));

const parameters: fc.Arbitrary<readonly Parameter[]> = fc
  .tuple(
    fc.array(reference('org', ['Organization/org1', 'Organization/org2']), { maxLength: 2 }),
    fc.array(reference('who', ['Patient/p1', 'Patient/p2', 'Patient/p3']), { minLength: 1, maxLength: 2 }),
    fc.array(
      anyOf('final', 'amended', 'Ad', 'final,amended', 'a|b', 'x\\', '%who', '&_id=p1', 'a$b').map((valueString) => ({
        name: 'state',
        valueString,
      })),
      { maxLength: 2 },
    ),
    reference('one', ['Organization/org1', 'Patient/p2']).map((one) => [one]),
    // Every member can use "its" patient.
    reference('patient', ['Patient/p1', 'Patient/p2']).map((one) => [one]),
  )
  .map((lists) => lists.flat());

/** A member with policies, or without, so that the type of its profile decides. */
export function member(options: { readonly writes: boolean }): fc.Arbitrary<MemberSetup> {
  const policies = fc.array(policy(options.writes), { minLength: 1, maxLength: 2 });
  const profile = anyOf(
    ...(['Patient/p1', 'Practitioner/dr1', 'RelatedPerson/rp1', 'ClientApplication/app1'] as const),
  );
  const withPolicies = fc
    .record({ profile, policies })
    .chain(({ profile, policies }) =>
      fc
        .array(fc.record({ policy: fc.nat({ max: policies.length - 1 }), parameters }), { minLength: 1, maxLength: 3 })
        .map((access) => ({ profile, policies, access })),
    );
  const withoutPolicies = profile.map((profile) => ({ profile, policies: [], access: [] }));
  return fc.oneof({ arbitrary: withPolicies, weight: 9 }, { arbitrary: withoutPolicies, weight: 1 });
}

/** Writes the member and everything that it needs, and signs it in. */
export async function enrol(store: ResourceStore, project: string, setup: MemberSetup): Promise<MemberCaller> {
  const user = setup.profile.startsWith('ClientApplication') ? setup.profile : `User/user-${project}`;
  const membership = `member-${project}`;
  const resources: Json[] = [
    user.startsWith('User')
      ? { resourceType: 'User', id: user.slice(5), firstName: 'Kim', lastName: 'Doe', email: `kim@${project}.example` }
      : { resourceType: 'ClientApplication', id: 'app1', name: 'App' },
    ...setup.policies.map((policy, index) => ({
      resourceType: 'AccessPolicy',
      id: `policy-${index}`,
      name: `policy ${index}`,
      ...policy,
    })),
    {
      resourceType: 'ProjectMembership',
      id: membership,
      project: { reference: `Project/${project}` },
      user: { reference: user },
      profile: { reference: setup.profile },
      ...(setup.access.length === 0
        ? {}
        : {
            access: setup.access.map(({ policy, parameters }) => ({
              policy: { reference: `AccessPolicy/policy-${policy}` },
              parameter: parameters,
            })),
          }),
    },
  ];
  await guardStore(store, serverCaller(project)).commit(
    resources.map(plain).map((resource) => ({
      kind: 'put',
      key: { type: resource.resourceType, id: resource.id! },
      resource,
    })),
  );
  // A check of the caller would add a store call. It comes after five seconds, which a busy machine can take.
  return signIn(store, { membership }, { recheckAfter: Infinity });
}
