import { code, concept, date, dateChoice, many, one, other, reference, type TypeFields, within } from './fields.js';

const DATE_TIMES = 'dateTime dateTime period';
const REQUEST = 'draft active on-hold revoked completed entered-in-error unknown';
const IDENTIFIER = other('identifier', 'identifier', many('identifier'), true);

function type(name: string, fields: TypeFields['fields'], composites: TypeFields['composites'] = []): TypeFields {
  return { type: name, fields, composites };
}

/** Types with few resources that many others refer to. */
export const PEOPLE: readonly TypeFields[] = [
  type('Patient', [
    date('birthdate', 'date', one('birthDate')),
    code('gender', 'female male other unknown'),
    other('family', 'string', within('name', 'family'), true),
    other('address-city', 'string', within('address', 'city'), true),
    IDENTIFIER,
    date('death-date', 'dateTime', one('deceasedDateTime')),
    reference('general-practitioner', 'Practitioner', many('generalPractitioner'), true),
    reference('organization', 'Organization', one('managingOrganization')),
    concept('language', within('communication', 'language'), true),
  ]),
  type('Practitioner', [
    other('family', 'string', within('name', 'family')),
    code('gender', 'female male other unknown'),
    IDENTIFIER,
  ]),
  type('Organization', [other('name', 'string', one('name')), concept('type', many('type'), true), IDENTIFIER]),
];

/** Types of the clinical records. */
export const RECORDS: readonly TypeFields[] = [
  type(
    'Observation',
    [
      date('date', DATE_TIMES, dateChoice('effective')),
      code('status', 'final preliminary amended registered corrected cancelled'),
      concept('category', many('category'), true),
      concept('code'),
      other('value-quantity', 'quantity', one('valueQuantity')),
      other('component-code-value-quantity', 'component', many('component'), true),
      concept('method'),
      reference('subject', 'Patient'),
      reference('performer', 'Practitioner', many('performer'), true),
      reference('encounter', 'Encounter'),
    ],
    [
      { parameter: 'code-value-quantity', of: ['code', 'value-quantity'] },
      { parameter: 'combo-code-value-quantity', of: ['code', 'value-quantity'] },
    ],
  ),
  type('Encounter', [
    date('date', 'period', one('period')),
    code('status', 'finished planned arrived triaged in-progress cancelled'),
    concept('type', many('type'), true),
    other('length', 'quantity', one('length')),
    reference('subject', 'Patient'),
    reference('participant', 'Practitioner', within('participant', 'individual'), true),
    reference('service-provider', 'Organization', one('serviceProvider')),
    IDENTIFIER,
  ]),
  type('Appointment', [
    date('date', 'instant', one('start')),
    code('status', 'booked proposed pending arrived fulfilled cancelled waitlist'),
    concept('appointment-type', one('appointmentType')),
    concept('service-type', many('serviceType'), true),
    concept('reason-code', many('reasonCode'), true),
    reference('patient', 'Patient', within('participant', 'actor', { status: 'accepted' }), true),
  ]),
  type('MedicationRequest', [
    date('authoredon', 'dateTime', one('authoredOn')),
    code('status', REQUEST),
    code('intent', 'order plan proposal original-order'),
    concept('code', one('medicationCodeableConcept')),
    reference('subject', 'Patient'),
    reference('requester', 'Practitioner'),
    reference('encounter', 'Encounter'),
    IDENTIFIER,
  ]),
  type('Claim', [
    date('created', 'dateTime', one('created')),
    code('status', 'active cancelled draft entered-in-error'),
    code('use', 'claim predetermination'),
    concept('priority'),
    reference('patient', 'Patient'),
    reference('provider', 'Practitioner'),
    reference('insurer', 'Organization'),
    IDENTIFIER,
  ]),
  type('AuditEvent', [
    date('date', 'instant', one('recorded')),
    code('action', 'R C U D E'),
    code('outcome', '0 4 8 12'),
    concept('type', (values) => ({ type: codingOf(values[0]) })),
    concept('subtype', (values) => ({ subtype: values.map(codingOf) }), true),
    reference('agent', 'Practitioner', within('agent', 'who', { requestor: true }), true),
    reference('entity', 'Patient', within('entity', 'what'), true),
    reference('source', 'Organization', ([observer]) => ({ source: { observer } })),
  ]),
  type('Condition', [
    date('onset-date', DATE_TIMES, dateChoice('onset')),
    date('recorded-date', 'dateTime', one('recordedDate')),
    concept('clinical-status', one('clinicalStatus')),
    concept('category', many('category'), true),
    concept('code'),
    reference('subject', 'Patient'),
    reference('encounter', 'Encounter'),
  ]),
  type('DiagnosticReport', [
    date('date', DATE_TIMES, dateChoice('effective')),
    date('issued', 'instant', one('issued')),
    code('status', 'final registered partial preliminary amended'),
    concept('category', many('category'), true),
    concept('code'),
    reference('subject', 'Patient'),
    reference('result', 'Observation', many('result'), true),
  ]),
  type('ServiceRequest', [
    date('authored', 'dateTime', one('authoredOn')),
    code('status', REQUEST),
    code('intent', 'order plan proposal directive'),
    concept('code'),
    other('instantiates-uri', 'uri', many('instantiatesUri'), true),
    date('occurrence', DATE_TIMES, dateChoice('occurrence')),
    reference('subject', 'Patient'),
    reference('requester', 'Practitioner'),
  ]),
  type('RiskAssessment', [
    date('date', DATE_TIMES, dateChoice('occurrence')),
    other('probability', 'number', within('prediction', 'probabilityDecimal'), true),
    concept('method'),
    reference('subject', 'Patient'),
    reference('performer', 'Practitioner'),
  ]),
  type('ChargeItem', [
    date('entered-date', 'dateTime', one('enteredDate')),
    concept('code'),
    other('quantity', 'quantity', one('quantity')),
    other('factor-override', 'number', one('factorOverride')),
    date('occurrence', DATE_TIMES, dateChoice('occurrence')),
    reference('subject', 'Patient'),
    reference('enterer', 'Practitioner'),
  ]),
  type('Immunization', [
    date('date', 'dateTime', one('occurrenceDateTime')),
    code('status', 'completed not-done entered-in-error'),
    concept('vaccine-code', one('vaccineCode')),
    other('lot-number', 'string', one('lotNumber')),
    reference('patient', 'Patient'),
    reference('performer', 'Practitioner', within('performer', 'actor'), true),
    reference('manufacturer', 'Organization'),
    IDENTIFIER,
  ]),
];

function codingOf(value: unknown): unknown {
  return (value as { readonly coding: readonly unknown[] }).coding[0];
}
