import { describe, expect, test } from 'vitest';
import { validateFhirGraphql } from '../../src/graphql/validate-documents/validate-fhir-graphql.js';

async function messagesOf(query: string, dialect?: 'hl7'): Promise<readonly string[]> {
  const found = await validateFhirGraphql(query, { dialect });
  return found.errors.map(({ message }) => message);
}

describe('the message about a field that is not there', () => {
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
    ['names nothing where nothing is close', '{ PatientList { x } }', 'Cannot query field "x" on type "Patient".'],
    [
      'knows root fields',
      '{ Patinet(id: 1) { id } }',
      'Cannot query field "Patinet" on type "Query". Did you mean "Patient"?',
    ],
  ])('%s', async (_, query, message) => {
    const messages = await messagesOf(query);
    expect(messages).toContain(message);
    expect(messages.length).toBeLessThanOrEqual(2);
  });

  test('is not written in dialect hl7, which has choices by their base name', async () => {
    expect(await messagesOf('{ ObservationList { value { unit } } }', 'hl7')).toEqual([]);
  });
});
