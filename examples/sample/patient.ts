import type { Element, Extension, Patient, RelatedPerson } from 'fhirgraph/types';
import { earlier, type Identified, within } from './bundle.js';
import { type Code, coding, hl7 } from './codes.js';
import type { Facilities } from './facilities.js';
import { address, email, type Gender, givenName, officialName, phone } from './person.js';
import type { Random } from './random.js';
import { clock, DAY, day, SAMPLE_NOW, YEAR } from './time.js';
import { FAMILY_NAMES } from './words.js';

/** A patient with what JSON keeps beside `birthDate`. See https://hl7.org/fhir/R4/json.html#primitive. */
export type SamplePatient = Identified<Patient> & { readonly _birthDate?: Element };

const US_CORE = 'http://hl7.org/fhir/us/core/StructureDefinition';
const FHIR = 'http://hl7.org/fhir/StructureDefinition';
const OMB = 'urn:oid:2.16.840.1.113883.6.238';

const RACES: readonly Code[] = [
  ['2106-3', 'White'],
  ['2054-5', 'Black or African American'],
  ['2028-9', 'Asian'],
];

/** @param position of the patient among all, for numbers that must differ */
export function createPatient(random: Random, facilities: Facilities, position: number): SamplePatient {
  const gender: Gender = random.chance(0.5) ? 'female' : 'male';
  const name = officialName(random, gender);
  const born = SAMPLE_NOW - Math.floor((18 + random.next() * 72) * YEAR);
  const maiden = gender === 'female' && random.chance(0.4);
  const died = random.chance(0.08);
  const hospital = random.pick(facilities.hospitals);
  return {
    resourceType: 'Patient',
    id: random.uuid(),
    extension: [
      usCore(random, 'race', random.pick(RACES)),
      usCore(random, 'ethnicity', ['2186-5', 'Not Hispanic or Latino']),
      { url: `${US_CORE}/us-core-birthsex`, valueCode: gender === 'female' ? 'F' : 'M' },
      { url: `${FHIR}/patient-mothersMaidenName`, valueString: random.pick(FAMILY_NAMES) },
      { url: `${FHIR}/patient-birthPlace`, valueAddress: { city: address(random).city!, country: 'US' } },
    ],
    identifier: [
      {
        type: { coding: [hl7('v2-0203', 'MR', 'Medical Record Number')] },
        system: 'http://sample.example/mrn',
        value: `MRN${String(position).padStart(6, '0')}`,
        assigner: earlier(hospital, hospital.name),
      },
      {
        type: { coding: [hl7('v2-0203', 'SS', 'Social Security Number')] },
        system: 'http://hl7.org/fhir/sid/us-ssn',
        value: `999-${random.digits(2)}-${random.digits(4)}`,
      },
    ],
    active: !died,
    name: [
      { ...name, ...(random.chance(0.3) ? { prefix: [gender === 'female' ? 'Ms.' : 'Mr.'] } : {}) },
      ...(maiden ? [{ use: 'maiden' as const, family: random.pick(FAMILY_NAMES), given: name.given! }] : []),
      ...(random.chance(0.3) ? [{ use: 'nickname' as const, given: [givenName(random, gender)] }] : []),
    ],
    telecom: [phone(random, 'home'), phone(random, 'mobile'), email(name, 'mail.example')],
    gender,
    birthDate: day(born),
    _birthDate: { extension: [{ url: `${FHIR}/patient-birthTime`, valueDateTime: clock(born) }] },
    ...(died ? { deceasedDateTime: clock(SAMPLE_NOW - random.int(1, 150) * DAY) } : {}),
    address: [address(random), ...(random.chance(0.2) ? [address(random, 'work')] : [])],
    maritalStatus: { coding: [hl7('v3-MaritalStatus', ...random.pick(MARITAL))] },
    ...(random.chance(0.1) ? { multipleBirthInteger: random.int(1, 2) } : { multipleBirthBoolean: false }),
    communication: [{ language: { coding: [coding('urn:ietf:bcp:47', random.pick(LANGUAGES))] }, preferred: true }],
    generalPractitioner: [earlier(random.pick(facilities.practitioners))],
    managingOrganization: earlier(hospital, hospital.name),
  };
}

/** Someone to call, with a name and number of their own. */
export function createRelative(random: Random, patient: SamplePatient): Identified<RelatedPerson> {
  const gender: Gender = random.chance(0.5) ? 'female' : 'male';
  const name = officialName(random, gender, patient.name![0]!.family);
  return {
    resourceType: 'RelatedPerson',
    id: random.uuid(),
    active: true,
    patient: within(patient),
    relationship: [{ coding: [hl7('v3-RoleCode', 'FAMMEMB', 'family member')] }],
    name: [name],
    telecom: [phone(random, 'mobile')],
    gender,
  };
}

const MARITAL: readonly Code[] = [
  ['M', 'Married'],
  ['S', 'Never Married'],
  ['W', 'Widowed'],
];

const LANGUAGES: readonly Code[] = [
  ['en-US', 'English (United States)'],
  ['es', 'Spanish'],
  ['fr', 'French'],
];

function usCore(random: Random, name: 'race' | 'ethnicity', code: Code): Extension {
  return {
    url: `${US_CORE}/us-core-${name}`,
    extension: [
      ...(random.chance(0.9) ? [{ url: 'ombCategory', valueCoding: coding(OMB, code) }] : []),
      { url: 'text', valueString: code[1] },
    ],
  };
}
