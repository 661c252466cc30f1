/** The records of the clinic, in the spirit of the examples that FHIR GraphQL guides use. */
export const RECORDS: readonly object[] = [
  { resourceType: 'Organization', id: 'north', name: 'North' },
  { resourceType: 'Organization', id: 'south', name: 'South' },
  {
    resourceType: 'Patient',
    id: 'cleo',
    name: [
      { use: 'official', family: 'Brook', given: ['Cleo', 'Ines'] },
      { use: 'nickname', given: ['Cle'] },
    ],
    address: [{ city: 'Springfield' }],
    telecom: [
      { system: 'phone', value: '555-0100' },
      { system: 'email', value: 'cleo.home@example.org' },
    ],
    extension: [{ url: 'http://example.org/eye-colour', valueString: 'green' }],
    managingOrganization: { reference: 'Organization/north' },
  },
  {
    resourceType: 'Patient',
    id: 'eva',
    name: [{ use: 'official', family: 'Field', given: ['Eva'] }],
    address: [{ city: 'Springfield' }],
    gender: 'female',
    managingOrganization: { reference: 'Organization/south' },
  },
  { resourceType: 'Patient', id: 'fay', name: [{ text: 'Fay Moor' }], gender: 'female' },
  {
    resourceType: 'Encounter',
    id: 'visit',
    status: 'finished',
    class: { code: 'AMB' },
    subject: { reference: 'Patient/cleo' },
  },
  ...['glucose', 'sodium'].map((id) => ({
    resourceType: 'Observation',
    id,
    status: 'final',
    code: { text: id },
    subject: { reference: 'Patient/cleo' },
    encounter: { reference: 'Encounter/visit' },
  })),
  {
    resourceType: 'DiagnosticReport',
    id: 'panel',
    status: 'final',
    code: { text: 'Panel' },
    subject: { reference: 'Patient/cleo' },
    encounter: { reference: 'Encounter/visit' },
    result: [{ reference: 'Observation/glucose' }, { reference: 'Observation/sodium' }],
  },
  {
    resourceType: 'AccessPolicy',
    id: 'staff',
    name: 'Staff of an organization',
    resource: [{ resourceType: 'Patient', criteria: 'Patient?organization=%organization' }],
  },
  {
    resourceType: 'AccessPolicy',
    id: 'own-profile',
    name: 'Patients of the caller',
    resource: [
      { resourceType: 'Patient', criteria: 'Patient?general-practitioner=%profile' },
      { resourceType: 'Practitioner', criteria: 'Practitioner?_id=%profile.id' },
    ],
  },
];
