import { createRepository, type ResourceStore, type SystemCaller } from 'fhirgraph';

/** Asks for everything that the host defined: a root field, three search parameters, a field and the profile's fields. */
export const QUERY = `{
  hospital
  PatientList(ward: "4b") {
    id
    riskScore
    race { ombCategory { code } text }
    ethnicity { text }
    birthsex
    EncounterList(_reference: subject, reason_text: "fell") {
      id
      ObservationList(_reference: encounter, report_count: "gt1") { id code { text } }
    }
  }
}`;

/** Writes a patient of ward 4b with an encounter and two observations, and a patient of another ward. */
export async function fillSample(store: ResourceStore, caller: SystemCaller): Promise<void> {
  const { update } = createRepository({ store, caller });
  const US_CORE = 'http://hl7.org/fhir/us/core/StructureDefinition';
  const OMB = 'urn:oid:2.16.840.1.113883.6.238';
  const ward = (code: string) => ({ url: 'https://clinic.example/ward', valueCoding: { code } });
  await update({
    resourceType: 'Patient',
    id: 'amy',
    meta: { profile: [`${US_CORE}/us-core-patient`] },
    identifier: [{ system: 'https://clinic.example/mrn', value: '1032702' }],
    name: [{ family: 'Shaw', given: ['Amy'] }],
    gender: 'female',
    birthDate: '1950-02-03',
    extension: [
      ward('4b'),
      {
        url: `${US_CORE}/us-core-race`,
        extension: [
          { url: 'ombCategory', valueCoding: { system: OMB, code: '2106-3' } },
          { url: 'text', valueString: 'White' },
        ],
      },
      { url: `${US_CORE}/us-core-ethnicity`, extension: [{ url: 'text', valueString: 'Not Hispanic or Latino' }] },
      { url: `${US_CORE}/us-core-birthsex`, valueCode: 'F' },
    ],
  });
  await update({ resourceType: 'Patient', id: 'bob', birthDate: '1990-01-01', extension: [ward('2a')] });
  const subject = { reference: 'Patient/amy' } as const;
  await update({
    resourceType: 'Encounter',
    id: 'fall',
    status: 'arrived',
    class: { code: 'EMER' },
    subject,
    reasonCode: [{ text: 'Fell on the stairs' }],
  });
  for (const [id, text, reports] of [
    ['pulse', 'Pulse', 3],
    ['weight', 'Weight', 1],
  ] as const) {
    await update({
      resourceType: 'Observation',
      id,
      status: 'final',
      code: { text },
      subject,
      encounter: { reference: 'Encounter/fall' },
      extension: [{ url: 'https://clinic.example/reports', valueInteger: reports }],
    });
  }
}
