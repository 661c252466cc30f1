type Json = Readonly<Record<string, unknown>>;

const LOINC = 'http://loinc.org';
const UCUM = 'http://unitsofmeasure.org';
const code = (value: string, display: string, system: string | null = LOINC): Json => ({
  coding: [{ ...(system === null ? {} : { system }), code: value, display }],
  text: display,
});
const of = (reference: string): Json => ({ reference });
const kilograms = (value: number): Json => ({ value, unit: 'kg', system: UCUM, code: 'kg' });

/** The clinical records of a fixture: each kind of search value occurs, in its common and its unusual forms. */
export const RECORDS = [
  { resourceType: 'Organization', id: 'north', name: 'North', identifier: [{ system: 'urn:org', value: 'n' }] },
  { resourceType: 'Organization', id: 'south', name: 'South', partOf: of('Organization/north') },
  { resourceType: 'Practitioner', id: 'doc', name: [{ family: 'Doctor', given: ['Dora'] }], gender: 'female' },
  {
    resourceType: 'Patient',
    id: 'ann',
    meta: {
      profile: ['http://example.org/profile/person'],
      tag: [{ system: 'urn:tags', code: 'checked' }],
      security: [{ system: 'urn:security', code: 'R' }],
    },
    active: true,
    gender: 'female',
    birthDate: '1970-05-01',
    identifier: [
      { system: 'urn:ahv', value: '756.1' },
      { system: 'urn:mrn', value: 'A|1,2$3\\4' },
    ],
    name: [{ use: 'official', family: 'Hill', given: ['Ann', 'Bea'] }],
    telecom: [
      { system: 'email', value: 'Ann@Example.org' },
      { system: 'phone', value: '+41 31 000 00 01' },
    ],
    address: [{ city: 'Bern', postalCode: '3000' }],
    managingOrganization: of('Organization/north'),
    generalPractitioner: [of('Practitioner/doc')],
    contact: [{ name: { family: 'Secret' } }],
  },
  {
    resourceType: 'Patient',
    id: 'bob',
    gender: 'male',
    birthDate: '1985-11',
    name: [{ family: 'Dale', given: ['José'] }],
    address: [{ city: 'St. Gallen' }],
    managingOrganization: of('Organization/south'),
    link: [{ other: of('Patient/ann'), type: 'seealso' }],
  },
  {
    resourceType: 'Patient',
    id: 'cal',
    birthDate: '1999',
    deceasedDateTime: '2021-03-04T05:06:07.890+01:00',
    name: [{ family: 'Öztürk-Straße', given: ['東京', '😀'] }],
    managingOrganization: { identifier: { system: 'urn:org', value: '7' }, display: 'Far away' },
  },
  { resourceType: 'Patient', id: 'gone', name: [{ family: 'Gone' }] },
  { resourceType: 'Patient', id: 'back', name: [{ family: 'Back' }] },
  {
    resourceType: 'Encounter',
    id: 'visit',
    status: 'finished',
    class: { system: 'http://terminology.hl7.org/CodeSystem/v3-ActCode', code: 'AMB' },
    subject: of('Patient/ann'),
    period: { start: '2024-05-03T10:00:00Z', end: '2024-05-05T12:30:00+02:00' },
    length: { value: 2, unit: 'd', system: UCUM, code: 'd' },
    serviceProvider: of('Organization/north'),
  },
  {
    resourceType: 'Encounter',
    id: 'stay',
    status: 'in-progress',
    class: { code: 'IMP' },
    subject: of('Patient/bob'),
    period: { start: '2024-06-01' },
  },
  {
    resourceType: 'Observation',
    id: 'weight',
    status: 'final',
    code: code('29463-7', 'Body weight'),
    subject: of('Patient/ann'),
    encounter: of('Encounter/visit'),
    effectiveDateTime: '2024-02-01T08:30:00+01:00',
    performer: [of('Practitioner/doc')],
    valueQuantity: kilograms(61.5),
  },
  {
    resourceType: 'Observation',
    id: 'weight-2',
    status: 'amended',
    code: code('29463-7', 'Weight at home', null),
    subject: of('Patient/bob'),
    effectivePeriod: { start: '2023-06-01', end: '2023-06-03' },
    valueQuantity: { ...kilograms(80), comparator: '>' },
  },
  {
    resourceType: 'Observation',
    id: 'pressure',
    status: 'final',
    code: code('85354-9', 'Blood pressure'),
    subject: of('Patient/ann'),
    effectiveInstant: '2024-03-01T00:00:00Z',
    component: [
      { code: code('8480-6', 'Systolic'), valueQuantity: { value: 120, unit: 'mmHg', system: UCUM, code: 'mm[Hg]' } },
      { code: code('8462-4', 'Diastolic'), valueQuantity: { value: 80, unit: 'mmHg', system: UCUM, code: 'mm[Hg]' } },
    ],
    hasMember: [of('Observation/weight')],
  },
  {
    resourceType: 'Observation',
    id: 'mood',
    status: 'final',
    code: { text: 'Mood' },
    subject: of('https://elsewhere.example.org/fhir/Patient/9'),
    valueString: 'Good',
    contained: [{ resourceType: 'Patient', id: 'inner', name: [{ family: 'Inner' }] }],
  },
  {
    resourceType: 'Condition',
    id: 'gout',
    subject: of('Patient/ann'),
    code: code('90560007', 'Gout', 'http://snomed.info/sct'),
    onsetAge: { value: 40, unit: 'a', system: UCUM, code: 'a' },
    recordedDate: '2012',
  },
  {
    resourceType: 'Condition',
    id: 'cough',
    subject: of('Patient/bob'),
    onsetRange: { low: { value: 20, system: UCUM, code: 'a' }, high: { value: 30, system: UCUM, code: 'a' } },
  },
  {
    resourceType: 'RiskAssessment',
    id: 'risk',
    status: 'final',
    subject: of('Patient/ann'),
    prediction: [{ probabilityDecimal: 0.91 }, { probabilityRange: { low: { value: 0.2 }, high: { value: 0.4 } } }],
  },
  { resourceType: 'ValueSet', id: 'vs', status: 'active', url: 'http://example.org/vs/a', version: '2' },
  {
    resourceType: 'QuestionnaireResponse',
    id: 'answers',
    status: 'completed',
    questionnaire: 'http://example.org/questionnaire/sleep|1.2',
    subject: of('Patient/ann'),
    authored: '2024-04-04',
  },
  {
    resourceType: 'CareTeam',
    id: 'team',
    subject: of('Patient/bob'),
    participant: [{ member: of('Practitioner/doc') }],
  },
  {
    resourceType: 'ServiceRequest',
    id: 'order',
    status: 'active',
    intent: 'order',
    subject: of('Patient/ann'),
    occurrenceTiming: { event: ['2024-07-01', '2024-08-01'] },
  },
  { resourceType: 'Task', id: 'task', status: 'requested', intent: 'order', focus: of('ServiceRequest/order') },
  {
    resourceType: 'Location',
    id: 'ward',
    name: 'Ward "7"',
    position: { longitude: 7.44, latitude: 46.95 },
    managingOrganization: of('Organization/north'),
  },
] as const satisfies readonly Json[];

/** A record of another project, under an id that is in use in the first project too. */
export const ELSEWHERE = [
  { resourceType: 'Patient', id: 'ann', name: [{ family: 'Namesake' }] },
] as const satisfies readonly Json[];
