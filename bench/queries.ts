/** The queries of the bench, from one read to a wide list. */
export const QUERIES = [
  {
    name: 'one-patient',
    what: 'read one patient',
    text: `query ($patient: ID!) {
  Patient(id: $patient) {
    id gender birthDate
    name { use family given prefix }
    telecom { system value use }
    address { line city state postalCode country }
  }
}`,
  },
  {
    name: 'patients',
    what: '20 patients',
    text: `query ($gender: String) {
  PatientList(gender: $gender, _count: 20) {
    id gender birthDate
    name { use family given prefix }
    telecom { system value use }
    address { line city state postalCode country }
  }
}`,
  },
  {
    name: 'reverse',
    what: 'patient + 50 observations (reverse)',
    text: `query ($patient: ID!) {
  Patient(id: $patient) {
    id
    name { family given }
    ObservationList(_reference: subject, _count: 50) {
      id status
      code { text coding { system code } }
      effectiveDateTime
      valueQuantity { value unit }
    }
  }
}`,
  },
  {
    name: 'reverse-twice',
    what: '5 patients × 10 encounters × 10 observations',
    text: `{
  PatientList(_count: 5) {
    id
    name { family given }
    EncounterList(_reference: subject, _count: 10) {
      id status
      type { text }
      period { start end }
      ObservationList(_reference: encounter, _count: 10) {
        id status
        code { text }
        effectiveDateTime
        valueQuantity { value unit }
      }
    }
  }
}`,
  },
  {
    name: 'references',
    what: '50 reports → results → observations (references)',
    text: `{
  DiagnosticReportList(_count: 50) {
    id status
    code { text coding { system code display } }
    issued
    result {
      display
      resource { ... on Observation { id status code { text } effectiveDateTime valueQuantity { value unit } } }
    }
  }
}`,
  },
  {
    name: 'wide',
    what: '1,000 observations, wide selection',
    text: `{
  ObservationList(_count: 1000) {
    id status effectiveDateTime issued
    meta { versionId tag { system code } }
    category { text coding { system code display } }
    code { text coding { system code display } }
    subject { reference display }
    encounter { reference display }
    valueQuantity { value unit system code }
    valueCodeableConcept { text coding { system code display } }
    valueString
    component { code { text coding { system code display } } valueQuantity { value unit system code } }
  }
}`,
  },
] as const satisfies readonly BenchQuery[];

export type QueryName = (typeof QUERIES)[number]['name'];

export interface BenchQuery {
  readonly name: string;
  /** Title of its table. */
  readonly what: string;
  readonly text: string;
}

/** The variables of the queries: the same for all variants. */
export interface Variables {
  /** Id of a patient with at least 50 observations. */
  readonly patient: string;
  readonly gender: string;
}

/** One way to answer the queries. */
export interface Variant {
  readonly name: string;
  /** Does the work that a host would do once (parse, prepare). @returns a function that returns the answer as JSON text */
  prepare(query: BenchQuery, variables: Variables): () => string | Promise<string>;
}
