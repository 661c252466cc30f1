/** The operations of a person on its own record, or that of its patient, in a portal. */
export const OWN_RULES = [
  {
    resourceType: 'Patient',
    criteria: 'Patient?_id=%patient.id',
    interaction: ['read', 'search', 'update'],
    readonlyFields: ['name', 'birthDate', 'gender', 'identifier', 'managingOrganization', 'generalPractitioner'],
  },
  { resourceType: 'Observation', criteria: 'Observation?subject=%patient', readonly: true },
  { resourceType: 'Communication', criteria: 'Communication?subject=%patient' },
  { resourceType: 'QuestionnaireResponse', criteria: 'QuestionnaireResponse?subject=%patient' },
  { resourceType: 'Appointment', criteria: 'Appointment?patient=%patient', interaction: ['read', 'search', 'create'] },
  { resourceType: 'DocumentReference', criteria: 'DocumentReference?subject=%patient', readonly: true },
  { resourceType: 'Questionnaire', readonly: true },
  { resourceType: 'Slot', criteria: 'Slot?status=free', readonly: true },
];
