import type { AllergyIntolerance, Appointment, Immunization, Slot } from 'fhirgraph/types';
import { earlier, type Identified, within } from './bundle.js';
import { ALLERGIES, type Code, concept, CVX, hl7, REACTIONS, SNOMED } from './codes.js';
import type { Facilities } from './facilities.js';
import type { SamplePatient } from './patient.js';
import { fullName } from './person.js';
import type { Random } from './random.js';
import { clock, day, instant, MINUTE, workingTime, YEAR } from './time.js';
import type { Visit } from './visit.js';

export function createAllergies(
  random: Random,
  patient: SamplePatient,
  since: number,
): readonly Identified<AllergyIntolerance>[] {
  return random.some(ALLERGIES, random.int(0, 3)).map(({ code, category }) => ({
    resourceType: 'AllergyIntolerance' as const,
    id: random.uuid(),
    clinicalStatus: { coding: [hl7('allergyintolerance-clinical', 'active', 'Active')] },
    verificationStatus: { coding: [hl7('allergyintolerance-verification', 'confirmed', 'Confirmed')] },
    type: 'allergy' as const,
    category: [category],
    criticality: random.chance(0.2) ? ('high' as const) : ('low' as const),
    code: concept(SNOMED, code),
    patient: within(patient),
    recordedDate: day(since - random.next() * YEAR),
    reaction: [{ manifestation: [concept(SNOMED, random.pick(REACTIONS))], severity: random.pick(SEVERITIES) }],
  }));
}

const SEVERITIES = ['mild', 'moderate', 'severe'] as const;

export function createImmunization(
  random: Random,
  facilities: Facilities,
  visit: Visit,
  vaccine: Code,
): Identified<Immunization> {
  return {
    resourceType: 'Immunization',
    id: random.uuid(),
    status: 'completed',
    vaccineCode: concept(CVX, vaccine),
    patient: within(visit.patient),
    encounter: within(visit.encounter),
    occurrenceDateTime: clock(visit.start + 20 * MINUTE),
    primarySource: true,
    lotNumber: `L${random.digits(6)}`,
    performer: [{ actor: earlier(facilities.practitioners[visit.doctor]!) }],
  };
}

/** A coming appointment and the slot it takes. */
export function createAppointment(
  random: Random,
  facilities: Facilities,
  patient: SamplePatient,
): readonly [Identified<Slot>, Identified<Appointment>] {
  const position = random.int(0, facilities.schedules.length - 1);
  const doctor = facilities.practitioners[position]!;
  const start = workingTime(random.int(7, 60), random.int(4, 30));
  const times = { start: instant(start), end: instant(start + 15 * MINUTE) };
  const slot: Identified<Slot> = {
    resourceType: 'Slot',
    id: random.uuid(),
    schedule: earlier(facilities.schedules[position]!),
    status: 'busy',
    ...times,
  };
  const appointment: Identified<Appointment> = {
    resourceType: 'Appointment',
    id: random.uuid(),
    status: random.chance(0.9) ? 'booked' : 'cancelled',
    serviceType: [concept(SNOMED, ['11429006', 'Consultation'])],
    description: 'Follow-up visit',
    ...times,
    minutesDuration: 15,
    slot: [within(slot)],
    participant: [
      { actor: within(patient), required: 'required', status: 'accepted' },
      { actor: earlier(doctor, fullName(doctor.name![0]!)), required: 'required', status: random.pick(ANSWERS) },
    ],
  };
  return [slot, appointment];
}

const ANSWERS = ['accepted', 'tentative', 'needs-action'] as const;
