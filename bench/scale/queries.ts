import type { Known } from './lines.js';

/** A query that is timed while the data grow. */
export interface ScaleQuery {
  readonly name: string;
  /**
   * `bounded`: the number of matches does not depend on the size, so an index must keep the time nearly constant. `broad`:
   * matches grow with the data, and ordering or counting needs all of them.
   */
  readonly kind: 'bounded' | 'broad';
  readonly text: string;
  readonly variables: (known: Known) => { readonly [name: string]: unknown };
}

export const SCALE_QUERIES: readonly ScaleQuery[] = [
  {
    name: 'read one patient',
    kind: 'bounded',
    text: 'query ($id: ID!) { Patient(id: $id) { name { family given } birthDate } }',
    variables: ({ patient: id }) => ({ id }),
  },
  {
    name: 'patient by identifier',
    kind: 'bounded',
    text: 'query ($of: [String]) { PatientList(identifier: $of) { id name { family } } }',
    variables: ({ identifier: of }) => ({ of }),
  },
  {
    name: 'patient by family name and birth date',
    kind: 'bounded',
    text: 'query ($family: [String], $date: [String]) { PatientList(family: $family, birthdate: $date) { id } }',
    variables: ({ family, birthDate: date }) => ({ family, date }),
  },
  {
    name: 'patient + 50 observations (reverse)',
    kind: 'bounded',
    text: `query ($id: ID!) { Patient(id: $id) {
      name { family }
      ObservationList(_reference: subject, _count: 50) { code { text } valueQuantity { value unit } } } }`,
    variables: ({ patient: id }) => ({ id }),
  },
  {
    name: 'latest observation of a patient with a code',
    kind: 'bounded',
    text: `query ($subject: [String], $code: [String]) {
      ObservationList(subject: $subject, code: $code, _sort: "-date", _count: 1) { effectiveDateTime valueQuantity { value } } }`,
    variables: ({ patient, code }) => ({ subject: `Patient/${patient}`, code }),
  },
  {
    name: 'conditions and requests of an encounter',
    kind: 'bounded',
    text: `query ($id: ID!) { Encounter(id: $id) {
      period { start }
      subject { resource { ... on Patient { name { family } } } }
      ConditionList(_reference: encounter) { code { text } }
      MedicationRequestList(_reference: encounter) { status } } }`,
    variables: ({ encounter: id }) => ({ id }),
  },
  {
    name: 'first page of observations by id',
    kind: 'bounded',
    text: '{ ObservationList(_count: 50) { id status } }',
    variables: () => ({}),
  },
  {
    name: 'encounters of a day, first 20 by date',
    kind: 'broad',
    text: 'query ($day: [String]) { EncounterList(date: $day, _sort: "date", _count: 20) { id period { start } } }',
    variables: ({ visited: day }) => ({ day }),
  },
  {
    name: 'patients with a family name, first 20 by id',
    kind: 'broad',
    text: 'query ($family: [String]) { PatientList(family: $family, _count: 20) { id name { family } } }',
    variables: ({ family }) => ({ family }),
  },
  {
    name: 'count of observations with a code',
    kind: 'broad',
    text: 'query ($code: [String]) { ObservationConnection(code: $code, _count: 1) { count } }',
    variables: ({ code }) => ({ code }),
  },
];
