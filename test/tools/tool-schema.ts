import { printFhirSchema } from 'fhirgraph';

/** The types that the clients of these tests use. */
export const TYPES = ['Observation', 'Organization', 'Patient', 'Practitioner', 'PractitionerRole'];

/** The schema that the tools read, as a host would write it to a file. */
export const SDL = printFhirSchema({ types: TYPES });

/** Strict documents like those of clients: variables, aliases, fragments, references, reverse references, pages, writes. */
export const CHART = `
  query Chart($id: ID!, $code: [String]) {
    Patient(id: $id) {
      id
      birthDate
      official: name(use: "official") { ...Name }
      generalPractitioner {
        reference
        resource { __typename id ... on Practitioner { name { ...Name } } }
      }
      ObservationList(_reference: "subject", code: $code, _sort: "-date") {
        id
        valueQuantity { value unit }
      }
    }
  }
  fragment Name on HumanName { family given }`;

export const PAGE = `
  query Page($cursor: String) {
    PatientConnection(cursor: $cursor) { count next edges { resource { id } } }
  }`;

export const ADD = `
  mutation Add($patient: PatientInput!) {
    PatientCreate(res: $patient) { id birthDate }
  }`;
