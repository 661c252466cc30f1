/** A query to show, from simple to rich. */
export interface Example {
  readonly title: string;
  readonly query: string;
  readonly variables?: { readonly [name: string]: string };
}

/** Finds a patient for the examples, whatever the data is. */
export const PICK = `{
  DiagnosticReportList(_count: 1, _sort: "-date") { subject { reference } }
  PatientList(_count: 1) { id }
}`;

/** @param patient The id of a patient, preferably one with reports. */
export function examples(patient: string): readonly Example[] {
  return [
    {
      title: 'Read one patient: aliases, and null for what is not there',
      variables: { id: patient },
      query: `query ReadPatient($id: String!) {
  patient: Patient(id: $id) {
    id
    born: birthDate
    gender
    name { use family given suffix }
    deceasedDateTime
  }
}`,
    },
    {
      title: 'Search: arguments are combined with AND, commas mean OR',
      query: `query SearchPatients {
  PatientList(gender: "female", birthdate: "lt1995", address_state: "MA,Massachusetts", _sort: "-birthdate", _count: 3) {
    birthDate
    name { family given }
    address { city state }
  }
}`,
    },
    {
      title: 'Follow references: a report, its patient, its results',
      query: `query LatestReport {
  DiagnosticReportList(_sort: "-date", _count: 1) {
    code { text }
    subject { resource { ... on Patient { name { family } birthDate } } }
    result {
      resource { ... on Observation { code { text } valueQuantity { value unit } } }
    }
  }
}`,
    },
    {
      title: 'Follow references backwards: visits and what was measured, the latest first, and counts',
      variables: { id: patient },
      query: `query Visits($id: String!) {
  Patient(id: $id) {
    visits: EncounterConnection(_reference: patient) { count }
    measurements: ObservationConnection(_reference: subject) { count }
    latest: EncounterList(_reference: patient, _sort: "-date", _count: 2) {
      period { start }
      type { text }
      ObservationList(_reference: encounter, _sort: "code", _count: 3) {
        code { text }
        valueQuantity { value unit }
      }
    }
  }
}`,
    },
    {
      title: 'All together: fragments, variables, element filters, FHIRPath, extensions',
      variables: { id: patient, bloodPressure: '85354-9,55284-4' },
      query: `query Chart($id: String!, $bloodPressure: String!) {
  Patient(id: $id) {
    official: name(use: "official") { ...FullName }
    other: name(fhirpath: "use != 'official'") { ...FullName }
    record: identifier(fhirpath: "type.coding.code = 'MR'") { system value }
    birthSex: extension(url: "http://hl7.org/fhir/us/core/StructureDefinition/us-core-birthsex") { valueCode }
    bloodPressure: ObservationList(_reference: subject, code: $bloodPressure, _sort: "-date", _count: 2) {
      effectiveDateTime
      systolic: component(fhirpath: "code.coding.code = '8480-6'") { ...Measured }
      diastolic: component(fhirpath: "code.coding.code = '8462-4'") { ...Measured }
    }
    active: ConditionList(_reference: subject, clinical_status: "active", _sort: "-onset-date", _count: 3) {
      code { text }
      onsetDateTime
    }
  }
}
fragment FullName on HumanName { use prefix given family }
fragment Measured on ObservationComponent { valueQuantity { value unit } }`,
    },
  ];
}
