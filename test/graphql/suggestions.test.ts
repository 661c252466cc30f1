import { describe, expect, test } from 'vitest';
import { validateFhirGraphql } from '../../src/index.js';

async function messagesOf(query: string, dialect?: 'hl7'): Promise<readonly string[]> {
  const found = await validateFhirGraphql(query, { dialect });
  return found.errors.map(({ message }) => message);
}

describe('the message about an unknown field', () => {
  test.each([
    [
      'names every type of a choice',
      '{ ObservationList { value { unit } } }',
      'Cannot query field "value" on type "Observation". Did you mean "valueQuantity", "valueCodeableConcept", "valueString", "valueBoolean", "valueInteger", "valueRange", "valueRatio", "valueSampledData", "valueTime", "valueDateTime" or "valuePeriod"?',
    ],
    [
      'names both types of a short choice',
      '{ PatientList { deceased } }',
      'Cannot query field "deceased" on type "Patient". Did you mean "deceasedBoolean" or "deceasedDateTime"?',
    ],
    [
      'knows choices inside elements',
      '{ ObservationList { component { value } } }',
      'Cannot query field "value" on type "ObservationComponent". Did you mean "valueQuantity", "valueCodeableConcept", "valueString", "valueBoolean", "valueInteger", "valueRange", "valueRatio", "valueSampledData", "valueTime", "valueDateTime" or "valuePeriod"?',
    ],
    [
      'names the types that a reference allows and that have the field',
      '{ ObservationList { subject { resource { name } } } }',
      'Cannot query field "name" on type "Resource". Did you mean to use an inline fragment on "Group", "Location" or "Patient"?',
    ],
    [
      'leaves out types that the reference does not allow',
      '{ PatientList { generalPractitioner { resource { name } } } }',
      'Cannot query field "name" on type "Resource". Did you mean to use an inline fragment on "Organization" or "Practitioner"?',
    ],
    [
      'names a few types where the reference allows any',
      '{ ObservationList { focus { resource { birthDate name } } } }',
      'Cannot query field "name" on type "Resource". Did you mean to use an inline fragment on "Patient", "Practitioner", "Organization", "Location" or "AccessPolicy"?',
    ],
    [
      'says that a reference has its target behind `resource`',
      '{ ObservationList { subject { name } } }',
      'Cannot query field "name" on type "Reference". Did you mean "resource { ... on Patient { name } }", or a fragment on "Group" or "Location"?',
    ],
    [
      'does so for a reference to one type',
      '{ PatientList { managingOrganization { name } } }',
      'Cannot query field "name" on type "Reference". Did you mean "resource { ... on Organization { name } }"?',
    ],
    [
      'names what is close behind a reference',
      '{ PatientList { managingOrganization { resource { aliass } } } }',
      'Cannot query field "aliass" on type "Resource". Did you mean "alias"?',
    ],
    [
      'leaves out extensions of primitives',
      '{ PatientList { gendr } }',
      'Cannot query field "gendr" on type "Patient". Did you mean "gender"?',
    ],
    [
      'names extensions of primitives where they are meant',
      '{ PatientList { _gendr } }',
      'Cannot query field "_gendr" on type "Patient". Did you mean "_gender" or "gender"?',
    ],
    [
      'reads snake case',
      '{ PatientList { birth_date } }',
      'Cannot query field "birth_date" on type "Patient". Did you mean "birthDate"?',
    ],
    ['suggests nothing if no name is similar', '{ PatientList { x } }', 'Cannot query field "x" on type "Patient".'],
    [
      'knows root fields',
      '{ Patinet(id: 1) { id } }',
      'Cannot query field "Patinet" on type "Query". Did you mean "Patient"?',
    ],
    [
      'suggests a name that differs only in case',
      '{ patientList { id } }',
      'on type "Query". Did you mean "PatientList"?',
    ],
    ['knows plurals', '{ patients { id } }', 'on type "Query". Did you mean "PatientList" or "Patient"?'],
    ['knows searches', '{ PatientSearch { id } }', 'on type "Query". Did you mean "PatientList" or "Patient"?'],
    ['knows reads', '{ getPatientById { id } }', 'on type "Query". Did you mean "Patient"?'],
    ['knows connections', '{ allergyIntolerancesConnection { id } }', 'Did you mean "AllergyIntoleranceConnection"?'],
    ['knows verbs before', 'mutation { createPatient { id } }', 'on type "Mutation". Did you mean "PatientCreate"?'],
    ['knows verbs after', 'mutation { patientRemove { id } }', 'on type "Mutation". Did you mean "PatientDelete"?'],
    ['knows birthdays', '{ PatientList { dob } }', 'on type "Patient". Did you mean "birthDate"?'],
    ['knows first names', '{ PatientList { name { firstName } } }', 'on type "HumanName". Did you mean "given"?'],
    ['knows last names', '{ PatientList { lastName } }', 'on type "Patient". Did you mean "name"?'],
    ['knows zip codes', '{ PatientList { address { zip } } }', 'on type "Address". Did you mean "postalCode"?'],
    ['knows who it is about', '{ ConditionList { patient { reference } } }', 'Did you mean "subject"?'],
    ['knows dates', '{ ObservationList { date } }', 'on type "Observation". Did you mean "effectiveDateTime"?'],
    ['knows nodes', '{ PatientConnection { edges { node { id } } } }', 'Did you mean "resource"?'],
    ['knows pages', '{ PatientConnection { pageInfo { x } } }', 'Did you mean "next" or "previous"?'],
    ['knows totals', '{ PatientConnection { totalCount } }', 'Did you mean "count"?'],
    [
      'names a choice behind a list of references',
      '{ DiagnosticReportList { result { resource { value { unit } } } } }',
      'Cannot query field "value" on type "Resource". Did you mean "... on Observation { valueQuantity }"?',
    ],
    [
      'names the fragment of a type under a reference',
      '{ PatientList { generalPractitioner { Practitioner { id } } } }',
      'on type "Reference". Did you mean "resource { ... on Practitioner }"?',
    ],
    [
      'names a few of fifty types of a choice',
      '{ PatientList { extension(url: "x") { value } } }',
      'Did you mean "valueString", "valueCode", "valueCodeableConcept", "valueCoding", "valueBoolean", "valueInteger", "valueDateTime", "valueReference" or one of 42 others?',
    ],
    ['forgives a slip in a choice', '{ ObservationList { valueStrng } }', 'Did you mean "valueString"?'],
  ])('%s', async (_, query, message) => {
    const messages = await messagesOf(query);
    expect(messages).toContainEqual(expect.stringContaining(message));
    expect(messages.length).toBeLessThanOrEqual(2);
  });

  test('takes time independent of the length of a name', async () => {
    const [message] = await messagesOf(`{ ${'create'.repeat(2000)} { id } }`);
    expect(message).toMatch(/on type "Query"\.$/);
  });

  test('is omitted in dialect hl7, which has choices by their base name', async () => {
    expect(await messagesOf('{ ObservationList { value { unit } } }', 'hl7')).toEqual([]);
  });
});

describe('the message about an unknown argument', () => {
  test.each([
    ['{ PatientList(first: 10) { id } }', 'on field "Query.PatientList". Did you mean "_count"?'],
    ['{ PatientList(limit: 10) { id } }', 'Did you mean "_count"?'],
    ['{ PatientConnection(after: "x") { next } }', 'Did you mean "cursor"'],
    ['{ PatientList(skip: 5) { id } }', 'Did you mean "_offset"?'],
    ['{ PatientList(where: { name: "x" }) { id } }', 'Did you mean "_filter"?'],
    ['{ PatientList(orderBy: "name") { id } }', 'Did you mean "_sort"?'],
    ['{ PatientList(sort: "name") { id } }', 'Did you mean "_sort"?'],
    ['{ PatientList(birthDate: "2000") { id } }', 'Did you mean "birthdate"?'],
    ['{ PatientList(addressCity: "x") { id } }', 'Did you mean "address_city"?'],
    ['{ PatientList(name_contains: "x") { id } }', 'Did you mean "name", or "_filter" for another comparison?'],
    ['{ PatientList(birthdate_gt: "2000") { id } }', 'Did you mean "birthdate", or "_filter" for another comparison?'],
    ['{ ConditionList(Subject: "x") { id } }', 'Did you mean "subject"?'],
    ['{ PatientList(zzzzzzzz: 1) { id } }', 'Unknown argument "zzzzzzzz" on field "Query.PatientList".'],
    ['{ PatientList { id @skip(unless: true) } }', 'Unknown argument "unless" on directive "@skip".'],
    ['mutation { PatientCreate(resource: {}) { id } }', 'on field "Mutation.PatientCreate". Did you mean "res"?'],
  ])('%s', async (query, message) => {
    expect(await messagesOf(query)).toContainEqual(expect.stringContaining(message));
  });
});

test('a list without _reference names its values', async () => {
  expect(await messagesOf('{ PatientList { ObservationList { id } } }')).toEqual([
    expect.stringMatching(/"SearchParameterName!" is required.+ It is one of: patient, focus, performer, subject\.$/),
  ]);
});

test('a fragment on the target of a reference names the field that it belongs to', async () => {
  const hint = 'can never be of type "Patient". Did you mean "resource { ... on Patient }"?';
  expect(await messagesOf('{ ObservationList { subject { ... on Patient { gender } } } }')).toEqual([
    expect.stringContaining(hint),
  ]);
  const spread = '{ ObservationList { subject { ...P } } } fragment P on Patient { gender }';
  expect(await messagesOf(spread)).toEqual([expect.stringContaining(hint)]);
});

test('a search parameter with a hyphen is spelled with an underscore', async () => {
  const [message] = await messagesOf('{ PatientList(address-city: "x") { id } }');
  expect(message).toMatch(/^Syntax Error: .+ Did you mean "address_city"\?$/);
  for (const query of ['{ a(b: -c) }', '{ PatientList(_count: 1-', `{ ${'a-'.repeat(5000)}b }`]) {
    expect((await messagesOf(query))[0]).toMatch(/^Syntax Error: /);
  }
});
