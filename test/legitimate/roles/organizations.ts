import type { Role } from '../operation.js';
import { weight } from './weight.js';

/** A member of an organization, with the resources of its patients; from the policy cookbook. */
const ORGANIZATION_RULES = [
  { resourceType: 'Organization', criteria: 'Organization?_id=%organization.id', readonly: true },
  { resourceType: 'Patient', criteria: 'Patient?organization=%organization' },
  { resourceType: 'Observation', criteria: 'Observation?subject:Patient.organization=%organization' },
  { resourceType: 'Encounter', criteria: 'Encounter?subject:Patient.organization=%organization' },
];

export const NURSE: Role = {
  role: 'a Practitioner of one organization',
  who: { as: 'Practitioner', rules: ORGANIZATION_RULES, parameters: [{ organization: 'Organization/north' }] },
  operations: [
    ['lists its patients', { search: 'Patient' }, ['ann', 'cal']],
    ['counts them', { count: 'Patient?gender=female' }, 2],
    ['reads one', { read: 'Patient/cal' }, { birthDate: '2015-03-03' }],
    [
      'lists their observations',
      { search: 'Observation?_sort=date' },
      ['ann-w1', 'ann-w2', 'ann-glucose', 'cal-glucose'],
    ],
    ['lists their visits', { search: 'Encounter' }, ['ann-visit']],
    ['finds its organization', { search: 'Organization' }, ['north']],
    ['searches by a chain', { search: 'Observation?subject:Patient.name=hill&code=2345-7' }, ['ann-glucose']],
    [
      'asks for a chart',
      {
        graphql:
          '{ PatientList(_sort: "-birthdate") { id ObservationList(_reference: subject, _sort: "-date", _count: 1) { id } managingOrganization { resource { ... on Organization { name } } } } }',
      },
      {
        PatientList: [
          {
            id: 'cal',
            ObservationList: [{ id: 'cal-glucose' }],
            managingOrganization: { resource: { name: 'North' } },
          },
          {
            id: 'ann',
            ObservationList: [{ id: 'ann-glucose' }],
            managingOrganization: { resource: { name: 'North' } },
          },
        ],
      },
    ],
    ['writes down a weight', { create: weight('ann'), as: 'w' }, { meta: { versionId: '1' } }],
    ['corrects it', { edit: 'Observation/@{w.id}', set: { status: 'amended' } }, { status: 'amended' }],
    [
      'patches it',
      {
        patch: 'Observation/@{w.id}',
        operations: [{ op: 'replace', path: '/status', value: 'corrected' }],
        ifMatch: '2',
      },
      { status: 'corrected' },
    ],
    ['reads its history', { history: 'Observation/@{w.id}' }, ['3', '2', '1']],
    ['deletes it', { remove: 'Observation/@{w.id}' }, 'not-found'],
    [
      'admits a patient',
      { create: { resourceType: 'Patient', managingOrganization: { reference: 'Organization/north' } }, as: 'p' },
      { managingOrganization: { reference: 'Organization/north' } },
    ],
    [
      'writes a visit of the new patient',
      {
        create: {
          resourceType: 'Encounter',
          status: 'planned',
          class: { code: 'AMB' },
          subject: { reference: 'Patient/@{p.id}' },
        },
      },
      { status: 'planned' },
    ],
    [
      'admits a patient and writes a weight in one transaction',
      {
        transaction: 'transaction',
        entries: [
          {
            method: 'POST',
            url: 'Patient',
            fullUrl: 'urn:uuid:5f4a3c7e-0b0c-4f3a-9f5e-111111111111',
            resource: {
              resourceType: 'Patient',
              managingOrganization: { reference: 'Organization/north' },
              gender: 'other',
            },
          },
          {
            method: 'POST',
            url: 'Observation',
            resource: { ...weight('x'), subject: { reference: 'urn:uuid:5f4a3c7e-0b0c-4f3a-9f5e-111111111111' } },
          },
        ],
      },
      ['201', '201'],
    ],
    ['counts what it wrote', { count: 'Observation?subject:Patient.gender=other' }, 1],
    [
      'edits the demographics',
      { edit: 'Patient/ann', set: { maritalStatus: { text: 'Married' } } },
      { maritalStatus: { text: 'Married' } },
    ],
    [
      'creates on condition',
      {
        create: { resourceType: 'Patient', identifier: [{ system: 'urn:mrn', value: '1' }] },
        ifNoneExist: 'identifier=urn:mrn|1',
      },
      { id: 'ann' },
    ],
    [
      'writes by a mutation',
      {
        graphql:
          'mutation { ObservationCreate(res: { status: final, code: { text: "Pulse" }, subject: { reference: "Patient/cal" } }) { code { text } } }',
      },
      { ObservationCreate: { code: { text: 'Pulse' } } },
    ],
  ],
};

export const TWO_WARDS: Role = {
  role: 'a Practitioner of two organizations',
  who: {
    as: 'Practitioner',
    rules: ORGANIZATION_RULES,
    parameters: [{ organization: 'Organization/north' }, { organization: 'Organization/south' }],
  },
  operations: [
    ['lists the patients of both', { search: 'Patient' }, ['ann', 'bob', 'cal']],
    ['counts them', { count: 'Patient?_id=ann,bob,cal,dan' }, 3],
    ['pages through them', { search: 'Patient?_count=1&_offset=2' }, ['cal']],
    ['lists the visits of both', { search: 'Encounter?_sort=status' }, ['ann-visit', 'bob-stay']],
    [
      'moves a patient from one to the other',
      { edit: 'Patient/cal', set: { managingOrganization: { reference: 'Organization/north' }, active: true } },
      { active: true },
    ],
    ['writes for a patient of either', { create: weight('bob') }, { subject: { reference: 'Patient/bob' } }],
  ],
};
