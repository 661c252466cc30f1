import type { Resource } from 'fhirgraph/types';
import type { Identified } from './bundle.js';
import { ILLNESSES, LAB_PANELS, VACCINES } from './codes.js';
import type { Facilities } from './facilities.js';
import { createCondition, createPrescription, createReconciliation } from './illness.js';
import { createBody, labReport, vitalSigns } from './observations.js';
import { createPatient, createRelative } from './patient.js';
import { createAllergies, createAppointment, createImmunization } from './prevention.js';
import type { Random } from './random.js';
import { workingTime } from './time.js';
import { createVisit } from './visit.js';

/** Days between two visits, on average. */
const INTERVAL = 120;

/** One patient and all that is known about them: about 280 resources. */
export function createRecord(
  random: Random,
  facilities: Facilities,
  position: number,
): readonly Identified<Resource>[] {
  const patient = createPatient(random, facilities, position);
  const body = createBody(random);
  const visitCount = random.int(20, 22);
  const firstDay = -(visitCount + 1) * INTERVAL;
  const illnesses = random.some(ILLNESSES, random.int(5, 9));
  const resources: Identified<Resource>[] = [patient, createRelative(random, patient)];
  resources.push(...createAllergies(random, patient, workingTime(firstDay, 0)));

  for (let number = 0; number < visitCount; number++) {
    const days = firstDay + number * INTERVAL + random.int(0, 60);
    const visit = createVisit(random, facilities, patient, workingTime(days, random.int(0, 30)));
    resources.push(visit.encounter, ...vitalSigns(random, visit, body, number));

    const illness = illnesses[number];
    if (illness !== undefined) {
      const condition = createCondition(random, facilities, visit, illness);
      const prescription = createPrescription(random, facilities, visit, illness, condition);
      resources.push(condition, ...(prescription === undefined ? [] : [prescription]));
    }
    if (number % 2 === 0) {
      const panel = LAB_PANELS[(number / 2) % LAB_PANELS.length]!;
      resources.push(...labReport(random, facilities, visit, panel));
    }
    if (number % 3 === 0) resources.push(createImmunization(random, facilities, visit, vaccineFor(number)));
    if (number % 4 === 1) resources.push(createReconciliation(random, facilities, visit));
  }
  const coming = patient.deceasedDateTime === undefined ? random.int(1, 3) : 0;
  for (let number = 0; number < coming; number++) {
    resources.push(...createAppointment(random, facilities, patient));
  }
  return resources;
}

/** Influenza every time but each third, when it is one of the others' turn. */
function vaccineFor(number: number): (typeof VACCINES)[number] {
  return number % 9 === 0 ? VACCINES[1 + ((number / 9) % (VACCINES.length - 1))]! : VACCINES[0]!;
}
