// What the bundler cannot do, at the end of the build: the GraphQL schema as a file, and a reference between declarations.
import './assert-node.mjs';
import { readFileSync, writeFileSync } from 'node:fs';
import { printFhirSchema } from '../dist/index.js';

/** The types of most records. The schema of all types has 6.6 MB, which few tools read at once. */
const TYPES = [
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
];

writeFileSync(new URL('../dist/schema.graphql', import.meta.url), printFhirSchema({ types: TYPES }));

// Hosts that emit declarations name FHIR's types by `fhirgraph/types`, which the compiler finds only in a file it has read.
// Otherwise it fails with TS2742 under pnpm, where the package of the types is out of sight.
const index = new URL('../dist/index.d.ts', import.meta.url);
writeFileSync(index, `import type {} from './types.js';\n${readFileSync(index, 'utf8')}`);
