import type { BenchQuery } from '../queries.js';

/** Three screens that a hospital has open all day. Lists show the latest first, and only what has the right status. */
export const SCREENS = [
  {
    name: 'chart',
    what: 'chart: one patient, eight reverse lists',
    text: `query ($patient: ID!) {
  Patient(id: $patient) {
    id gender birthDate
    name { family given }
    ObservationList(_reference: subject, status: "final", _sort: "-date", _count: 20) {
      id code { text } effectiveDateTime valueQuantity { value unit }
    }
    ConditionList(_reference: subject, clinical_status: "active", _sort: "-recorded-date", _count: 10) {
      id code { text } recordedDate
    }
    MedicationRequestList(_reference: subject, status: "active", _sort: "-authoredon", _count: 10) {
      id authoredOn dosageInstruction { text }
    }
    EncounterList(_reference: subject, status: "finished", _sort: "-date", _count: 5) {
      id class { code } period { start }
    }
    ProcedureList(_reference: subject, status: "completed", _sort: "-date", _count: 5) {
      id code { text } performedDateTime
    }
    ImmunizationList(_reference: patient, status: "completed", _sort: "-date", _count: 5) {
      id vaccineCode { text } occurrenceDateTime
    }
    DiagnosticReportList(_reference: subject, status: "final", _sort: "-issued", _count: 5) {
      id code { text } issued
    }
    CarePlanList(_reference: subject, status: "active", _sort: "-date", _count: 5) {
      id title period { start }
    }
  }
}`,
  },
  {
    name: 'ward-board',
    what: 'ward board: 30 encounters in progress',
    text: `{
  EncounterList(status: "in-progress", _sort: "-date", _count: 30) {
    id
    period { start }
    subject { resource { ... on Patient { id birthDate name { family given } } } }
    location { location { resource { ... on Location { id name } } } }
    ObservationList(_reference: encounter, category: "vital-signs", _sort: "-date", _count: 4) {
      id code { text } effectiveDateTime valueQuantity { value unit }
    }
    TaskList(_reference: encounter, status: "requested", _sort: "-authored-on", _count: 5) {
      id description authoredOn
    }
  }
}`,
  },
  {
    name: 'medications',
    what: 'medication list: requests, prescribers, administrations',
    text: `query ($patient: ID!) {
  Patient(id: $patient) {
    id
    MedicationRequestList(_reference: subject, status: "active", _sort: "-authoredon", _count: 20) {
      id status authoredOn
      dosageInstruction { text }
      medicationReference { resource { ... on Medication { id code { text } } } }
      requester { resource { ... on Practitioner { id name { family given } } } }
      MedicationAdministrationList(_reference: request, status: "completed", _sort: "-effective-time", _count: 3) {
        id effectiveDateTime dosage { text }
      }
    }
  }
}`,
  },
] as const satisfies readonly BenchQuery[];
