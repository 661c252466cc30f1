/**
 * The resource types of most records. The schema for tools has every detail of them, whereas that of all 150 types would
 * be larger than tools can read.
 */
export const COMMON_TYPES: ReadonlySet<string> = new Set([
  ...['Patient', 'Practitioner', 'PractitionerRole', 'RelatedPerson', 'Organization', 'Location', 'Device'],
  ...['Encounter', 'Appointment', 'Observation', 'DiagnosticReport', 'Specimen', 'Condition', 'Procedure'],
  ...[
    'AllergyIntolerance',
    'Immunization',
    'Medication',
    'MedicationRequest',
    'ServiceRequest',
    'CarePlan',
    'CareTeam',
  ],
  ...['Goal', 'Task', 'Communication', 'DocumentReference', 'Questionnaire', 'QuestionnaireResponse', 'Coverage'],
  ...['Consent', 'Provenance'],
]);
