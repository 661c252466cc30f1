import type { Encounter } from 'fhirgraph/types';
import { earlier, type Identified, within } from './bundle.js';
import { type Code, concept, hl7, SNOMED } from './codes.js';
import type { Facilities } from './facilities.js';
import type { SamplePatient } from './patient.js';
import type { Random } from './random.js';
import { clock, MINUTE } from './time.js';

/** An encounter, and what is recorded during it needs to know. */
export interface Visit {
  readonly encounter: Identified<Encounter>;
  readonly patient: SamplePatient;
  /** Position of the practitioner among the facilities'. */
  readonly doctor: number;
  /** Milliseconds since 1970. */
  readonly start: number;
}

const KINDS: readonly { readonly type: Code; readonly act: Code; readonly minutes: number }[] = [
  { type: ['162673000', 'General examination of patient'], act: ['AMB', 'ambulatory'], minutes: 30 },
  { type: ['185349003', 'Encounter for check up'], act: ['AMB', 'ambulatory'], minutes: 15 },
  { type: ['185345009', 'Encounter for symptom'], act: ['AMB', 'ambulatory'], minutes: 20 },
  { type: ['50849002', 'Emergency room admission'], act: ['EMER', 'emergency'], minutes: 240 },
];

export function createVisit(random: Random, facilities: Facilities, patient: SamplePatient, start: number): Visit {
  const kind = random.chance(0.9) ? KINDS[random.int(0, 2)]! : KINDS[3]!;
  const doctor = random.int(0, facilities.practitioners.length - 1);
  const emergency = kind.act[0] === 'EMER';
  const place = facilities.wards.filter(({ name }) => name?.startsWith('Emergency') === emergency);
  const ward = random.pick(place);
  const period = { start: clock(start), end: clock(start + kind.minutes * MINUTE) };
  const encounter: Identified<Encounter> = {
    resourceType: 'Encounter',
    id: random.uuid(),
    status: 'finished',
    class: hl7('v3-ActCode', ...kind.act),
    type: [concept(SNOMED, kind.type)],
    subject: within(patient),
    participant: [
      {
        type: [{ coding: [hl7('v3-ParticipationType', 'PPRF', 'primary performer')] }],
        period,
        individual: earlier(facilities.practitioners[doctor]!),
      },
    ],
    period,
    length: { value: kind.minutes, unit: 'min', system: 'http://unitsofmeasure.org', code: 'min' },
    location: [{ location: earlier(ward, ward.name) }],
    serviceProvider: earlier(facilities.hospitals[doctor % facilities.hospitals.length]!),
  };
  return { encounter, patient, doctor, start };
}
