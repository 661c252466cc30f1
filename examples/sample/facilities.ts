import type { Location, Organization, Practitioner, PractitionerRole, Resource, Schedule, Slot } from 'fhirgraph/types';
import { type Identified, within } from './bundle.js';
import { type Code, coding, concept, hl7, SNOMED } from './codes.js';
import { address, email, type Gender, officialName, phone } from './person.js';
import type { Random } from './random.js';
import { DAY, day, instant, MINUTE, SAMPLE_NOW, workingTime } from './time.js';
import { TOWNS } from './words.js';

/** What all patients share. */
export interface Facilities {
  readonly hospitals: readonly Identified<Organization>[];
  readonly laboratory: Identified<Organization>;
  readonly wards: readonly Identified<Location>[];
  readonly practitioners: readonly Identified<Practitioner>[];
  readonly roles: readonly Identified<PractitionerRole>[];
  /** The schedule of the practitioner at the same position. */
  readonly schedules: readonly Identified<Schedule>[];
  /** All of them and the free slots, for one Bundle. */
  readonly resources: readonly Identified<Resource>[];
}

export function createFacilities(random: Random): Facilities {
  const network = organization(random, 'Larkin Health Network', 'prov');
  const hospitals = ['Larkin General Hospital', 'Brightwater Clinic', 'Saint-Émile Medical Center'].map((name) => ({
    ...organization(random, name, 'prov'),
    partOf: within(network, network.name),
  }));
  const laboratory = { ...organization(random, 'Dunmore Laboratories', 'prov'), partOf: within(network, network.name) };
  const campuses = hospitals.map((hospital, index) => campus(random, hospital, index));
  const wards = campuses.flatMap((site, index) => [
    ward(random, 'Outpatient department', site, hospitals[index]!),
    ward(random, 'Emergency department', site, hospitals[index]!),
  ]);
  const practitioners = Array.from({ length: 12 }, (_, index) => practitioner(random, index));
  const roles = practitioners.map((one, index) =>
    role(random, one, hospitals[index % hospitals.length]!, wards[index % wards.length]!),
  );
  const schedules = practitioners.map((one, index) =>
    schedule(random, one, roles[index]!, wards[index % wards.length]!),
  );
  const slots = schedules.flatMap((one) => freeSlots(random, one));
  return {
    hospitals,
    laboratory,
    wards,
    practitioners,
    roles,
    schedules,
    resources: [
      network,
      ...hospitals,
      laboratory,
      ...campuses,
      ...wards,
      ...practitioners,
      ...roles,
      ...schedules,
      ...slots,
    ],
  };
}

function organization(random: Random, name: string, type: string): Identified<Organization> & { name: string } {
  return {
    resourceType: 'Organization',
    id: random.uuid(),
    identifier: [{ system: 'http://sample.example/organizations', value: `ORG-${random.digits(5)}` }],
    active: true,
    type: [{ coding: [hl7('organization-type', type, 'Healthcare Provider')] }],
    name,
    telecom: [phone(random, 'work')],
    address: [address(random, 'work')],
  };
}

function campus(random: Random, hospital: Identified<Organization>, index: number): Identified<Location> {
  const { latitude, longitude } = TOWNS[index]!;
  return {
    resourceType: 'Location',
    id: random.uuid(),
    status: 'active',
    name: `${hospital.name ?? ''} campus`,
    mode: 'instance',
    address: address(random, 'work'),
    position: { latitude, longitude },
    managingOrganization: within(hospital),
  };
}

function ward(
  random: Random,
  name: string,
  site: Identified<Location>,
  hospital: Identified<Organization>,
): Identified<Location> {
  return {
    resourceType: 'Location',
    id: random.uuid(),
    status: 'active',
    name,
    mode: 'instance',
    partOf: within(site, site.name),
    managingOrganization: within(hospital),
  };
}

function practitioner(random: Random, index: number): Identified<Practitioner> {
  const gender: Gender = random.chance(0.5) ? 'female' : 'male';
  const name = { ...officialName(random, gender), prefix: ['Dr.'] };
  return {
    resourceType: 'Practitioner',
    id: random.uuid(),
    identifier: [{ system: 'http://hl7.org/fhir/sid/us-npi', value: `99990${String(index).padStart(5, '0')}` }],
    active: true,
    name: [name],
    telecom: [phone(random, 'work'), { ...email(name, 'larkin.example'), use: 'work' }],
    gender,
    qualification: [{ code: { coding: [hl7('v2-0360', 'MD', 'Doctor of Medicine')] } }],
  };
}

const SPECIALTIES: readonly Code[] = [
  ['394814009', 'General practice'],
  ['394579002', 'Cardiology'],
  ['394539006', 'Pediatric surgery'],
  ['408440000', 'Public health medicine'],
];

function role(
  random: Random,
  one: Identified<Practitioner>,
  hospital: Identified<Organization>,
  place: Identified<Location>,
): Identified<PractitionerRole> {
  return {
    resourceType: 'PractitionerRole',
    id: random.uuid(),
    active: true,
    period: { start: day(SAMPLE_NOW - random.int(400, 4000) * DAY) },
    practitioner: within(one),
    organization: within(hospital, hospital.name),
    code: [{ coding: [hl7('practitioner-role', 'doctor', 'Doctor')] }],
    specialty: [concept(SNOMED, random.pick(SPECIALTIES))],
    location: [within(place, place.name)],
    availableTime: [
      { daysOfWeek: ['mon', 'tue', 'wed', 'thu', 'fri'], availableStartTime: '08:00:00', availableEndTime: '17:00:00' },
    ],
  };
}

const OUTPATIENT = concept(SNOMED, ['11429006', 'Consultation']);

function schedule(
  random: Random,
  one: Identified<Practitioner>,
  duty: Identified<PractitionerRole>,
  place: Identified<Location>,
): Identified<Schedule> {
  return {
    resourceType: 'Schedule',
    id: random.uuid(),
    active: true,
    serviceType: [OUTPATIENT],
    specialty: [{ coding: [coding(SNOMED, SPECIALTIES[0]!)] }],
    actor: [within(one), within(duty), within(place, place.name)],
    planningHorizon: { start: instant(SAMPLE_NOW), end: instant(SAMPLE_NOW + 30 * DAY) },
  };
}

function freeSlots(random: Random, of: Identified<Schedule>): readonly Identified<Slot>[] {
  return Array.from({ length: 20 }, (_, index) => {
    const start = workingTime(1 + (index >> 2), index % 4);
    return {
      resourceType: 'Slot' as const,
      id: random.uuid(),
      serviceType: [OUTPATIENT],
      schedule: within(of),
      status: 'free' as const,
      start: instant(start),
      end: instant(start + 15 * MINUTE),
    };
  });
}
