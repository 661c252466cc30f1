import type {
  Address,
  CodeableConcept,
  Coding,
  ContactPoint,
  DiagnosticReport,
  Encounter,
  HumanName,
  Observation,
  Patient,
  Quantity,
  Reference,
} from '@medplum/fhirtypes';

// Hand-written code that turns resources into exactly the answers of queries.ts: one function per selection, null for absent
// values.

export function patientDetails(patient: Patient) {
  return {
    id: patient.id,
    gender: patient.gender ?? null,
    birthDate: patient.birthDate ?? null,
    name: patient.name?.map(nameDetails) ?? null,
    telecom: patient.telecom?.map(telecomDetails) ?? null,
    address: patient.address?.map(addressDetails) ?? null,
  };
}

/** @param observations filled in under `ObservationList`. */
export function patientWithObservations(patient: Patient, observations: readonly object[]) {
  return { id: patient.id, name: patient.name?.map(shortName) ?? null, ObservationList: observations };
}

/** @param encounters filled in under `EncounterList`. */
export function patientWithEncounters(patient: Patient, encounters: readonly object[]) {
  return { id: patient.id, name: patient.name?.map(shortName) ?? null, EncounterList: encounters };
}

/** @param observations filled in under `ObservationList`. */
export function encounterWithObservations(encounter: Encounter, observations: readonly object[]) {
  const { period } = encounter;
  return {
    id: encounter.id,
    status: encounter.status ?? null,
    type: encounter.type?.map(textOnly) ?? null,
    period: period === undefined ? null : { start: period.start ?? null, end: period.end ?? null },
    ObservationList: observations,
  };
}

export function codedObservation(observation: Observation) {
  return {
    id: observation.id,
    status: observation.status ?? null,
    code: observation.code === undefined ? null : plainConcept(observation.code),
    effectiveDateTime: observation.effectiveDateTime ?? null,
    valueQuantity: observation.valueQuantity === undefined ? null : shortQuantity(observation.valueQuantity),
  };
}

export function briefObservation(observation: Observation) {
  return {
    id: observation.id,
    status: observation.status ?? null,
    code: observation.code === undefined ? null : textOnly(observation.code),
    effectiveDateTime: observation.effectiveDateTime ?? null,
    valueQuantity: observation.valueQuantity === undefined ? null : shortQuantity(observation.valueQuantity),
  };
}

/** @param resolve finds the observation that a reference of `result` names. */
export function reportWithResults(report: DiagnosticReport, resolve: (reference: string) => Observation) {
  return {
    id: report.id,
    status: report.status ?? null,
    code: report.code === undefined ? null : fullConcept(report.code),
    issued: report.issued ?? null,
    result:
      report.result?.map((result) => ({
        display: result.display ?? null,
        resource: briefObservation(resolve(result.reference ?? '')),
      })) ?? null,
  };
}

export function wideObservation(observation: Observation) {
  const { meta, code, subject, encounter, valueQuantity, valueCodeableConcept } = observation;
  return {
    id: observation.id,
    status: observation.status ?? null,
    effectiveDateTime: observation.effectiveDateTime ?? null,
    issued: observation.issued ?? null,
    meta: { versionId: meta?.versionId ?? null, tag: meta?.tag?.map(plainCoding) ?? null },
    category: observation.category?.map(fullConcept) ?? null,
    code: code === undefined ? null : fullConcept(code),
    subject: subject === undefined ? null : shortReference(subject),
    encounter: encounter === undefined ? null : shortReference(encounter),
    valueQuantity: valueQuantity === undefined ? null : fullQuantity(valueQuantity),
    valueCodeableConcept: valueCodeableConcept === undefined ? null : fullConcept(valueCodeableConcept),
    valueString: observation.valueString ?? null,
    component:
      observation.component?.map((part) => ({
        code: part.code === undefined ? null : fullConcept(part.code),
        valueQuantity: part.valueQuantity === undefined ? null : fullQuantity(part.valueQuantity),
      })) ?? null,
  };
}

function nameDetails(name: HumanName) {
  return {
    use: name.use ?? null,
    family: name.family ?? null,
    given: name.given ?? null,
    prefix: name.prefix ?? null,
  };
}

function shortName(name: HumanName) {
  return { family: name.family ?? null, given: name.given ?? null };
}

function telecomDetails(telecom: ContactPoint) {
  return { system: telecom.system ?? null, value: telecom.value ?? null, use: telecom.use ?? null };
}

function addressDetails(address: Address) {
  return {
    line: address.line ?? null,
    city: address.city ?? null,
    state: address.state ?? null,
    postalCode: address.postalCode ?? null,
    country: address.country ?? null,
  };
}

function textOnly(concept: CodeableConcept) {
  return { text: concept.text ?? null };
}

function plainConcept(concept: CodeableConcept) {
  return { text: concept.text ?? null, coding: concept.coding?.map(plainCoding) ?? null };
}

function plainCoding(coding: Coding) {
  return { system: coding.system ?? null, code: coding.code ?? null };
}

function fullConcept(concept: CodeableConcept) {
  return { text: concept.text ?? null, coding: concept.coding?.map(fullCoding) ?? null };
}

function fullCoding(coding: Coding) {
  return { system: coding.system ?? null, code: coding.code ?? null, display: coding.display ?? null };
}

function shortQuantity(quantity: Quantity) {
  return { value: quantity.value ?? null, unit: quantity.unit ?? null };
}

function fullQuantity(quantity: Quantity) {
  return {
    value: quantity.value ?? null,
    unit: quantity.unit ?? null,
    system: quantity.system ?? null,
    code: quantity.code ?? null,
  };
}

function shortReference(reference: Reference) {
  return { reference: reference.reference ?? null, display: reference.display ?? null };
}
