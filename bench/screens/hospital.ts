import type { Reference, Resource } from '@medplum/fhirtypes';
import { Draw } from '../scale/random/draw.js';

/** The patient whose chart and medications the screens show. */
export const PATIENT = 'patient-3';

/** Numbers of resources per patient, or of the whole hospital. */
const SIZES = { practitioners: 25, locations: 12, medications: 60, results: 180, visits: 12, orders: 24, entries: 9 };
const DAY = 86_400_000;
const NOW = Date.parse('2026-03-01T08:00:00Z');

/**
 * The records of a hospital in which every third patient is on a ward: what a chart, a ward board and a medication list show.
 * The same number of patients gives the same resources. Targets of references come first.
 */
export function* hospital(patients: number): Generator<Resource> {
  const draw = new Draw(7);
  /** A time of the last `days` days, to the minute. */
  const ago = (days: number): string => dateTime(NOW - draw.below((days * DAY) / 60_000) * 60_000);

  for (let index = 0; index < SIZES.practitioners; index++) {
    yield {
      resourceType: 'Practitioner',
      id: `practitioner-${index}`,
      active: true,
      name: [{ family: `Physician${index}`, given: ['Robin'] }],
    };
  }
  for (let index = 0; index < SIZES.locations; index++) {
    yield { resourceType: 'Location', id: `location-${index}`, status: 'active', name: `Ward ${1 + index}` };
  }
  for (let index = 0; index < SIZES.medications; index++) {
    yield {
      resourceType: 'Medication',
      id: `medication-${index}`,
      code: { text: `Substance ${index} 20 mg`, coding: [{ system: RXNORM, code: String(310_000 + index) }] },
    };
  }
  for (let number = 0; number < patients; number++) yield* recordOf(number);

  function* recordOf(number: number): Generator<Resource> {
    const subject = refer('Patient', `patient-${number}`);
    const physician = (): Reference<never> => refer('Practitioner', `practitioner-${draw.below(SIZES.practitioners)}`);
    yield {
      resourceType: 'Patient',
      id: `patient-${number}`,
      active: true,
      name: [{ use: 'official', family: `Family${number % 40}`, given: [`Given${number}`] }],
      gender: draw.oneOf(['female', 'male'] as const),
      birthDate: dateTime(NOW - (20 + draw.below(60)) * 365 * DAY).slice(0, 10),
    };
    const inHospital = number % 3 === 0;
    for (let index = 0; index < SIZES.visits; index++) {
      const current = inHospital && index === 0;
      yield {
        resourceType: 'Encounter',
        id: `encounter-${number}-${index}`,
        status: current ? 'in-progress' : 'finished',
        class: { system: ACT_CODE, code: current ? 'IMP' : 'AMB' },
        subject,
        period: { start: ago(current ? 6 : 2_000) },
        location: [{ location: refer('Location', `location-${draw.below(SIZES.locations)}`) }],
      };
    }
    for (let index = 0; index < SIZES.results; index++) {
      const vital = index % 3 === 0;
      const current = inHospital && index < SIZES.results / 3;
      yield {
        resourceType: 'Observation',
        id: `observation-${number}-${index}`,
        status: index % 20 === 19 ? 'preliminary' : 'final',
        category: [{ coding: [{ system: CATEGORY, code: vital ? 'vital-signs' : 'laboratory' }] }],
        code: { text: `Measurement ${index % 30}`, coding: [{ system: LOINC, code: `${8_000 + (index % 30)}-4` }] },
        subject,
        encounter: refer('Encounter', `encounter-${number}-${current ? 0 : 1 + draw.below(SIZES.visits - 1)}`),
        effectiveDateTime: ago(current ? 6 : 2_000),
        valueQuantity: { value: 40 + draw.below(1_200) / 10, unit: 'mmol/L', system: UCUM, code: 'mmol/L' },
      };
    }
    for (let index = 0; index < SIZES.orders; index++) {
      const request = refer('MedicationRequest', `request-${number}-${index}`);
      yield {
        resourceType: 'MedicationRequest',
        id: `request-${number}-${index}`,
        status: index % 3 === 2 ? 'stopped' : 'active',
        intent: 'order',
        subject,
        authoredOn: ago(400),
        medicationReference: refer('Medication', `medication-${draw.below(SIZES.medications)}`),
        requester: physician(),
        dosageInstruction: [{ text: draw.oneOf(['once daily', 'twice daily', 'at night']) }],
      };
      for (let dose = 0; dose < 4; dose++) {
        yield {
          resourceType: 'MedicationAdministration',
          id: `administration-${number}-${index}-${dose}`,
          status: dose === 3 ? 'not-done' : 'completed',
          subject,
          request,
          medicationReference: refer('Medication', `medication-${draw.below(SIZES.medications)}`),
          effectiveDateTime: ago(60),
          dosage: { text: '1 tablet' },
        };
      }
    }
    for (let index = 0; index < SIZES.entries; index++) {
      yield {
        resourceType: 'Condition',
        id: `condition-${number}-${index}`,
        clinicalStatus: { coding: [{ system: CLINICAL, code: index % 3 === 2 ? 'resolved' : 'active' }] },
        code: { text: `Problem ${draw.below(90)}` },
        subject,
        recordedDate: ago(3_000),
      };
      yield {
        resourceType: 'Procedure',
        id: `procedure-${number}-${index}`,
        status: index % 4 === 3 ? 'in-progress' : 'completed',
        code: { text: `Procedure ${draw.below(50)}` },
        subject,
        performedDateTime: ago(3_000),
      };
      yield {
        resourceType: 'Immunization',
        id: `immunization-${number}-${index}`,
        status: index % 5 === 4 ? 'not-done' : 'completed',
        vaccineCode: { text: `Vaccine ${draw.below(20)}` },
        patient: subject,
        occurrenceDateTime: ago(9_000),
      };
      yield {
        resourceType: 'DiagnosticReport',
        id: `report-${number}-${index}`,
        status: index % 4 === 3 ? 'registered' : 'final',
        code: { text: `Report ${draw.below(25)}` },
        subject,
        issued: ago(2_000),
      };
      yield {
        resourceType: 'CarePlan',
        id: `plan-${number}-${index}`,
        status: index % 3 === 2 ? 'completed' : 'active',
        intent: 'plan',
        title: `Plan ${draw.below(30)}`,
        subject,
        period: { start: ago(700) },
      };
      yield {
        resourceType: 'Task',
        id: `task-${number}-${index}`,
        status: index % 2 === 1 ? 'completed' : 'requested',
        intent: 'order',
        description: `Task ${draw.below(40)}`,
        for: subject,
        encounter: refer('Encounter', `encounter-${number}-${inHospital && index < 6 ? 0 : 1}`),
        authoredOn: ago(6),
        owner: physician(),
      };
    }
  }
}

const LOINC = 'http://loinc.org';
const UCUM = 'http://unitsofmeasure.org';
const RXNORM = 'http://www.nlm.nih.gov/research/umls/rxnorm';
const ACT_CODE = 'http://terminology.hl7.org/CodeSystem/v3-ActCode';
const CATEGORY = 'http://terminology.hl7.org/CodeSystem/observation-category';
const CLINICAL = 'http://terminology.hl7.org/CodeSystem/condition-clinical';

function refer(type: string, id: string): Reference<never> {
  return { reference: `${type}/${id}` };
}

function dateTime(time: number): string {
  return new Date(time).toISOString().replace('.000Z', 'Z');
}
